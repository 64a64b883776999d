import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_FREQUENCY,
  MAX_POSITION,
  type FilePostings,
} from '../../../../core/search/index/index-file.ts';
import {
  bucketOf,
  countPlaces,
  encodePostings,
  FILES_PER_BUCKET,
  findStop,
  LENGTHS_TERM,
  readFrames,
  rowTermOf,
  replaceFiles,
} from '../../../../core/search/index/postings.ts';
import { PostingsList } from '../../../../core/search/index/postings-list.ts';
import { encodeText, indexText } from '../../../support/index-text.ts';

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

describe('replaceFiles', () => {
  const payload = fc.uint8Array({ minLength: 1, maxLength: 300 });
  const steps = fc.array(
    fc.tuple(fc.integer({ min: 0, max: FILES_PER_BUCKET - 1 }), fc.option(payload)),
    { maxLength: 60 },
  );

  it('holds after any changes what the last change of each file said', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 1_000 }), (changes, bucket) => {
        const expected = new Map<number, number[]>();
        let blob: Uint8Array | null = null;
        for (const [place, bytes] of changes) {
          const file = bucket * FILES_PER_BUCKET + place;
          const before: number[] | null = blob === null ? null : [...blob];
          const next: Uint8Array | null = intact(replaceFiles(blob, [{ file, payload: bytes }]));
          // What was given stays as it is: it may be a row of the database's cache.
          expect(blob === null ? null : [...blob]).toEqual(before);
          blob = next;
          if (bytes === null) expected.delete(file);
          else expected.set(file, [...bytes]);
        }
        if (blob === null) {
          expect(expected.size).toBe(0);
          return;
        }
        const held = blob;
        const frames = readFrames(held, bucket) ?? expect.fail();
        expect(frames.map(({ file }) => file)).toEqual(
          [...expected.keys()].sort((left, right) => left - right),
        );
        for (const { file, start, end } of frames) {
          expect(bucketOf(file)).toBe(bucket);
          expect([...held.subarray(start, end)]).toEqual(expected.get(file));
        }
      }),
    );
  });

  it('gives the same bytes for many files at once as for one after the other', () => {
    const place = fc.integer({ min: 0, max: FILES_PER_BUCKET - 1 });
    const once = fc.uniqueArray(fc.tuple(place, fc.option(payload)), { selector: ([at]) => at });
    fc.assert(
      fc.property(steps, once, (before, together) => {
        const toChanges = (list: typeof before) =>
          list.map(([file, bytes]) => ({ file, payload: bytes }));
        const oneByOne = (start: Uint8Array | null, list: typeof before) =>
          toChanges(list).reduce((blob, change) => intact(replaceFiles(blob, [change])), start);
        const blob = oneByOne(null, before);
        const ascending = toChanges(together).sort((left, right) => left.file - right.file);
        expect(replaceFiles(blob, ascending)).toEqual(oneByOne(blob, together));
      }),
    );
  });

  it('refuses a file that is there or not against what is known of it', () => {
    const blob = intact(
      replaceFiles(null, [
        { file: 3, payload: Uint8Array.of(1), isKnown: false },
        { file: 5, payload: Uint8Array.of(2), isKnown: false },
      ]),
    );
    const change = { payload: Uint8Array.of(9) };
    const known = [
      { ...change, file: 3, isKnown: true },
      { ...change, file: 4, isKnown: false },
    ];
    expect(readFrames(intact(replaceFiles(blob, known)) ?? new Uint8Array(), 0)).toHaveLength(3);
    for (const [file, isKnown] of [
      [3, false],
      [4, true],
      [6, true],
    ] as const) {
      expect(replaceFiles(blob, [{ ...change, file, isKnown }])).toBe('damaged');
    }
  });

  it('gives the same bytes whatever the order of the changes', () => {
    const bytes = (file: number) => Uint8Array.of(file, 1, 2);
    const build = (order: readonly number[]) =>
      order.reduce<Uint8Array | null>(
        (blob, file) => intact(replaceFiles(blob, [{ file, payload: bytes(file) }])),
        null,
      );
    expect(build([5, 1, 63, 0])).toEqual(build([0, 1, 5, 63]));
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
        readFrames(blob, 0);
        replaceFiles(blob, [{ file: 3, payload: Uint8Array.of(1) }]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is found when it ends early', () => {
    const payload = encodePostings({ contexts: [], entries: [{ passage: 3, positions: [1, 5] }] });
    expect(decodePostings(payload, 0, payload.length - 1)).toBeNull();
    const blob = intact(replaceFiles(null, [{ file: 3, payload }]));
    expect(readFrames((blob ?? payload).slice(0, -1), 0)).toBeNull();
  });
});
