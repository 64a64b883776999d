import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BlamedLines } from '../../../core/contracts/admin.ts';
import { diffTexts } from '../../../core/history/delta.ts';
import type { WriteResult } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { manualClock } from '../../support/clock.ts';
import { call, openCore } from '../../support/service.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const everyTool = { delete: true, move: true };

interface CallOptions {
  actor?: string;
  traceparent?: string;
}

const run = async (core: Core, tool: string, args: object, options: CallOptions = {}) =>
  (await call<WriteResult>(core, 'alice', tool, args, options)).result;
const write = (core: Core, path: string, content: string, options: CallOptions = {}) =>
  run(core, 'memory_write', { path: `user/${path}`, content }, options);
const blame = async (core: Core, path: string, query: object = {}): Promise<BlamedLines[]> =>
  (await core.fileLists.file(`users/alice/${path}`, { ...query, blame: true })).blame ?? [];
/** The writer of each line. */
const writers = (ranges: readonly BlamedLines[], field: 'actor' | 'version' = 'actor') =>
  ranges.flatMap((range) => Array(range.endLine - range.startLine + 1).fill(range[field]));

describe('blame', () => {
  it('names for each line the revision, with its actor, reason, tool, tool call and time', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    await write(core, 'a.md', 'one\ntwo\nthree\n', { actor: 'ann' });
    clock.advance(60_000);
    const answer = await call<WriteResult>(
      core,
      'alice',
      'memory_patch',
      { path: 'user/a.md', edits: [{ oldText: 'two', newText: 'TWO\n2½' }], reason: 'asked' },
      { actor: 'bob' },
    );
    const ranges = await blame(core, 'a.md');
    expect(writers(ranges)).toEqual(['ann', 'bob', 'bob', 'ann']);
    expect(ranges[1]).toEqual({
      startLine: 2,
      endLine: 3,
      revisionId: answer.result.revisionId,
      version: 2,
      actor: 'bob',
      reason: 'asked',
      tool: 'memory_patch',
      toolCallId: answer.toolCallId,
      at: new Date(clock.now()).toISOString(),
      before: null,
      afterReading: [],
    });
  });

  it('follows lines through a move, to those who wrote them', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'a.md', 'one\ntwo\n', { actor: 'ann' });
    await run(core, 'memory_move', { from: 'user/a.md', to: 'user/b.md' }, { actor: 'mover' });
    await write(core, 'b.md', 'one\nTWO\n', { actor: 'bob' });
    await run(core, 'memory_move', { from: 'user/b.md', to: 'user/a.md' }, { actor: 'mover' });
    expect(writers(await blame(core, 'a.md'))).toEqual(['ann', 'bob']);
  });

  it('gives lines that a revert brought back to those who wrote them first', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'a.md', 'one\ntwo\n', { actor: 'ann' });
    await write(core, 'a.md', 'one\ntwo\nthree\n', { actor: 'bob' });
    const { revisionId } = await write(core, 'a.md', 'poison\n', { actor: 'mallory' });
    await core.revisions.revert(revisionId, {}, operator);
    expect(writers(await blame(core, 'a.md'))).toEqual(['ann', 'ann', 'bob']);
    const deleted = await run(core, 'memory_delete', { path: 'user/a.md' }, { actor: 'mallory' });
    await core.revisions.revert(deleted.revisionId, {}, operator);
    expect(writers(await blame(core, 'a.md'))).toEqual(['ann', 'ann', 'bob']);
  });

  it('starts anew with a file that was deleted and written again', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'a.md', 'one\n', { actor: 'ann' });
    await run(core, 'memory_delete', { path: 'user/a.md' });
    await write(core, 'a.md', 'one\n', { actor: 'bob' });
    expect(writers(await blame(core, 'a.md'))).toEqual(['bob']);
  });

  it('says “before” where history is pruned', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    await write(core, 'a.md', 'one\ntwo\n', { actor: 'ann' });
    clock.advance(1_000);
    await write(core, 'a.md', 'one\nTWO\n', { actor: 'bob' });
    clock.advance(1_000);
    await write(core, 'a.md', 'one\nTWO\n3\n', { actor: 'cleo' });
    await core.revisions.prune({ keepLast: 1, userId: 'alice' }, operator);
    expect(await blame(core, 'a.md')).toEqual([
      {
        startLine: 1,
        endLine: 2,
        revisionId: null,
        version: null,
        actor: null,
        reason: null,
        tool: null,
        toolCallId: null,
        at: null,
        before: new Date(clock.now()).toISOString(),
        afterReading: null,
      },
      expect.objectContaining({ startLine: 3, endLine: 3, actor: 'cleo', before: null }),
    ]);
  });

  describe('of lines whose first revision is pruned', () => {
    /** Writes `user/a.md`, and gives the names of its writers and what blame says of it later. */
    async function openPrunable() {
      const clock = manualClock();
      const core = await openCore({ now: clock.now, tools: everyTool });
      const later = () => clock.advance(1_000);
      const prune = (path: string) =>
        core.revisions.prune({ keepLast: 1, path: `users/alice/${path}` }, operator);
      await write(core, 'a.md', 'one\n', { actor: 'ann' });
      later();
      return { clock, core, later, prune };
    }
    const time = (ms: number) => new Date(ms).toISOString();

    it('says “before” the move, not the mover, when the old path is pruned', async () => {
      const { clock, core, later, prune } = await openPrunable();
      const movedAt = clock.now();
      await run(core, 'memory_move', { from: 'user/a.md', to: 'user/b.md' }, { actor: 'mover' });
      later();
      await write(core, 'b.md', 'one\ntwo\n', { actor: 'bob' });
      await write(core, 'a.md', 'another\n', { actor: 'zed' });
      await prune('a.md');
      expect(await blame(core, 'b.md')).toMatchObject([
        { startLine: 1, endLine: 1, actor: null, before: time(movedAt) },
        { startLine: 2, endLine: 2, actor: 'bob', before: null },
      ]);
    });

    it('says “before” the oldest kept revision when a revert restored a pruned one', async () => {
      const { clock, core, later, prune } = await openPrunable();
      const { revisionId } = await write(core, 'a.md', 'poison\n', { actor: 'mallory' });
      later();
      const revertedAt = clock.now();
      await core.revisions.revert(revisionId, {}, operator);
      later();
      await prune('a.md');
      expect(await blame(core, 'a.md')).toMatchObject([
        { startLine: 1, endLine: 1, actor: null, before: time(revertedAt) },
      ]);
    });

    it('says “before” the next revision when the version itself is pruned', async () => {
      const { clock, core, later, prune } = await openPrunable();
      await write(core, 'a.md', 'two\n', { actor: 'bob' });
      later();
      const nextAt = clock.now();
      await write(core, 'a.md', 'three\n', { actor: 'cleo' });
      await prune('a.md');
      expect(await blame(core, 'a.md', { version: 2 })).toMatchObject([
        { startLine: 1, endLine: 1, actor: null, before: time(nextAt) },
      ]);
    });
  });

  it('is that of an earlier version where one is asked for', async () => {
    const core = await openCore();
    await write(core, 'a.md', 'one\ntwo\n', { actor: 'ann' });
    await write(core, 'a.md', 'one\nTWO\n', { actor: 'bob' });
    expect(writers(await blame(core, 'a.md', { version: 1 }))).toEqual(['ann', 'ann']);
    await write(core, 'empty.md', '');
    expect(await blame(core, 'empty.md')).toEqual([]);
  });

  it('says which files the writer had read in the same trace', async () => {
    // The clock stands still: all of it happens in one millisecond.
    const core = await openCore({ now: manualClock().now });
    await write(core, 'source.md', 'The poison.\n');
    await write(core, 'other.md', 'Read in another trace.\n');
    const source = await core.revisions.list({ path: 'users/alice/source.md' });
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    await run(core, 'memory_read', { path: 'user/source.md' }, { traceparent });
    await run(core, 'memory_read', { path: 'user/other.md' });
    const { revisionId } = await write(core, 'a.md', 'Now here.\n', { traceparent });
    await run(core, 'memory_read', { path: 'user/other.md' }, { traceparent });
    const afterReading = [
      {
        path: 'users/alice/source.md',
        revisionId: source.items[0]?.id,
        probably: false,
      },
    ];
    expect(await blame(core, 'a.md')).toMatchObject([{ afterReading }]);
    expect(await core.revisions.get(revisionId)).toMatchObject({ afterReading });
  });

  it('says once for each revision what its writer had read', async () => {
    const core = await openCore();
    await write(core, 'source.md', 'The poison.\n');
    const traceparent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
    await write(core, 'a.md', 'one\ntwo\nthree\n', { actor: 'ann' });
    await run(core, 'memory_read', { path: 'user/source.md' }, { traceparent });
    await write(core, 'a.md', 'ONE\ntwo\nTHREE\n', { actor: 'bob', traceparent });
    const ranges = await blame(core, 'a.md');
    expect(ranges.map(({ actor }) => actor)).toEqual(['bob', 'ann', 'bob']);
    expect(ranges[0]?.afterReading).toMatchObject([{ path: 'users/alice/source.md' }]);
    expect(ranges[2]).not.toHaveProperty('afterReading');
  });

  it('is cut off where it would be longer than 4 MB, and says after which line', async () => {
    const core = await openCore({ limits: { maxFileBytes: 200_000 } });
    const lines = (letter: string) =>
      Array.from({ length: 24_000 }, (_, index) => (index % 2 === 0 ? letter : '-'));
    await write(core, 'a.md', `${lines('a').join('\n')}\n`, { actor: 'ann' });
    await write(core, 'a.md', `${lines('b').join('\n')}\n`, { actor: 'bob' });
    const { blame: ranges = [], blameEnd } = await core.fileLists.file('users/alice/a.md', {
      blame: true,
    });
    expect(JSON.stringify(ranges).length).toBeLessThanOrEqual(4.1 * 1024 * 1024);
    expect(ranges.length).toBeGreaterThan(5_000);
    expect(blameEnd).toBe(ranges.at(-1)?.endLine);
    const short = await core.fileLists.file('users/alice/a.md', { blame: true, version: 1 });
    expect(short.blameEnd).toBe(null);
  });

  it('takes what the same actor read for the same user in ten minutes for “probably”', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now, sharedWrites: true });
    await write(core, 'old.md', 'Read too long ago.\n');
    await write(core, 'source.md', 'The poison.\n');
    await run(core, 'memory_read', { path: 'user/old.md' }, { actor: 'bob' });
    clock.advance(600_001);
    await run(core, 'memory_read', { path: 'user/source.md' }, { actor: 'bob' });
    await run(core, 'memory_read', { path: 'user/old.md' }, { actor: 'somebody else' });
    clock.advance(1_000);
    await write(core, 'a.md', 'Now here.\n', { actor: 'bob' });
    await run(
      core,
      'memory_write',
      { path: 'shared/a.md', content: 'Here, too.\n' },
      { actor: 'bob' },
    );
    const afterReading = [
      expect.objectContaining({ path: 'users/alice/source.md', probably: true }),
    ];
    expect(await blame(core, 'a.md')).toMatchObject([{ afterReading }]);
    const shared = await core.fileLists.file('shared/a.md', { blame: true });
    expect(shared.blame).toMatchObject([{ afterReading }]);
  });

  it('equals a naive replay of any history', { timeout: 120_000 }, async () => {
    const core = await openCore({ tools: everyTool });
    let file = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step(), { minLength: 1, maxLength: 12 }), async (steps) => {
        file += 1;
        let path = `${file}/0.md`;
        let moves = 0;
        /** Each version’s lines with their writers, and the revision that made it. */
        let versions: { lines: Line[] | null; revisionId: string }[] = [];
        let lines: Line[] | null = null;
        for (const [index, one] of steps.entries()) {
          const actor = `actor-${index}`;
          let revisionId: string;
          if (one.kind === 'write' || lines === null) {
            const content = one.kind === 'write' ? one.lines : ['x\n'];
            const before = lines;
            if (toText(before) === content.join('')) continue;
            lines = replay(before ?? [], content, actor);
            ({ revisionId } = await write(core, path, content.join(''), { actor }));
          } else if (one.kind === 'delete') {
            lines = null;
            ({ revisionId } = await run(core, 'memory_delete', { path: `user/${path}` }));
          } else if (one.kind === 'move') {
            const to = `${file}/${(moves += 1)}.md`;
            await run(core, 'memory_move', { from: `user/${path}`, to: `user/${to}` }, { actor });
            path = to;
            // The new path has no versions to go back to.
            versions = [];
            continue;
          } else {
            const undone = versions[one.back % Math.max(1, versions.length)];
            const at = undone === undefined ? -1 : versions.indexOf(undone);
            const target = versions[at - 1]?.lines ?? null;
            if (undone === undefined || target === null) continue;
            const revisionIds = versions.slice(at).map((version) => version.revisionId);
            const answer = await core.revisions.revertWrites({ revisionIds }, operator);
            if (answer.files[0]?.outcome === 'unchanged') continue;
            const same = versions.findLast(
              ({ lines: earlier }) => toText(earlier) === toText(target),
            );
            lines = same?.lines ?? target;
            revisionId = answer.files[0]?.revisionId ?? '';
          }
          versions.push({ lines, revisionId });
        }
        if (lines === null) return;
        expect(writers(await blame(core, path))).toEqual(lines.map(({ writer }) => writer));
      }),
      { numRuns: 120 },
    );
  });
});

interface Line {
  text: string;
  writer: string;
}

type Step =
  | { kind: 'write'; lines: string[] }
  | { kind: 'delete' }
  | { kind: 'move' }
  | { kind: 'revert'; back: number };

function step(): fc.Arbitrary<Step> {
  const line = fc.constantFrom('a\n', 'b\n', 'c\n', 'd\n');
  // Long lines make a rewritten file heavy enough for a keyframe.
  const long = fc.constantFrom('a', 'b', 'c').map((letter) => `${letter.repeat(400)}\n`);
  const lines = fc.array(fc.oneof(line, long), { maxLength: 8 });
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('write' as const), lines }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'delete' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'move' as const }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('revert' as const), back: fc.nat(20) }) },
  );
}

function toText(lines: readonly Line[] | null): string | null {
  return lines === null ? null : lines.map(({ text }) => text).join('');
}

/** Forwards: the new lines of a write are the writer's, all others stay whose they were. */
function replay(before: readonly Line[], content: readonly string[], writer: string): Line[] {
  const { hunks } = diffTexts(toText(before) ?? '', content.join('')).delta;
  const lines: Line[] = [];
  let older = 0;
  for (const { start, removed, addedLines } of hunks) {
    while (lines.length < start) lines.push(before[older++] as Line);
    older += addedLines;
    for (const text of content.slice(start, start + removed)) lines.push({ text, writer });
  }
  return [...lines, ...before.slice(older)];
}
