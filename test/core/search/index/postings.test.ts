import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../core/errors.ts';
import {
  indexFile,
  MAX_FREQUENCY,
  MAX_POSITION,
  type FilePostings,
} from '../../../../core/search/index/index-file.ts';
import {
  bucketOf,
  countPlaces,
  encodeFile,
  encodePostings,
  FILES_PER_BUCKET,
  findStop,
  LENGTHS_TERM,
  readFrames,
  rowTermOf,
  replaceFiles,
  weighPayloads,
} from '../../../../core/search/index/postings.ts';
import { decodePostings } from '../../../../core/search/index/postings-list.ts';

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

describe('encodePostings', () => {
  it('gives back what was encoded', () => {
    fc.assert(
      fc.property(postings, (given) => {
        const payload = encodePostings(given);
        expect(decodePostings(payload, 0, payload.length)).toEqual(given);
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
          const next = replaceFiles(blob, [{ file, payload: bytes }]);
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
        const frames = readFrames(held, bucket);
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
          toChanges(list).reduce((blob, change) => replaceFiles(blob, [change]), start);
        const blob = oneByOne(null, before);
        const ascending = toChanges(together).sort((left, right) => left.file - right.file);
        expect(replaceFiles(blob, ascending)).toEqual(oneByOne(blob, together));
      }),
    );
  });

  it('refuses a file that is there or not against what is known of it', () => {
    const blob = replaceFiles(null, [
      { file: 3, payload: Uint8Array.of(1), isKnown: false },
      { file: 5, payload: Uint8Array.of(2), isKnown: false },
    ]);
    const change = { payload: Uint8Array.of(9) };
    const known = [
      { ...change, file: 3, isKnown: true },
      { ...change, file: 4, isKnown: false },
    ];
    expect(readFrames(replaceFiles(blob, known) ?? new Uint8Array(), 0)).toHaveLength(3);
    for (const [file, isKnown] of [
      [3, false],
      [4, true],
      [6, true],
    ] as const) {
      expect(() => replaceFiles(blob, [{ ...change, file, isKnown }])).toThrow(MemoryError);
    }
  });

  it('gives the same bytes whatever the order of the changes', () => {
    const bytes = (file: number) => Uint8Array.of(file, 1, 2);
    const build = (order: readonly number[]) =>
      order.reduce<Uint8Array | null>(
        (blob, file) => replaceFiles(blob, [{ file, payload: bytes(file) }]),
        null,
      );
    expect(build([5, 1, 63, 0])).toEqual(build([0, 1, 5, 63]));
  });
});

describe('encodeFile', () => {
  it('gives every term of the file, and its lengths', () => {
    const text = '# The tea\n\nGreen tea is IT.\n\nIs it black tea or green cups?';
    const indexed = indexFile(text, 'food.md');
    const payloads = encodeFile(indexed);
    const rows = new Set([LENGTHS_TERM, ...[...indexed.terms.keys()].map(rowTermOf)]);
    expect(new Set(payloads.keys())).toEqual(rows);
    for (const [term, postings] of indexed.terms) {
      const payload = payloads.get(rowTermOf(term)) ?? new Uint8Array();
      const all = { start: 0, end: payload.length };
      const found = term.startsWith('=') ? findStop(payload, 0, payload.length, term) : all;
      expect(decodePostings(payload, found?.start ?? 0, found?.end ?? 0)).toEqual(postings);
      const { entries, contexts } = postings;
      const places = countPlaces(payload, found?.start ?? 0, found?.end ?? 0);
      expect(places).toBe(entries.length + contexts.length);
    }
  });

  it('keeps the stop words of a file under one term, each to be found by itself', () => {
    const payloads = encodeFile(indexFile('It is what IT does.', 'a.md'));
    expect([...payloads.keys()].filter((term) => term.startsWith('='))).toEqual(['=']);
    const payload = payloads.get('=') ?? new Uint8Array();
    const find = (term: string) => findStop(payload, 0, payload.length, term);
    expect(['=it', '=IT', '=is', '=what', '=does'].map((term) => find(term) !== null)).toEqual(
      Array(5).fill(true),
    );
    expect(find('=the')).toBeNull();
    expect(find('=IS')).toBeNull();
  });

  it('keeps all payloads in one buffer, and says what they weigh', () => {
    const text = 'green tea and cups of tea\n\n'.repeat(200);
    const payloads = encodeFile(indexFile(text, 'a.md'));
    const bytes = [...payloads.values()].reduce((sum, { length }) => sum + length, 0);
    expect(new Set([...payloads.values()].map(({ buffer }) => buffer)).size).toBe(1);
    expect(payloads.get('tea')?.buffer.byteLength).toBe(bytes);
    expect(weighPayloads(payloads)).toBeGreaterThan(bytes);
  });
});

describe('a damaged blob', () => {
  it('is told as such, or read as something else, but never throws another error or hangs', () => {
    const attempt = (run: () => unknown): void => {
      try {
        run();
      } catch (error) {
        expect(error).toBeInstanceOf(MemoryError);
        expect((error as MemoryError).details).toEqual({ reason: 'index_damaged' });
      }
    };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (blob) => {
        attempt(() => decodePostings(blob, 0, blob.length));
        attempt(() => findStop(blob, 0, blob.length, '=the'));
        attempt(() => countPlaces(blob, 0, blob.length));
        attempt(() => readFrames(blob, 0));
        attempt(() => replaceFiles(blob, [{ file: 3, payload: Uint8Array.of(1) }]));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is found when it ends early', () => {
    const payload = encodePostings({ contexts: [], entries: [{ passage: 3, positions: [1, 5] }] });
    expect(() => decodePostings(payload, 0, payload.length - 1)).toThrow(MemoryError);
    const blob = replaceFiles(null, [{ file: 3, payload }]);
    expect(() => readFrames((blob ?? payload).slice(0, -1), 0)).toThrow(MemoryError);
  });
});
