import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffTexts } from '../../../../core/history/delta.ts';
import { Merge, type Take, type UndoStep } from '../../../../core/history/undo/merge.ts';
import { reference, type RecordedWrite } from './reference-merge.ts';

/** The versions of a file from version 0 on; `null` where it does not exist. */
type Versions = readonly (string | null)[];

interface Options {
  /** Versions that a revert took back, by the version of the revert. */
  reverts?: Record<number, readonly number[]>;
  take?: Take;
  /** Versions with the content before them redacted. */
  blank?: readonly number[];
}

/** Takes versions out of the last content. */
function undo(versions: Versions, selected: readonly number[], options: Options = {}) {
  const merge = new Merge(versions.at(-1) ?? null);
  const oldest = Math.min(...selected);
  for (let version = versions.length - 1; version >= oldest; version--) {
    const [before, after] = [versions[version - 1] ?? null, versions[version] ?? null];
    const taken = options.reverts?.[version];
    const step: UndoStep = {
      version,
      isSelected: selected.includes(version),
      isOfLines: false,
      existedBefore: before !== null,
      existsAfter: after !== null,
      takesBack: taken === undefined ? null : ({ version: one }) => taken.includes(one),
    };
    const { hunks } = diffTexts(before ?? '', after ?? '').delta;
    const isBlank = options.blank?.includes(version) === true;
    merge.back({ step, hunks, before: before ?? '', after: after ?? '', isBlank });
  }
  const { content, conflicts, blanked } = merge.finish(() => options.take ?? 'theirs');
  return { content, conflicts, blanked };
}

const lines = (...texts: string[]) => texts.map((text) => `${text}\n`).join('');

describe('a write that is taken out', () => {
  it('takes its line along, and leaves what was appended since', () => {
    const versions = [lines('a'), lines('a', 'No allergies'), lines('a', 'No allergies', 'Yoga')];
    expect(undo(versions, [1])).toEqual({ content: lines('a', 'Yoga'), conflicts: [], blanked: 0 });
  });

  it('does so where the last line had no line end', () => {
    expect(undo(['a', 'a\nfalse', 'a\nfalse\ngood'], [1]).content).toBe('a\ngood');
    expect(undo(['a\r\n', 'a\r\nfalse', 'a\r\nfalse\r\ngood'], [1]).content).toBe('a\r\ngood');
    expect(undo(['a', 'a\n'], [1]).content).toBe('a');
  });

  it('takes the file along that it created where a decision leaves no line', () => {
    const versions = [null, lines('a', 'b'), lines('a', 'worse')];
    expect(undo(versions, [1], { take: 'restored' }).content).toBeNull();
    expect(undo(versions, [1]).content).toBe(lines('worse'));
    const twice = [null, lines('a', 'keep', 'b'), lines('A', 'keep', 'B'), lines('A', 'B')];
    expect(undo(twice, [1], { take: 'restored' }).content).toBeNull();
    expect(undo([...twice, lines('A', 'mine', 'B')], [1], { take: 'restored' }).content).toBe(
      lines('mine'),
    );
  });

  it('puts a line back before what was added at its place', () => {
    const versions = [lines('a', 'b', 'c'), lines('a', 'c'), lines('a', 'new', 'c')];
    expect(undo(versions, [1]).content).toBe(lines('a', 'b', 'new', 'c'));
  });

  it('does not conflict with changes of the lines next to it', () => {
    const versions = [lines('a', 'b', 'c'), lines('a', 'B', 'c'), lines('A', 'B', 'C')];
    expect(undo(versions, [1])).toEqual({
      content: lines('A', 'b', 'C'),
      conflicts: [],
      blanked: 0,
    });
  });

  it('conflicts where its line was changed, and says both', () => {
    const versions = [lines('a', 'tea'), lines('a', 'coffee'), lines('a', 'strong coffee')];
    const { content, conflicts } = undo(versions, [1]);
    expect(content).toBe(versions[2]);
    expect(conflicts).toMatchObject([
      {
        startLine: 2,
        endLine: 2,
        theirs: 'strong coffee\n',
        restored: 'tea\n',
        writer: { version: 2 },
      },
    ]);
    expect(undo(versions, [1], { take: 'restored' }).content).toBe(lines('a', 'tea'));
    expect(undo(versions, [1], { take: 'both' }).content).toBe(lines('a', 'tea', 'strong coffee'));
  });

  it('conflicts where the line that it changed was deleted', () => {
    const versions = [lines('a', 'tea', 'b'), lines('a', 'coffee', 'b'), lines('a', 'b')];
    const { content, conflicts } = undo(versions, [1]);
    expect(content).toBe(lines('a', 'b'));
    expect(conflicts).toMatchObject([
      { startLine: 2, endLine: 1, theirs: '', restored: 'tea\n', writer: { version: 2 } },
    ]);
    expect(undo(versions, [1], { take: 'restored' }).content).toBe(lines('a', 'tea', 'b'));
  });

  it('counts equal changes once', () => {
    expect(undo([lines('a', 'b'), lines('a', 'B'), lines('a', 'b')], [1])).toMatchObject({
      content: lines('a', 'b'),
      conflicts: [],
    });
    const removed = [lines('a', 'b', 'c'), lines('a', 'c'), lines('a', 'b', 'c')];
    expect(undo(removed, [1]).content).toBe(lines('a', 'b', 'c'));
    expect(undo([lines('a'), lines('a', 'b'), lines('a')], [1])).toMatchObject({
      content: lines('a'),
      conflicts: [],
    });
  });

  it('takes out the lines of a file that it created, and the file if none is left', () => {
    expect(undo([null, lines('a', 'b')], [1]).content).toBe(null);
    expect(undo([null, lines('a', 'b'), lines('a', 'x', 'b')], [1]).content).toBe(lines('x'));
    expect(undo([null, lines('a', 'b'), lines('b')], [1]).content).toBe(null);
    expect(undo([lines('a'), null], [1]).content).toBe(lines('a'));
    expect(undo(['', null], [1]).content).toBe('');
  });

  it('never puts back lines that a redaction blanked', () => {
    const versions = [lines('a', ''), lines('a', 'b'), lines('a', 'b', 'c')];
    expect(undo(versions, [1], { blank: [1] })).toEqual({
      content: versions[2],
      conflicts: [],
      blanked: 1,
    });
  });
});

describe('several writes that are taken out', () => {
  it('do not conflict with each other', () => {
    const versions = [lines('a'), lines('b'), lines('c'), lines('c', 'd')];
    expect(undo(versions, [1, 2])).toMatchObject({ content: lines('a', 'd'), conflicts: [] });
    const wrote = [lines('a'), lines('a', 'b'), lines('a'), lines('a', 'c')];
    expect(undo(wrote, [1, 2])).toMatchObject({ content: lines('a', 'c'), conflicts: [] });
  });

  it('conflict once where others changed the last of them', () => {
    const versions = [lines('a'), lines('b'), lines('c'), lines('d')];
    expect(undo(versions, [1, 2])).toMatchObject({
      content: lines('d'),
      conflicts: [{ startLine: 1, endLine: 1, theirs: 'd\n', restored: 'a\n' }],
    });
    expect(undo(versions, [1, 2], { take: 'restored' }).content).toBe(lines('a'));
  });
});

describe('what an earlier revert took back', () => {
  it('is done, also where others have written since', () => {
    const versions = [lines('a', 'b', 'c'), lines('a', 'x'), lines('a', 'x', 'd')];
    const reverted = undo(versions, [1]).content;
    expect(reverted).toBe(lines('a', 'b', 'c', 'd'));
    const reverts = { 3: [1] };
    expect(undo([...versions, reverted], [1], { reverts })).toMatchObject({
      content: reverted,
      conflicts: [],
    });
    const edited = lines('a', 'b', 'C', 'd', 'e');
    expect(undo([...versions, reverted, edited], [1], { reverts })).toMatchObject({
      content: edited,
      conflicts: [],
    });
  });

  it('is taken out once more after a revert of the revert', () => {
    const versions = [lines('a', 'b'), lines('a', 'x'), lines('a', 'x', 'd')];
    const reverted = undo(versions, [1]).content;
    const again = undo([...versions, reverted], [3], { reverts: { 3: [1] } }).content;
    expect(again).toBe(versions[2]);
    const reverts = { 3: [1], 4: [3] };
    const all = [...versions, reverted, again];
    expect(undo(all, [1], { reverts })).toMatchObject({ content: reverted, conflicts: [] });
    expect(undo([...all, lines('a', 'x', 'd', 'e')], [1], { reverts }).content).toBe(
      lines('a', 'b', 'd', 'e'),
    );
  });
});

describe('random histories by four actors', () => {
  const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
  const change = fc.record({
    at: fc.nat(30),
    removed: fc.nat(3),
    added: fc.nat(3),
    actor: fc.nat(3),
  });
  const history = (max: number) => fc.array(change, { minLength: 1, maxLength: max });

  it('are undone as a reference says that gives each line an id', () => {
    let places = 0;
    fc.assert(
      fc.property(
        history(isRelease ? 50 : 12),
        fc.array(fc.boolean(), { minLength: 50, maxLength: 50 }),
        fc.nat(8),
        (changes, isChosen, size) => {
          const writes: RecordedWrite[] = [];
          let ids = Array.from({ length: size }, (_, at) => `first ${at}`);
          let next = 0;
          for (const { at, removed, added } of changes) {
            const from = Math.min(at, ids.length);
            const after = [
              ...ids.slice(0, from),
              ...Array.from({ length: added }, () => `line ${(next += 1)}`),
              ...ids.slice(from + removed),
            ];
            writes.push({ before: ids, after });
            ids = after;
          }
          const selected = writes.flatMap((_, at) => (isChosen[at] === true ? [at + 1] : []));
          if (selected.length === 0) return;
          const texts = [writes[0]?.before ?? [], ...writes.map(({ after }) => after)].map((one) =>
            lines(...one),
          );
          const merged = undo(texts, selected);
          const wanted = reference(writes, new Set(selected.map((version) => version - 1)));
          expect(merged.content).toBe(lines(...wanted.lines));
          expect(merged.conflicts.length > 0).toBe(wanted.conflicts > 0);
          places += wanted.conflicts;
          // No line is lost that no selected write had touched.
          const touched = new Set(
            selected
              .flatMap((version) => writes[version - 1]?.after ?? [])
              .filter((line) => {
                return selected.some((one) => writes[one - 1]?.before.includes(line) !== true);
              }),
          );
          const kept = new Set(merged.content?.split('\n'));
          for (const line of ids) if (!touched.has(line)) expect(kept.has(line)).toBe(true);
          // A revert of the revert gives the content back, and a repeat changes nothing.
          const all = [...texts, merged.content];
          const reverts = { [texts.length]: selected };
          expect(undo(all, [texts.length], { reverts }).content).toBe(texts.at(-1));
          expect(undo(all, selected, { reverts }).content).toBe(merged.content);
        },
      ),
      { numRuns: isRelease ? 1_000 : 150 },
    );
    expect(places).toBeGreaterThan(0);
  });
});

describe('selected lines of random histories', () => {
  const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
  const change = fc.record({ at: fc.nat(30), removed: fc.nat(3), added: fc.nat(3) });

  it('become what their writers had found there, and no other line changes', () => {
    let back = 0;
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: isRelease ? 50 : 12 }),
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        (changes, isChosen) => {
          let ids = ['first 1', 'first 2'];
          const versions = [ids];
          let next = 0;
          for (const { at, removed, added } of changes) {
            const from = Math.min(at, ids.length);
            const written = Array.from({ length: added }, () => `${(next += 1)} line ${next}`);
            ids = [...ids.slice(0, from), ...written, ...ids.slice(from + removed)];
            versions.push(ids);
          }
          const texts = [null, ...versions.map((one) => lines(...one))];
          const chosen = ids.filter((_, at) => isChosen[at] === true);
          const numbers = ids.flatMap((id, at) => (chosen.includes(id) ? [at + 1] : []));
          const merge = new Merge(texts.at(-1) ?? null);
          merge.select(numbers);
          let written = 0;
          for (let version = texts.length - 1; version >= 1; version -= 1) {
            const [before, after] = [texts[version - 1] ?? '', texts[version] ?? ''];
            const { hunks } = diffTexts(before, after).delta;
            const step = {
              version,
              isSelected: false,
              isOfLines: false,
              existedBefore: version > 1,
              existsAfter: true,
              takesBack: null,
            };
            written += merge.back({ step, hunks, before, after, isBlank: false });
          }
          expect([written, merge.linesLeft]).toEqual([chosen.length, 0]);
          const { content, conflicts } = merge.finish();
          expect(conflicts).toEqual([]);
          const result = (content ?? '').split('\n').slice(0, -1);
          const present = new Set(ids);
          expect(result.filter((id) => present.has(id))).toEqual(
            ids.filter((id) => !chosen.includes(id)),
          );
          // What came back was taken out by the write that had written a chosen line.
          const writers = chosen.map((id) => versions.findIndex((one) => one.includes(id)));
          for (const id of result.filter((one) => !present.has(one))) {
            back += 1;
            expect(
              writers.some(
                (at) => versions[at - 1]?.includes(id) === true && !versions[at]?.includes(id),
              ),
            ).toBe(true);
          }
        },
      ),
      { numRuns: isRelease ? 2_000 : 300 },
    );
    expect(back).toBeGreaterThan(0);
  });
});
