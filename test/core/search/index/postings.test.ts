import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_FREQUENCY,
  MAX_POSITION,
  type FilePostings,
} from '../../../../core/search/index/index-file.ts';
import {
  countPlaces,
  encodePostings,
  findStop,
  LENGTHS_TERM,
  rowTermOf,
} from '../../../../core/search/index/postings.ts';
import { readOldFrames, unpackTerms } from '../../../../core/search/index/old-postings.ts';
import { PostingsList } from '../../../../core/search/index/postings-list.ts';
import { encodeText, indexText } from '../../../support/index-text.ts';
import { toOldPostings } from '../../../support/old-postings.ts';

const positions = fc
  .array(fc.integer({ min: 0, max: MAX_POSITION }), { minLength: 1, maxLength: MAX_FREQUENCY })
  .map((list) => list.sort((left, right) => left - right));

const postings: fc.Arbitrary<FilePostings> = fc
  .record({
    contexts: fc.uniqueArray(fc.integer({ min: 0, max: 5_000 }), { maxLength: 8 }),
    entries: fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 20_000 }), positions), {
      maxLength: 12,
      selector: ([passage]) => passage,
    }),
  })
  .map(({ contexts, entries }) => ({
    // Runs of 3 that begin at multiples of 4 are apart.
    contexts: contexts
      .sort((left, right) => left - right)
      .map((start) => ({ passage: start * 4, count: 3 })),
    entries: entries
      .sort(([left], [right]) => left - right)
      .map(([passage, list]) => ({ passage, positions: list })),
  }));

/** What a payload decodes to; `null` when it is damaged. */
function decodePostings(blob: Uint8Array, start = 0, end = blob.length): FilePostings | null {
  const list = new PostingsList(end - start);
  if (!list.add(blob, start, end, { file: 0, first: 0, after: 2 ** 26 })) return null;
  const runs = Array.from({ length: list.runCount }, (_, run) => run);
  const entries = Array.from({ length: list.count }, (_, entry) => entry);
  return {
    contexts: runs.map((run) => ({
      passage: list.runSlots[run] ?? 0,
      count: list.runLengths[run] ?? 0,
    })),
    entries: entries.map((entry) => ({
      passage: list.slots[entry] ?? 0,
      positions: [...list.positions(entry)],
    })),
  };
}

/** A blob that must not be damaged. */
function intact<T>(result: T | 'damaged'): T {
  if (result === 'damaged') throw new Error('The blob is damaged.');
  return result;
}

describe('encodePostings', () => {
  it('gives back what was encoded', () => {
    fc.assert(
      fc.property(postings, (given) => {
        const payload = encodePostings(given);
        expect(decodePostings(payload)).toEqual(given);
      }),
    );
  });

  it('takes two bytes for a passage that has a term once', () => {
    const entries = Array.from({ length: 50 }, (_, passage) => ({ passage, positions: [7] }));
    expect(encodePostings({ contexts: [], entries }).length).toBe(1 + 2 * 50);
  });

  it('takes the same few bytes for a heading of one passage and of a thousand', () => {
    const sizes = [1, 1000].map(
      (count) => encodePostings({ contexts: [{ passage: 0, count }], entries: [] }).length,
    );
    expect(sizes).toEqual([4, 5]);
  });
});

describe('encodeFile', () => {
  it('gives every term of the file, and its lengths', () => {
    const text = '# The tea\n\nGreen tea is IT.\n\nIs it black tea or green cups?';
    const indexed = indexText(text, 'food.md');
    const payloads = encodeText(indexed);
    const rows = new Set([LENGTHS_TERM, ...[...indexed.terms.keys()].map(rowTermOf)]);
    expect(new Set(payloads.keys())).toEqual(rows);
    for (const [term, postings] of indexed.terms) {
      const payload = payloads.get(rowTermOf(term)) ?? new Uint8Array();
      const all = { start: 0, end: payload.length };
      const found = term.startsWith('=') ? intact(findStop(payload, 0, payload.length, term)) : all;
      expect(decodePostings(payload, found?.start ?? 0, found?.end ?? 0)).toEqual(postings);
      const { entries, contexts } = postings;
      const places = countPlaces(payload, found?.start ?? 0, found?.end ?? 0);
      expect(places).toBe(entries.length + contexts.length);
    }
  });

  it('keeps the stop words of a file under one term, each to be found by itself', () => {
    const payloads = encodeText(indexText('It is what IT does.', 'a.md'));
    expect([...payloads.keys()].filter((term) => term.startsWith('='))).toEqual(['=']);
    const payload = payloads.get('=') ?? new Uint8Array();
    const find = (term: string) => findStop(payload, 0, payload.length, term);
    expect(['=it', '=IT', '=is', '=what', '=does'].map((term) => find(term) !== null)).toEqual(
      Array(5).fill(true),
    );
    expect(find('=the')).toBeNull();
    expect(find('=IS')).toBeNull();
  });

  it('keeps all payloads in one buffer', () => {
    const text = 'green tea and cups of tea\n\n'.repeat(200);
    const payloads = encodeText(indexText(text, 'a.md'));
    const bytes = [...payloads.values()].reduce((sum, { length }) => sum + length, 0);
    expect(new Set([...payloads.values()].map(({ buffer }) => buffer)).size).toBe(1);
    expect(payloads.get('tea')?.buffer.byteLength).toBe(bytes);
  });
});

describe('a damaged blob', () => {
  it('is told as such, or read as something else, but never throws or hangs', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (blob) => {
        decodePostings(blob);
        findStop(blob, 0, blob.length, '=the');
        countPlaces(blob, 0, blob.length);
        readOldFrames({ term: 'tea', bucket: 0, bytes: blob });
        unpackTerms(blob);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is found when it ends early', () => {
    const payload = encodePostings({ contexts: [], entries: [{ passage: 3, positions: [1, 5] }] });
    expect(decodePostings(payload, 0, payload.length - 1)).toBeNull();
    const [row] = toOldPostings(new Map([[3, new Map([['tea', payload]])]]));
    if (row === undefined) return expect.fail();
    expect(readOldFrames(row)).toMatchObject([{ file: 3 }]);
    expect(readOldFrames({ ...row, bytes: row.bytes.slice(0, -1) })).toBeNull();
  });
});
