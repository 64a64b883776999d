import { describe, expect, it } from 'vitest';
import { openDreams } from './dream-service.ts';
import { AFTER, readThree, writeThree } from './three-files.ts';

const LOG = 'user/dream-log.md';
const LOG_BYTES = 65_536;
const HEAD = '# Dream log\n\nKept by dreaming.\n\n';

/** Entries as runs write them, about 200 bytes each. */
const entries = (count: number) =>
  Array.from({ length: count }, (_, n) => {
    const time = new Date(Date.UTC(2025, 0, 1) + n * 3_600_000).toISOString();
    return `## ${time}\n\n- user/${'é'.repeat(70)}.md: merge\n- run number-${n}.\n`;
  });

describe('the log of dreaming', () => {
  it('goes on for ever within its size: the oldest entries go, whole ones, and what stands above stays', async () => {
    const service = await openDreams();
    await writeThree(service);
    const before = `${HEAD}${entries(330).join('\n')}`;
    expect(Buffer.byteLength(before)).toBeGreaterThan(LOG_BYTES - 300);
    await service.write('alice', LOG, before);
    const run = await service.dream('alice');
    expect(run).toMatchObject({ outcome: 'applied', filesTouched: 3, writes: 4 });
    const log = (await service.read('alice', LOG)) ?? '';
    expect(Buffer.byteLength(log)).toBeLessThanOrEqual(LOG_BYTES);
    // Nothing more went than had to.
    expect(Buffer.byteLength(log)).toBeGreaterThan(LOG_BYTES - 300);
    expect(log.startsWith(`${HEAD}## 2025-`)).toBe(true);
    const kept = log.split(/^(?=## )/m).slice(1);
    expect(kept.at(-1)).toContain(`- run ${run.id}\n`);
    const expected = entries(330).slice(-(kept.length - 1));
    expect(kept.slice(0, -1).map((entry) => entry.trimEnd())).toEqual(
      expected.map((entry) => entry.trimEnd()),
    );
    const undone = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(undone.json).toMatchObject({ outcome: 'reverted', left: [] });
    const after = (await service.read('alice', LOG)) ?? '';
    expect(Buffer.byteLength(after)).toBeLessThanOrEqual(LOG_BYTES);
    expect(after.endsWith(`- revert of run ${run.id}\n`)).toBe(true);
  });

  it('keeps the line ends that an editor gave it', async () => {
    const service = await openDreams();
    await writeThree(service);
    const before = `${HEAD}${entries(2).join('\n')}`.replaceAll('\n', '\r\n');
    await service.write('alice', LOG, before);
    const run = await service.dream('alice');
    const log = (await service.read('alice', LOG)) ?? '';
    expect(log.startsWith(`${before}\r\n## `)).toBe(true);
    expect(log.endsWith(`- run ${run.id}\r\n`)).toBe(true);
    expect(log.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    const undone = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(undone.json).toMatchObject({ outcome: 'reverted', left: [] });
    const after = (await service.read('alice', LOG)) ?? '';
    expect(after.startsWith(`${log}\r\n## `)).toBe(true);
    expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  });

  it('makes room for the newest entry where files may not be larger', async () => {
    const before = `# Dream log\n\n${entries(9).join('\n')}`;
    const maxFileBytes = Buffer.byteLength(before) + 50;
    const service = await openDreams({ config: { limits: { maxFileBytes } } });
    await writeThree(service);
    await service.write('alice', LOG, before);
    const run = await service.dream('alice');
    expect(run).toMatchObject({ outcome: 'applied', writes: 4 });
    const log = (await service.read('alice', LOG)) ?? '';
    expect(Buffer.byteLength(log)).toBeLessThanOrEqual(maxFileBytes);
    expect(log.match(/^## /gm)).toHaveLength(9);
    expect(log).toMatch(new RegExp(`^# Dream log\n\n## [^]*- run ${run.id}\n$`));
  });

  it('that cannot be written keeps no run from its end, and is warned of', async () => {
    const service = await openDreams({ config: { limits: { maxFilesPerUser: 3 } } });
    await writeThree(service);
    const run = await service.dream('alice');
    expect(run).toMatchObject({ outcome: 'applied', filesTouched: 3, writes: 3 });
    expect(await readThree(service)).toEqual(AFTER);
    expect(service.log.lines).toContainEqual({
      level: 'warn',
      fields: { plugin: 'dreaming', runId: run.id, code: 'QUOTA_EXCEEDED' },
      message: 'the entry of a dream run was not written',
    });
  });
});
