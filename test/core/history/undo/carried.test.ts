import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WriteResult } from '../../../../core/contracts/tool.ts';
import { noTrace } from '../../../../core/telemetry/tracer.ts';
import { openCarrier } from '../../../support/carrier.ts';
import { call } from '../../../support/service.ts';
import { DATABASE } from '../../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const lines = (...texts: string[]) => texts.map((text) => `${text}\n`).join('');

/** A service, and one call of a plugin that writes several files of alice. */
async function open() {
  const { core, clock, host } = await openCarrier();
  const readFile = async (path: string) =>
    (await core.fileLists.file(path, {}).catch(() => null))?.file.content ?? null;
  const contentOf = (path: string) => readFile(`users/alice/${path}`);
  return {
    core,
    clock,
    readFile,
    contentOf,
    /** One transaction of a plugin; paths are virtual. */
    async transact(
      contents: Record<string, string>,
      options: { runId?: string; traceId?: string },
    ) {
      const { runId, traceId } = options;
      const changes = Object.entries(contents).map(([path, content]) => ({
        scope: 'u:alice' as const,
        path,
        content,
        reason: 'Carries lines.',
      }));
      const trace = noTrace(traceId ?? null);
      return await host.write(changes, { actor: 'mover', trace, ...(runId && { runId }) });
    },
    write(path: string, content: string, actor = 'ann') {
      clock.advance(1_000);
      const args = { path: `user/${path}`, content };
      return call<WriteResult>(core, 'alice', 'memory_write', args, { actor });
    },
    async carry(contents: Record<string, string | null>) {
      clock.advance(1_000);
      const changes = Object.entries(contents).map(([path, content]) => ({
        scope: 'u:alice' as const,
        path: `user/${path}`,
        content,
        reason: 'Carries lines.',
      }));
      const runId = randomUUID();
      const written = await host.write(changes, { actor: 'mover', runId });
      return { runId, ids: written.map(({ revisionId }) => revisionId) };
    },
  };
}

const outcomes = ({ files }: { files: readonly { path: string; outcome: string }[] }) =>
  Object.fromEntries(files.map(({ path, outcome }) => [path.split('/').at(-1), outcome]));

describe('lines that one call carried from one file to another', () => {
  it('are undone in both files, by the run and by either revision', async () => {
    for (const by of ['run', 'from', 'to'] as const) {
      const { core, contentOf, write, carry } = await open();
      await write('a.md', lines('- tea', '- nuts'));
      await write('b.md', lines('# Food'));
      const { runId, ids } = await carry({
        'a.md': lines('- tea'),
        'b.md': lines('# Food', '* nuts'),
      });
      await write('b.md', lines('# Food', '* nuts', '* fish'));
      const answer =
        by === 'run'
          ? await core.revisions.revertWrites({ runId }, operator)
          : await core.revisions.revert(ids[by === 'from' ? 0 : 1] ?? '', {}, operator);
      expect(outcomes(answer)).toEqual({ 'a.md': 'reverted', 'b.md': 'merged' });
      expect(await contentOf('a.md')).toBe(lines('- tea', '- nuts'));
      expect(await contentOf('b.md')).toBe(lines('# Food', '* fish'));
      const again = await core.revisions.revertWrites({ runId }, operator);
      expect(outcomes(again)).toEqual({ 'a.md': 'unchanged', 'b.md': 'unchanged' });
    }
  });

  it.each([
    ['changed', lines('# Food', '- nuts, all of them')],
    ['deleted', lines('# Food')],
  ])('stay in both where somebody %s them since', async (_, later) => {
    const { core, contentOf, write, carry } = await open();
    await write('a.md', lines('- tea', '- nuts', '- rice'));
    await write('b.md', lines('# Food'));
    const { runId } = await carry({
      'a.md': lines('- green tea', '- rice'),
      'b.md': lines('# Food', '- nuts'),
    });
    await write('b.md', later);
    const answer = await core.revisions.revertWrites({ runId }, operator);
    expect(outcomes(answer)['a.md']).toBe('conflict');
    expect(answer.files.map(({ version }) => version)).toEqual([null, null]);
    expect(await contentOf('a.md')).toBe(lines('- green tea', '- rice'));
    expect(await contentOf('b.md')).toBe(later);
    const forced = await core.revisions.revertWrites({ runId, onConflict: 'force' }, operator);
    expect(outcomes(forced)['a.md']).toBe('reverted');
    expect(await contentOf('a.md')).toBe(lines('- tea', '- nuts', '- rice'));
    expect(await contentOf('b.md')).toBe(lines('# Food'));
  });

  it('are undone although other lines of the same file conflict', async () => {
    const { core, contentOf, write, carry } = await open();
    await write('a.md', lines('- tea', '- rice', '- nuts'));
    await write('b.md', lines('# Food'));
    const { runId } = await carry({
      'a.md': lines('- green tea', '- rice'),
      'b.md': lines('# Food', '- nuts'),
    });
    await write('a.md', lines('- black tea', '- rice'));
    const answer = await core.revisions.revertWrites({ runId }, operator);
    expect(outcomes(answer)).toEqual({ 'a.md': 'conflict', 'b.md': 'reverted' });
    expect(await contentOf('a.md')).toBe(lines('- black tea', '- rice', '- nuts'));
    expect(await contentOf('b.md')).toBe(lines('# Food'));
  });

  it('are undone once the conflict that they are a part of is decided', async () => {
    const { core, contentOf, write, carry } = await open();
    await write('a.md', lines('- tea', '- nuts'));
    await write('b.md', lines('# Food'));
    const { runId } = await carry({
      'a.md': lines('- green tea'),
      'b.md': lines('# Food', '- nuts'),
    });
    await write('a.md', lines('- black tea'));
    const answer = await core.revisions.revertWrites({ runId }, operator);
    expect(outcomes(answer)).toEqual({ 'a.md': 'conflict', 'b.md': 'conflict' });
    const resolutions = answer.files.flatMap(({ path, fromVersion, conflicts }) =>
      conflicts.map(({ startLine }) => ({
        path,
        version: fromVersion ?? 0,
        startLine,
        take: 'restored' as const,
      })),
    );
    const decided = await core.revisions.revertWrites({ runId, resolutions }, operator);
    expect(outcomes(decided)).toEqual({ 'a.md': 'merged', 'b.md': 'reverted' });
    expect(await contentOf('a.md')).toBe(lines('- tea', '- nuts'));
    expect(await contentOf('b.md')).toBe(lines('# Food'));
  });

  it('stay where they are once a later call took them on to a third file', async () => {
    const { core, contentOf, write, carry } = await open();
    await write('a.md', lines('- nuts'));
    await write('b.md', lines('# B'));
    await write('c.md', lines('# C'));
    const first = await carry({ 'a.md': '', 'b.md': lines('# B', '- nuts') });
    const second = await carry({ 'b.md': lines('# B'), 'c.md': lines('# C', '- nuts') });
    await core.revisions.revertWrites({ runId: first.runId }, operator);
    expect(await contentOf('a.md')).toBe('');
    expect(await contentOf('c.md')).toBe(lines('# C', '- nuts'));
    await core.revisions.revertWrites(
      { revisionIds: [...first.ids.slice(0, 1), ...second.ids.slice(1)] },
      operator,
    );
    expect(await contentOf('a.md')).toBe(lines('- nuts'));
    expect(await contentOf('b.md')).toBe(lines('# B'));
    expect(await contentOf('c.md')).toBe(lines('# C'));
  });

  it('are found where the files were moved since, and stay where one of them is gone', async () => {
    const { core, contentOf, write, carry } = await open();
    await write('a.md', lines('- tea', '- nuts'));
    await write('b.md', lines('# Food'));
    const { runId } = await carry({ 'a.md': lines('- tea'), 'b.md': lines('# Food', '- nuts') });
    await call(core, 'alice', 'memory_move', { from: 'user/b.md', to: 'user/food.md' });
    const answer = await core.revisions.revertWrites({ runId }, operator);
    expect(outcomes(answer)).toEqual({ 'a.md': 'reverted', 'food.md': 'reverted' });
    expect(await contentOf('a.md')).toBe(lines('- tea', '- nuts'));
    expect(await contentOf('food.md')).toBe(lines('# Food'));
    const next = await carry({ 'a.md': lines('- tea'), 'food.md': lines('# Food', '- nuts') });
    await call(core, 'alice', 'memory_delete', { path: 'user/food.md' });
    await core.revisions.revertWrites({ runId: next.runId }, operator);
    expect(await contentOf('a.md')).toBe(lines('- tea'));
  });

  describe('in two memories', () => {
    const NOTES = lines('- tea', '- nuts');
    const SHARED = lines('# Food');

    async function carryToShared() {
      const opened = await open();
      const { core, clock, readFile, transact } = opened;
      await core.files.put('users/alice/notes.md', { content: NOTES }, operator);
      await core.files.put('shared/food.md', { content: SHARED }, operator);
      clock.advance(1_000);
      const since = new Date(clock.now()).toISOString();
      const written = await transact(
        { 'user/notes.md': lines('- tea'), 'shared/food.md': lines('# Food', '- nuts') },
        { runId: '019aaaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa' },
      );
      const both = async () => [
        await readFile('users/alice/notes.md'),
        await readFile('shared/food.md'),
      ];
      return { ...opened, since, both, ids: written.map(({ revisionId }) => revisionId) };
    }

    it('stay where the selection leaves one of the two out', async () => {
      const { core, since, both } = await carryToShared();
      const answer = await core.revisions.revertWrites(
        { actor: 'mover', since, userId: 'alice' },
        operator,
      );
      expect(outcomes(answer)).toEqual({ 'notes.md': 'conflict' });
      expect(await both()).toEqual([lines('- tea'), lines('# Food', '- nuts')]);
    });

    it.each(['actor', 'one of two revisions'])('are undone in both by %s', async (by) => {
      const { core, since, both, ids } = await carryToShared();
      const selection =
        by === 'actor' ? { actor: 'mover', since } : { revisionIds: [ids[1] ?? ''] };
      const answer = await core.revisions.revertWrites(selection, operator);
      expect(outcomes(answer)).toEqual({ 'notes.md': 'reverted', 'food.md': 'reverted' });
      expect(await both()).toEqual([NOTES, SHARED]);
    });

    it('are undone in both by the revert of a revert, which no tool call and no run made', async () => {
      const { core, both, ids } = await carryToShared();
      await core.revisions.revertWrites({ revisionIds: ids }, operator);
      const page = await core.revisions.list({ path: 'shared/food.md', action: 'revert' });
      await core.revisions.revert(page.items[0]?.id ?? '', {}, operator);
      expect(await both()).toEqual([lines('- tea'), lines('# Food', '- nuts')]);
    });
  });

  it('stay where a time leaves one of two transactions of the call out', async () => {
    const { core, clock, write, contentOf, transact } = await open();
    await write('a.md', lines('- tea', '- nuts'));
    await write('b.md', lines('# Food'));
    const runId = '019aaaaa-aaaa-7aaa-8aaa-aaaaaaaaaaab';
    clock.advance(1_000);
    await transact({ 'user/b.md': lines('# Food', '- nuts') }, { runId });
    clock.advance(1_000);
    const since = new Date(clock.now()).toISOString();
    await transact({ 'user/a.md': lines('- tea') }, { runId });
    await transact({ 'user/b.md': lines('# Food', '- nuts', '- fish') }, {});
    const answer = await core.revisions.revertWrites({ actor: 'mover', since }, operator);
    expect(outcomes(answer)).toEqual({ 'a.md': 'conflict', 'b.md': 'conflict' });
    expect(await contentOf('a.md')).toBe(lines('- tea'));
    const later = await core.revisions.revertWrites({ runId }, operator);
    expect(outcomes(later)).toEqual({ 'a.md': 'reverted', 'b.md': 'merged' });
    expect(await contentOf('a.md')).toBe(lines('- tea', '- nuts'));
    expect(await contentOf('b.md')).toBe(lines('# Food', '- fish'));
  });

  it('are none where two transactions wrote the files, of one trace at one time', async () => {
    const { core, write, contentOf, transact } = await open();
    await write('a.md', lines('- tea', '- nuts'));
    await write('b.md', lines('# Food'));
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const [taken] = await transact({ 'user/a.md': lines('- tea') }, { traceId });
    const [added] = await transact({ 'user/b.md': lines('# Food', '- nuts') }, { traceId });
    const times = await Promise.all(
      [taken, added].map((one) => core.revisions.get(one?.revisionId ?? '')),
    );
    expect(new Set(times.map(({ at, traceId: of }) => `${at} ${of}`)).size).toBe(1);
    await core.revisions.revert(taken?.revisionId ?? '', {}, operator);
    expect(await contentOf('a.md')).toBe(lines('- tea', '- nuts'));
    expect(await contentOf('b.md')).toBe(lines('# Food', '- nuts'));
  });

  it(
    'are never doubled and never lost, whatever others wrote since, and whichever calls are undone',
    { timeout: 170_000 },
    async () => {
      const counts = { runs: 0, undone: 0, held: 0 };
      const paths = ['a.md', 'b.md', 'c.md'] as const;
      const step = fc.record({
        kind: fc.constantFrom('carry', 'carry', 'append', 'change', 'delete'),
        from: fc.nat(2),
        to: fc.nat(2),
        line: fc.nat(9),
        size: fc.integer({ min: 1, max: 2 }),
        at: fc.nat(9),
      });
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 14 }),
        fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }),
        async (steps, isSelected) => {
          const { core, contentOf, write, carry } = await open();
          const files = new Map<string, string[]>();
          let next = 0;
          for (const path of paths) {
            files.set(path, [`- line ${next++}`, `- line ${next++}`, `- line ${next++}`]);
            await write(path, lines(...(files.get(path) ?? [])));
          }
          const ids: string[] = [];
          for (const { kind, from, to, line, size, at } of steps) {
            const path = paths[from] ?? 'a.md';
            const own = files.get(path) ?? [];
            const place = own.length === 0 ? 0 : line % own.length;
            if (kind === 'carry') {
              const target = paths[to] ?? 'a.md';
              const other = files.get(target) ?? [];
              if (target === path || own.length === 0) continue;
              other.splice(at % (other.length + 1), 0, ...own.splice(place, size));
              const made = await carry({ [path]: lines(...own), [target]: lines(...other) });
              // One of its two revisions: the other one comes along.
              ids.push(made.ids[at % 2] ?? '');
            } else {
              if (kind === 'append') own.push(`- line ${next++}`);
              else if (kind === 'change') own.splice(place, 1, `- line ${next++}`);
              else own.splice(place, 1);
              await write(path, lines(...own));
            }
          }
          const revisionIds = ids.filter((_, at) => isSelected[at]);
          if (revisionIds.length === 0) return;
          const all = async () => {
            const texts = await Promise.all(paths.map(contentOf));
            return texts.flatMap((text) => (text ?? '').split('\n').filter(Boolean)).sort();
          };
          const before = await all();
          const answer = await core.revisions.revertWrites({ revisionIds }, operator);
          expect(await all()).toEqual(before);
          const again = await core.revisions.revertWrites({ revisionIds }, operator);
          expect(again.files.every(({ version }) => version === null)).toBe(true);
          counts.runs += 1;
          const isUndone = answer.files.every(({ outcome }) =>
            ['reverted', 'merged', 'unchanged'].includes(outcome),
          );
          counts[isUndone ? 'undone' : 'held'] += 1;
        },
      );
      // 1,000 runs: 0 doubled, 0 lost.
      const numRuns = isRelease ? 120 : 40;
      await fc.assert(property, {
        numRuns: DATABASE === undefined ? numRuns : isRelease ? 15 : 8,
        seed: 44,
      });
      expect(counts.undone).toBeGreaterThan(0);
      expect(counts.held).toBeGreaterThan(0);
    },
  );
});
