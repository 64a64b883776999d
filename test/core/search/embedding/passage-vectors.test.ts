import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ScopeVectors } from '../../../../core/contracts/vectors.ts';
import { normalise, PassageVectors } from '../../../../core/search/embedding/passage-vectors.ts';

const hash = (n: number) => n.toString(16).padStart(32, '0');
const toHashes = (texts: readonly number[]) =>
  Uint8Array.from(Buffer.from(texts.map(hash).join(''), 'hex'));
/** A direction of its own for each text. */
const vectorOf = (text: number, dimensions: number) =>
  normalise(Float32Array.from({ length: dimensions }, (_, at) => Math.sin(text * 7 + at * 3 + 1)));

const read = (changes: Partial<ScopeVectors>): ScopeVectors => ({
  vectorGeneration: 1,
  isWhole: { lists: false, vectors: false },
  lists: [],
  vectors: [],
  ...changes,
});

function cosines(vectors: PassageVectors, fileNo: number, query: Float32Array): number[] {
  const rows = vectors.rowsOf(fileNo) ?? new Int32Array();
  const found = new Float64Array(rows.length).fill(NaN);
  vectors.compareAll(rows, query, found, 0);
  return [...found];
}

describe('a vector of length 1', () => {
  it('points where the first one did', () => {
    const coordinate = fc.float({ noNaN: true, min: -1e3, max: 1e3 });
    fc.assert(
      fc.property(fc.array(coordinate, { minLength: 1, maxLength: 20 }), (numbers) => {
        const given = Float32Array.from(numbers);
        const made = normalise(given);
        const length = Math.hypot(...given);
        if (made === null) return void expect(length).toBeLessThan(1e-20);
        expect(Math.hypot(...made)).toBeCloseTo(1, 4);
        given.forEach((value, at) => expect(made[at]).toBeCloseTo(value / length, 4));
      }),
    );
  });

  it.each([[[]], [[0, 0]], [[NaN, 1]], [[Infinity, 1]], [[1, -Infinity]]])(
    'is not to be had of %o',
    (numbers: number[]) => expect(normalise(Float32Array.from(numbers))).toBeNull(),
  );
});

describe('the vectors of a scope', () => {
  it('compare a text in parts by the part that fits best', async () => {
    const known = { dimensions: 2, indexGeneration: 1 };
    const [right, up, left] = [
      [1, 0],
      [0, 1],
      [-1, 0],
    ];
    const vectors = await PassageVectors.from(
      read({
        isWhole: { lists: true, vectors: true },
        lists: [{ fileNo: 1, hashes: toHashes([1, 2, 3]) }],
        vectors: [
          { textHash: hash(1), vector: Float32Array.from([left, right, up].flat() as number[]) },
          { textHash: hash(2), vector: Float32Array.from(left as number[]) },
          // Half a vector more: it is damaged.
          { textHash: hash(3), vector: Float32Array.from([1, 0, 1]) },
        ],
      }),
      null,
      known,
    );
    expect(cosines(vectors, 1, Float32Array.from([1, 0]))).toEqual([1, -1, NaN]);
    // Embedded again, in one part.
    const next = await PassageVectors.from(
      read({
        vectorGeneration: 2,
        vectors: [{ textHash: hash(1), vector: Float32Array.from([0, 1]) }],
      }),
      vectors,
      known,
    );
    expect(cosines(next, 1, Float32Array.from([1, 0]))).toEqual([0, -1, NaN]);
  });

  it('are the cosines of the passages, whatever their order of arrival and their length', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 33 }),
        fc.array(fc.nat(30), { minLength: 1, maxLength: 20 }),
        fc.nat(30),
        async (dimensions, texts, asked) => {
          const known = { dimensions, indexGeneration: 1 };
          const query = vectorOf(asked, dimensions);
          fc.pre(query !== null);
          const vectors = await PassageVectors.from(
            read({
              isWhole: { lists: true, vectors: true },
              lists: [{ fileNo: 1, hashes: toHashes(texts) }],
              vectors: [...new Set(texts)].reverse().flatMap((text) => {
                const vector = vectorOf(text, dimensions);
                return vector === null ? [] : [{ textHash: hash(text), vector }];
              }),
            }),
            null,
            known,
          );
          cosines(vectors, 1, query).forEach((cosine, place) => {
            const own = vectorOf(texts[place] as number, dimensions);
            if (own === null) return;
            const expected = own.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0);
            expect(cosine).toBeCloseTo(expected, 5);
          });
        },
      ),
    );
  });

  it('take what is new, and leave to an earlier snapshot what it had', async () => {
    const known = { dimensions: 4, indexGeneration: 1 };
    const query = vectorOf(1, 4) as Float32Array;
    const first = await PassageVectors.from(
      read({
        isWhole: { lists: true, vectors: true },
        lists: [{ fileNo: 1, hashes: toHashes([1, 2]) }],
        vectors: [{ textHash: hash(1), vector: vectorOf(1, 4) as Float32Array }],
      }),
      null,
      known,
    );
    expect(cosines(first, 1, query)).toEqual([expect.closeTo(1, 5), NaN]);
    const second = await PassageVectors.from(
      read({
        vectorGeneration: 2,
        lists: [{ fileNo: 1, hashes: toHashes([3, 1]) }],
        vectors: [{ textHash: hash(3), vector: vectorOf(3, 4) as Float32Array }],
      }),
      first,
      { dimensions: 4, indexGeneration: 2 },
    );
    expect(cosines(second, 1, query)).toEqual([expect.any(Number), expect.closeTo(1, 5)]);
    expect(cosines(first, 1, query)).toEqual([expect.closeTo(1, 5), NaN]);
    expect(second.known).toEqual({ indexGeneration: 2, vectorGeneration: 2 });
  });

  it('take little more memory when a passage comes to many, so that the cache has room for them', async () => {
    const known = { dimensions: 32, indexGeneration: 1 };
    const toRead = (texts: readonly number[], more: Partial<ScopeVectors> = {}) =>
      read({
        lists: texts.map((text) => ({ fileNo: text, hashes: toHashes([text]) })),
        vectors: texts.map((text) => ({
          textHash: hash(text),
          vector: vectorOf(text, 32) as Float32Array,
        })),
        ...more,
      });
    const many = toRead(Array.from({ length: 1_000 }, (_, text) => text));
    const isWhole = { lists: true, vectors: true };
    const first = await PassageVectors.from({ ...many, isWhole }, null, known);
    const before = first.bytes;
    const second = await PassageVectors.from(toRead([1_000], { vectorGeneration: 2 }), first, {
      ...known,
      indexGeneration: 2,
    });
    expect(second.bytes).toBeLessThan(1.2 * before);
    const query = vectorOf(1_000, 32) as Float32Array;
    expect(cosines(second, 1_000, query)).toEqual([expect.closeTo(1, 5)]);
  });

  it('are the same ones when nothing changed', async () => {
    const known = { dimensions: 4, indexGeneration: 1 };
    const first = await PassageVectors.from(
      read({ isWhole: { lists: true, vectors: true } }),
      null,
      known,
    );
    expect(await PassageVectors.from(read({}), first, known)).toBe(first);
  });

  it('survive a look at all vectors anew, with lists from before', async () => {
    const known = { dimensions: 4, indexGeneration: 1 };
    const query = vectorOf(2, 4) as Float32Array;
    const vectors = [1, 2].map((text) => ({
      textHash: hash(text),
      vector: vectorOf(text, 4) as Float32Array,
    }));
    const lists = [{ fileNo: 1, hashes: toHashes([1, 2]) }];
    const first = await PassageVectors.from(
      read({ isWhole: { lists: true, vectors: true }, lists, vectors }),
      null,
      known,
    );
    const again = await PassageVectors.from(
      read({ isWhole: { lists: false, vectors: true }, vectors: [...vectors].reverse() }),
      first,
      known,
    );
    expect(cosines(again, 1, query)).toEqual(cosines(first, 1, query));
  });

  it('leave out a vector of another length, and one that holds what is no number', async () => {
    const vectors = await PassageVectors.from(
      read({
        isWhole: { lists: true, vectors: true },
        lists: [{ fileNo: 1, hashes: toHashes([1, 2, 3]) }],
        vectors: [
          { textHash: hash(1), vector: new Float32Array(3).fill(1) },
          { textHash: hash(2), vector: new Float32Array(4).fill(NaN) },
          { textHash: hash(3), vector: vectorOf(3, 4) as Float32Array },
        ],
      }),
      null,
      { dimensions: 4, indexGeneration: 1 },
    );
    const found = cosines(vectors, 1, vectorOf(3, 4) as Float32Array);
    expect(found).toEqual([NaN, NaN, expect.closeTo(1, 5)]);
  });
});
