import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fuse } from '../../../../core/search/rank/fuse.ts';
import type { Candidate } from '../../../../core/search/rank/rank.ts';

const of = (file: number, passage = 0, prominence = 1): Candidate & { prominence: number } => ({
  scope: 0,
  file,
  passage,
  score: 1,
  slot: file,
  prominence,
});
const byFile = ({ file }: Candidate) => String(file);
const order = (fused: ReturnType<typeof fuse>) =>
  [...fused].sort((a, b) => b.score - a.score).map(({ candidate }) => candidate.file);

describe('two rankings as one', () => {
  it('what both put high comes before what one puts first', () => {
    const fused = fuse([of(1), of(2)], [of(3), of(2)], { text: 1, vector: 1 }, byFile);
    expect(order(fused)[0]).toBe(2);
  });

  it('the weights say which of the two counts more', () => {
    const both = (text: number, vector: number) =>
      order(fuse([of(1), of(2)], [of(2), of(1)], { text, vector }, byFile));
    expect(both(1, 0.5)).toEqual([1, 2]);
    expect(both(0.5, 1)).toEqual([2, 1]);
  });

  it('a weight of 0 leaves a ranking out', () => {
    const fused = fuse([of(1)], [of(2)], { text: 1, vector: 0 }, byFile);
    expect(order(fused)).toEqual([1]);
  });

  it('says the place in each ranking, from 1', () => {
    const [one, two, three] = fuse([of(1), of(2)], [of(2), of(3)], { text: 1, vector: 1 }, byFile);
    expect(one).toMatchObject({ textRank: 1, vectorRank: null });
    expect(two).toMatchObject({ textRank: 2, vectorRank: 1 });
    expect(three).toMatchObject({ textRank: null, vectorRank: 2 });
  });

  it('shows a file with the passage that brought it up', () => {
    const text = [of(1), of(2), of(9, 4)];
    const [fused] = fuse(text, [of(9, 7)], { text: 1, vector: 1 }, byFile).filter(
      ({ candidate }) => candidate.file === 9,
    );
    expect(fused?.candidate.passage).toBe(7);
  });

  it('keeps the order of one ranking when the other is empty, or the same', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(50), { maxLength: 20 }), (files) => {
        const ranking = files.map((file) => of(file));
        const weights = { text: 1, vector: 0.5 };
        expect(order(fuse(ranking, [], weights, byFile))).toEqual(files);
        expect(order(fuse([], ranking, weights, byFile))).toEqual(files);
        expect(order(fuse(ranking, ranking, weights, byFile))).toEqual(files);
      }),
    );
  });

  it('vectors that stand out in nothing leave the first five of the words as they are', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(15), { minLength: 1, maxLength: 5 }),
        fc.uniqueArray(fc.nat(15), { maxLength: 15 }),
        (text, vector) => {
          const fused = fuse(
            text.map((file) => of(file)),
            vector.map((file) => of(file, 0, 0)),
            { text: 1, vector: 0.5 },
            byFile,
          );
          expect(order(fused).slice(0, text.length)).toEqual(text);
        },
      ),
    );
  });

  it('what stands out wholly comes up, whether the words found it or not', () => {
    const text = [1, 2, 3, 4, 5, 6, 7, 8].map((file) => of(file));
    const weights = { text: 1, vector: 0.5 };
    const place = (file: number, prominence: number) =>
      order(fuse(text, [of(file, 0, prominence)], weights, byFile)).indexOf(file) + 1;
    expect([place(9, 1), place(9, 0.5), place(9, 0)]).toEqual([5, 9, 9]);
    expect([place(8, 1), place(8, 0.5), place(8, 0)]).toEqual([2, 4, 7]);
  });

  it('a better place in either ranking never makes a result worse', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 }),
        fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 }),
        fc.integer({ min: 1, max: 7 }),
        (text, vector, place) => {
          const better = [...text];
          const [file] = better.splice(place, 1) as [number];
          better.splice(place - 1, 0, file);
          const rankOf = (files: number[]) =>
            order(
              fuse(
                files.map((n) => of(n)),
                vector.map((n) => of(n)),
                { text: 1, vector: 1 },
                byFile,
              ),
            ).indexOf(file);
          const scoreOf = (files: number[]) =>
            fuse(
              files.map((n) => of(n)),
              vector.map((n) => of(n)),
              { text: 1, vector: 1 },
              byFile,
            ).find(({ candidate }) => candidate.file === file)?.score ?? 0;
          expect(scoreOf(better)).toBeGreaterThan(scoreOf(text));
          expect(rankOf(better)).toBeLessThanOrEqual(rankOf(text));
        },
      ),
    );
  });
});
