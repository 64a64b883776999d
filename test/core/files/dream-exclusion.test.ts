import { describe, expect, it } from 'vitest';

import { isExcludedFromDreams } from '../../../core/files/dream-exclusion.ts';

describe('isExcludedFromDreams', () => {
  it.each([
    ...['log.md', 'dream-log.md', 'standup-log.md', 'projects/standup-log.md', '-log.md'],
    ...['server.log', 'a/b/server.log', '.log', 'a.md.log', 'projects/dream-log.md'],
  ])('leaves %s out', (path) => {
    expect(isExcludedFromDreams(path)).toBe(true);
  });

  it.each(['LOG.md', 'Log.MD', 'Dream-Log.md', 'a/STANDUP-LOG.MD', 'server.LOG'])(
    'compares names without regard to ASCII case: %s',
    (path) => {
      expect(isExcludedFromDreams(path)).toBe(true);
    },
  );

  it.each([
    ...['index.md', 'profile.md', 'projects/log.md', 'catalog.md', 'blog.md', 'log.txt', 'log'],
    ...['logs/a.md', 'a.log/b.md', 'a-log.md/b.md', 'log.md/a.md', 'log.md.md', 'a-log.mdx'],
    ...['dream_log.md', 'a_log.md', 'alog', 'a.logs', 'syslog.md'],
  ])('leaves %s in', (path) => {
    expect(isExcludedFromDreams(path)).toBe(false);
  });

  it.each(['a.ʟog', 'a-ⅼog.md', 'a.loĝ', 'ⅼog.md'])(
    'takes no look-alike for a letter: %s',
    (path) => {
      expect(isExcludedFromDreams(path)).toBe(false);
    },
  );
});
