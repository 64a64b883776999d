import { describe, expect, it } from 'vitest';
import { call, openCore } from '../../support/service.ts';

interface Found {
  results: { path: string; score: number; startLine: number; snippet: string }[];
}

describe('memory_find', () => {
  it('finds what was written, before and after it is indexed, with the same scores', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', {
      path: 'user/profile.md',
      content: '# Profile\n\n- Prefers green tea.\n- Lives in Lisbon.\n',
    });
    await call(core, 'alice', 'memory_write', {
      path: 'user/work.md',
      content: '# Work\n\n- Ships the search index.\n- Drinks coffee at work.\n',
    });
    const before = await call<Found>(core, 'alice', 'memory_find', {
      query: 'what tea does she like',
    });
    expect(before.result.results[0]).toMatchObject({ path: 'user/profile.md', startLine: 3 });
    await core.indexer.drain();
    expect(await core.storage.files.countBehind()).toBe(0);
    const after = await call<Found>(core, 'alice', 'memory_find', {
      query: 'what tea does she like',
    });
    expect(after.result).toEqual(before.result);
  });
});
