import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Block, readPlaces, unpack } from '../../../../core/search/index/block.ts';
import { mergeSegments } from '../../../../core/search/index/merge-segments.ts';
import { LENGTHS_TERM } from '../../../../core/search/index/postings.ts';
import {
  packSegment,
  Segment,
  type SegmentFile,
  weighSegment,
} from '../../../../core/search/index/segment.ts';
import { atOnce } from '../../../../core/time/pause.ts';
import { encodeText, indexText } from '../../../support/index-text.ts';
import {
  readBlock,
  readPostings,
  toSegment,
  type WholeSegment,
} from '../../../support/segments.ts';

const term = fc.oneof(
  fc.constantFrom('tea', 'te', 'tea ', 'Tea', '=', '猫', '😀', '\uffff', 'é', 'z'),
  fc.string({ minLength: 1, maxLength: 6 }),
);
const payload = fc.uint8Array({ minLength: 1, maxLength: 40 });
/** As the lengths of a file are: some varints. */
const lengths = fc.uint8Array({ minLength: 1, maxLength: 9, max: 127 });
const payloads = fc
  .tuple(lengths, fc.array(fc.tuple(term, payload), { maxLength: 12 }))
  .map(([own, others]) => new Map([...others, [LENGTHS_TERM, own] as const]));
const files = fc.uniqueArray(
  fc.record({
    fileNo: fc.integer({ min: 0, max: 5_000 }),
    version: fc.integer({ min: 1, max: 9 }),
    payloads: fc.option(payloads),
  }),
  { maxLength: 12, selector: ({ fileNo }) => fileNo },
);

/** Well-formed terms only: a lone surrogate has no UTF-8. */
const wellFormed = files.map((own) =>
  own.map((file) => ({
    ...file,
    payloads:
      file.payloads &&
      new Map([...file.payloads].map(([key, bytes]) => [key.toWellFormed(), bytes] as const)),
  })),
);

/** Each payload of files that exist, by file and term, in hex: the newest version's. */
function expected(all: readonly SegmentFile[]): Map<string, string> {
  const newest = new Map<number, SegmentFile>();
  for (const file of all) {
    if ((newest.get(file.fileNo)?.version ?? -1) <= file.version) newest.set(file.fileNo, file);
  }
  const found = new Map<string, string>();
  for (const { fileNo, payloads: own } of newest.values()) {
    for (const [key, bytes] of own ?? []) {
      found.set(`${fileNo} ${key}`, Buffer.from(bytes).toString('hex'));
    }
  }
  return found;
}

/** Finds a term through the list of blocks, as a search does. */
function findFiles({ segment, blocks }: WholeSegment, wanted: string): number[] {
  const key = Buffer.from(wanted);
  const { first, after } = segment.blocksWith(key);
  const found: number[] = [];
  for (let block = first; block < after; block += 1) {
    const own = segment.inline ?? readBlock(blocks[block] as Uint8Array) ?? expect.fail();
    for (const frames of own.framesOf(key)) {
      const read = readPlaces(frames, (place) => segment.files[place] ?? -1) ?? expect.fail();
      found.push(...read.map(({ file }) => file));
    }
  }
  return found;
}

describe('packSegment', () => {
  it('keeps each payload of each file, and tells which were deleted', () => {
    fc.assert(
      fc.property(wellFormed, (own) => {
        const whole = toSegment(7, own);
        const { segment } = whole;
        expect(readPostings([whole])).toEqual(expected(own));
        const sorted = [...own].sort((left, right) => left.fileNo - right.fileNo);
        expect([...segment.files]).toEqual(sorted.map(({ fileNo }) => fileNo));
        expect([...segment.versions]).toEqual(sorted.map(({ version }) => version));
        expect(sorted.map((_, place) => segment.isDeleted(place))).toEqual(
          sorted.map((file) => file.payloads === null),
        );
        for (const wanted of ['tea', 'te', '=', '猫', '😀', 'none']) {
          expect(findFiles(whole, wanted)).toEqual(
            sorted.flatMap((file) => (file.payloads?.has(wanted) === true ? [file.fileNo] : [])),
          );
        }
      }),
    );
  });

  it('finds terms across many blocks, also one with more postings than fit into one', () => {
    const many = Array.from({ length: 600 }, (_, fileNo) => ({
      fileNo: fileNo * 3,
      version: 1,
      payloads: new Map([
        [LENGTHS_TERM, Uint8Array.of(1, 2)],
        ['common', new Uint8Array(100).fill(fileNo % 250)],
        [`word${fileNo}`, Uint8Array.of(fileNo % 250)],
      ]),
    }));
    const whole = toSegment(1, many);
    expect(whole.blocks.length).toBeGreaterThan(3);
    expect(findFiles(whole, 'common')).toEqual(many.map(({ fileNo }) => fileNo));
    for (const at of [0, 1, 99, 599]) expect(findFiles(whole, `word${at}`)).toEqual([at * 3]);
    expect(findFiles(whole, 'wor')).toEqual([]);
    expect(findFiles(whole, 'zzz')).toEqual([]);
    expect(findFiles(whole, '')).toEqual([]);
  });

  it.each([
    ['of one word', ['tea']],
    ['that are empty', ['', '']],
    ['of 256 KB', ['green tea and cups\n'.repeat(13_797)]],
    ['of 5,000 words of their own', [Array.from({ length: 5_000 }, (_, n) => `w${n}x`).join(' ')]],
  ])('takes files %s, with rows of at most 256 KB', (_, texts) => {
    const own = texts.map((text, fileNo) => ({
      fileNo,
      version: 1,
      payloads: encodeText(indexText(text, 'a.md')),
    }));
    const packed = atOnce(packSegment(own));
    for (const row of [packed.head, ...packed.blocks]) {
      expect(row.length).toBeLessThanOrEqual(256 * 1024);
    }
    expect(readPostings([toSegment(1, own)])).toEqual(expected(own));
  });

  it('takes less than the text that it is made of', () => {
    const words = 'the kettle was warm and she poured another cup of tea for her old friend'.split(
      ' ',
    );
    const text = (n: number) =>
      Array.from({ length: 400 }, (_, at) => words[(at * (n + 3) + n) % words.length]).join(' ');
    const own = Array.from({ length: 50 }, (_, n) => ({
      fileNo: n,
      version: 1,
      payloads: encodeText(indexText(text(n), `${n}.md`)),
    }));
    const bytes = own.reduce((sum, _, n) => sum + text(n).length, 0);
    expect(weighSegment(atOnce(packSegment(own)))).toBeLessThan(0.8 * bytes);
  });
});

describe('mergeSegments', () => {
  it('keeps the newest version of each file, whatever the order of the segments', () => {
    fc.assert(
      fc.property(fc.array(wellFormed, { maxLength: 5 }), fc.boolean(), (batches, isWhole) => {
        // One text for each version of a file.
        const texts = new Map<string, SegmentFile>();
        const own = batches.map((batch) =>
          batch.map((file) => {
            const small = { ...file, fileNo: file.fileNo % 6 };
            const key = `${small.fileNo} ${small.version}`;
            const known = texts.get(key) ?? small;
            texts.set(key, known);
            return known;
          }),
        );
        const unique = own.map((batch) => [
          ...new Map(batch.map((file) => [file.fileNo, file])).values(),
        ]);
        const inputs = unique.map((batch, at) => toSegment(at + 1, batch));
        const all = expected(unique.flat());
        expect(readPostings(inputs)).toEqual(all);
        const merged = atOnce(mergeSegments([...inputs].reverse(), { isWhole }));
        if (merged === null || merged === 'damaged') {
          expect([merged, all.size]).toEqual([null, 0]);
          return;
        }
        const segment = Segment.read(99, merged.head) ?? expect.fail();
        expect(readPostings([{ segment, blocks: merged.blocks }])).toEqual(all);
        expect(new Set(segment.files).size).toBe(segment.files.length);
        const deleted = [...segment.files.keys()].filter((place) => segment.isDeleted(place));
        if (isWhole) expect(deleted).toEqual([]);
        // Merged again with an older version, it says the same.
        expect(readPostings([...inputs, { segment, blocks: merged.blocks }])).toEqual(all);
      }),
    );
  });

  it('leaves out the copies that do not count', () => {
    const own = [1, 2, 3].map((fileNo) => ({
      fileNo,
      version: 1,
      payloads: encodeText(indexText(`tea secret${fileNo}`, 'a.md')),
    }));
    const input = toSegment(1, own);
    const merged = atOnce(
      mergeSegments([{ ...input, takes: (place) => place !== 1 }], { isWhole: false }),
    );
    if (merged === null || merged === 'damaged') return expect.fail();
    const segment = Segment.read(2, merged.head) ?? expect.fail();
    const found = readPostings([{ segment, blocks: merged.blocks }]) ?? expect.fail();
    expect([...found.keys()].filter((key) => /secret\d/.test(key))).toEqual([
      '1 secret1',
      '3 secret3',
    ]);
    expect([...segment.files]).toEqual([1, 3]);
  });
});

describe('a damaged segment', () => {
  const own = [{ fileNo: 1, version: 1, payloads: encodeText(indexText('green tea', 'a.md')) }];
  const { head } = atOnce(packSegment(own));

  it('is told as such, whichever bit of it changes', () => {
    for (let at = 0; at < head.length; at += 1) {
      for (const bit of [1, 128]) {
        const spoilt = Uint8Array.from(head);
        spoilt[at] = (spoilt[at] ?? 0) ^ bit;
        expect(Segment.read(1, spoilt)).toBeNull();
      }
      expect(Segment.read(1, head.slice(0, at))).toBeNull();
    }
  });

  it('never throws or hangs', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        unpack(bytes);
        Segment.read(1, bytes);
        Block.read(bytes)?.framesOf(Buffer.from('tea'));
        readPlaces(bytes, (place) => place);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is not merged', () => {
    const { segment } = toSegment(1, own);
    const many = toSegment(2, [
      {
        fileNo: 5,
        version: 1,
        payloads: new Map(
          Array.from({ length: 9_000 }, (_, n): [string, Uint8Array] => [
            `w${n}`,
            Uint8Array.of(n % 250),
          ]),
        ).set(LENGTHS_TERM, Uint8Array.of(1)),
      },
    ]);
    const missing = { ...many, blocks: many.blocks.slice(1) };
    const spoilt = { ...many, blocks: many.blocks.map((block) => block.slice(0, -1)) };
    for (const input of [missing, spoilt]) {
      const inputs = [{ segment, blocks: [] }, input];
      expect(atOnce(mergeSegments(inputs, { isWhole: true }))).toBe('damaged');
    }
  });
});
