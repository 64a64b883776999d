import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { followLine } from '../../../core/history/line-history.ts';
import type { Core } from '../../../core/service.ts';
import { call, openCore } from '../../support/service.ts';

const everyTool = { delete: true, move: true };
const caller = { address: '127.0.0.1', traceId: '1'.repeat(32) };
const notes = { scope: 'u:alice', path: 'notes.md' } as const;

const put = async (core: Core, lines: readonly string[], path = 'user/notes.md') =>
  (
    await call<{ version: number; revisionId: string }>(core, 'alice', 'memory_write', {
      path,
      content: lines.map((line) => `${line}\n`).join(''),
    })
  ).result;

async function follow(core: Core, version: number, line: number, file = notes) {
  const history = await followLine(core.storage, { file, version, line });
  const places = history.files.map(({ file: { path }, byVersion }) => [
    path,
    Object.fromEntries([...byVersion].sort(([one], [other]) => one - other)),
  ]);
  return { ...Object.fromEntries(places), isComplete: history.isComplete } as unknown;
}

describe('a line', () => {
  it('is followed to versions before and after, as lines above it come and go', async () => {
    const core = await openCore();
    await put(core, ['one']);
    await put(core, ['zero', 'one', 'tea']);
    await put(core, ['first', 'zero', 'one', 'tea', 'last']);
    await put(core, ['tea', 'last']);
    await put(core, ['coffee', 'last']);
    const places = { 'notes.md': { 2: 3, 3: 4, 4: 1 }, isComplete: true };
    for (const [version, line] of [
      [2, 3],
      [3, 4],
      [4, 1],
    ] as const) {
      expect(await follow(core, version, line)).toEqual(places);
    }
    expect(await follow(core, 5, 1)).toEqual({ 'notes.md': { 5: 1 }, isComplete: true });
  });

  it('is followed when its file is moved, and when a revert brings it back', async () => {
    const core = await openCore({ tools: everyTool });
    await put(core, ['one', 'tea']);
    const removed = await put(core, ['one']);
    await core.revisions.revert(removed.revisionId, {}, caller);
    await call(core, 'alice', 'memory_move', { from: 'user/notes.md', to: 'user/drinks.md' });
    await put(core, ['new', 'one', 'tea'], 'user/drinks.md');
    const places = {
      'notes.md': { 1: 2, 3: 2 },
      'drinks.md': { 1: 2, 2: 3 },
      isComplete: true,
    };
    expect(await follow(core, 1, 2)).toEqual(places);
    expect(await follow(core, 2, 3, { scope: 'u:alice', path: 'drinks.md' } as never)).toEqual(
      places,
    );
  });

  it('is followed as far as history is kept, which is said', async () => {
    const core = await openCore();
    for (let n = 0; n < 6; n += 1) await put(core, ['tea', `line ${n}`]);
    await core.revisions.prune({ keepLast: 2 }, caller);
    expect(await follow(core, 6, 1)).toEqual({
      'notes.md': { 4: 1, 5: 1, 6: 1 },
      isComplete: false,
    });
    expect(await follow(core, 6, 2)).toEqual({ 'notes.md': { 6: 2 }, isComplete: true });
  });

  it('has the same text in every version that it is followed to, and the same history from each', async () => {
    const word = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
    const texts = fc.array(fc.array(word, { minLength: 1, maxLength: 8 }), {
      minLength: 2,
      maxLength: 9,
    });
    await fc.assert(
      fc.asyncProperty(texts, async (versions) => {
        const core = await openCore();
        try {
          const kept: string[][] = [];
          for (const lines of versions) {
            const { version } = await put(core, lines);
            kept[version] = lines;
          }
          for (const [version, lines] of kept.entries()) {
            for (const [index, text] of (lines ?? []).entries()) {
              const place = { file: notes, version, line: index + 1 };
              const { files, isComplete } = await followLine(core.storage, place);
              expect(isComplete).toBe(true);
              const [{ byVersion } = { byVersion: new Map<number, number>() }] = files;
              expect(byVersion.get(version)).toBe(index + 1);
              for (const [other, line] of byVersion) {
                expect(kept[other]?.[line - 1]).toBe(text);
                const again = await followLine(core.storage, { file: notes, version: other, line });
                expect(again.files[0]?.byVersion.size).toBe(byVersion.size);
              }
            }
          }
        } finally {
          await core.close();
        }
      }),
      { numRuns: 12 },
    );
  });
});
