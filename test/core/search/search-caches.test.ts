import { describe, expect, it } from 'vitest';
import { createPause } from '../../../core/time/pause.ts';
import type { IndexBlob } from '../../../core/contracts/storage.ts';
import { createSearchCaches, ReadText } from '../../../core/search/search-caches.ts';
import { ScopeLengths } from '../../../core/search/index/collection.ts';
import { LENGTHS_TERM, replaceFiles } from '../../../core/search/index/postings.ts';
import { encodeText, indexText } from '../../support/index-text.ts';

const row = (key: string, bytes: readonly number[], part = 0): IndexBlob => ({
  key,
  part,
  bytes: Uint8Array.from(bytes),
});

/** A row with the lengths of some files of one bucket, each of one passage of so many words. */
function lengthsOf(files: Readonly<Record<number, number>>, part = 0): IndexBlob {
  const changes = Object.entries(files).map(([file, words]) => {
    const payloads = encodeText(indexText('tea '.repeat(words), 'a.md'));
    return { file: Number(file), payload: payloads.get(LENGTHS_TERM) ?? expect.fail() };
  });
  return { key: LENGTHS_TERM, part, bytes: replaceFiles(null, changes) as Uint8Array };
}

function open(rows: Readonly<Record<string, readonly IndexBlob[]>>, generation = 7) {
  const { index } = createSearchCaches();
  const keep = (scope: 's' | 'u:alice', of: number, own: typeof rows) => {
    const lengthRows = [lengthsOf({ 1: 3, 2: 5 })];
    const lengths = ScopeLengths.from(lengthRows) ?? expect.fail();
    index.keep(scope, of, { lengths, rows: new Map(Object.entries(own)) });
  };
  keep('u:alice', generation, rows);
  return { index, keep };
}

describe('rows that are kept', () => {
  it('are those of one generation of a scope, and of no other scope', () => {
    const [tea, cup] = [row('tea', [1]), row('cup', [2])];
    const { index, keep } = open({ tea: [tea] });
    expect(index.recall('s', ['tea'])).toBeNull();
    keep('u:alice', 8, { cup: [cup] });
    const known = index.recall('u:alice', ['tea', 'cup', 'none']);
    expect(known?.generation).toBe(8);
    expect([...(known?.rows ?? [])]).toEqual([['cup', [cup]]]);
    // The lengths are known with them.
    expect(known?.keys).toEqual(['', 'cup']);
    expect(index.recall('u:alic', ['e tea'])).toBeNull();
  });

  it('know of a term that has none, so that it is not asked for again', () => {
    const { index } = open({ none: [] });
    expect(index.recall('u:alice', ['none'])?.keys).toEqual(['', 'none']);
  });

  it('are copies, so that no more of what a driver has received stays', () => {
    const received = new Uint8Array(64 * 1024);
    const part = { key: 'tea', part: 0, bytes: received.subarray(9, 12) };
    const { index } = open({ tea: [part] });
    const [kept] = index.recall('u:alice', ['tea'])?.rows.get('tea') ?? [];
    expect(kept?.bytes.buffer.byteLength).toBe(3);
  });

  it('follow an update: it replaces the rows that it changed, and the others stay', () => {
    const rows = { tea: [row('tea', [1]), row('tea', [2], 1)], cup: [row('cup', [3])] };
    const { index } = open({ ...rows, none: [] });
    index.follow('u:alice', {
      generation: { before: 7, after: 8 },
      files: [2, 3],
      blobs: [
        row('tea', [4], 1),
        row('none', [5]),
        row('unknown', [6]),
        { key: 'cup', part: 0, bytes: null },
        lengthsOf({ 1: 3, 3: 9 }),
      ],
    });
    const known = index.recall('u:alice', ['tea', 'cup', 'none', 'unknown']);
    expect(known?.generation).toBe(8);
    expect(Object.fromEntries(known?.rows ?? [])).toEqual({
      tea: [row('tea', [1]), row('tea', [4], 1)],
      cup: [],
      none: [row('none', [5])],
    });
    expect(known?.lengths.files).toEqual([1, 3]);
    expect([...(known?.lengths.table.fileLengths ?? [])]).toEqual([3, 9]);
  });

  it('keep the lengths of the rows that an update leaves', () => {
    const rows = [lengthsOf({ 1: 3, 2: 5 }), lengthsOf({ 64: 7 }, 1), lengthsOf({ 130: 2 }, 2)];
    const { index } = createSearchCaches();
    const lengths = ScopeLengths.from(rows) ?? expect.fail();
    index.keep('s', 7, { lengths, rows: new Map() });
    const changed = lengthsOf({ 65: 4, 70: 1 }, 1);
    for (const [before, blobs] of [[changed], [lengthsOf({ 2: 9 })], [changed]].entries()) {
      const generation = { before: 7 + before, after: 8 + before };
      index.follow('s', { generation, files: [], blobs });
    }
    const known = index.recall('s', [])?.lengths ?? expect.fail();
    const anew = ScopeLengths.from(known.rows.map((one) => ({ ...one }))) ?? expect.fail();
    expect(known.files).toEqual([130, 2, 65, 70]);
    expect(known.files).toEqual(anew.files);
    expect(known.table).toEqual(anew.table);
    expect(known.files.map((file) => known.numberOf(file))).toEqual([0, 1, 2, 3]);
    expect([1, 64].map((file) => known.numberOf(file))).toEqual([-1, -1]);
  });

  it('do not follow an update of another generation', () => {
    const { index } = open({ tea: [row('tea', [1])] });
    const blobs = [row('tea', [2])];
    index.follow('u:alice', { generation: { before: 8, after: 9 }, files: [], blobs });
    expect(index.recall('u:alice', ['tea'])?.generation).toBe(7);
    expect(index.recall('u:alice', ['tea'])?.rows.get('tea')).toEqual([row('tea', [1])]);
  });

  it('are not replaced by those of a snapshot from before an update', () => {
    const { index, keep } = open({ tea: [row('tea', [1])] });
    index.follow('u:alice', { generation: { before: 7, after: 8 }, files: [], blobs: [] });
    keep('u:alice', 7, { cup: [row('cup', [2])] });
    expect(index.recall('u:alice', ['tea', 'cup'])?.keys).toEqual(['', 'tea']);
    // Those of a later one are: another process has updated the index.
    keep('u:alice', 9, { cup: [row('cup', [2])] });
    expect(index.recall('u:alice', ['tea', 'cup'])?.keys).toEqual(['', 'cup']);
  });
});

describe('texts that are kept', () => {
  const text = new ReadText({
    scope: 'u:alice',
    fileNo: 1,
    path: 'a.md',
    version: 3,
    updatedAt: 0,
    hash: '',
    latestRevisionId: '',
    indexedVersion: 3,
    content: '# Tea\n\nGreen.\n\nBlack.\n',
  });
  const state = { generation: 7, format: 1, files: 2, version: 9 };
  const key = { scope: 'u:alice', fileNo: 1 } as const;
  const stale = { fileNo: 1, path: 'a.md', hash: '', isDeleted: false };

  it('are given until their own file is written', () => {
    const { index } = open({});
    index.keepText(text, state);
    expect(index.recallText(key, { ...state, version: 10 }, null)).toBe(text);
    expect(index.recallText(key, state, { ...stale, version: 4 })).toBeNull();
    // Marked again without a write: the index was dropped.
    expect(index.recallText(key, state, { ...stale, version: 3 })).toBe(text);
    expect(index.recallText({ ...key, fileNo: 2 }, state, null)).toBeNull();
    expect(index.recallText({ ...key, scope: 's' }, state, null)).toBeNull();
  });

  it('are given after an update of other files, and not after one of their own', () => {
    const { index } = open({});
    index.keepText(text, state);
    index.follow('u:alice', { generation: { before: 7, after: 8 }, files: [2], blobs: [] });
    expect(index.recallText(key, state, null)).toBeNull();
    expect(index.recallText(key, { ...state, generation: 8 }, null)).toBe(text);
    index.follow('u:alice', { generation: { before: 8, after: 9 }, files: [1], blobs: [] });
    expect(index.recallText(key, { ...state, generation: 9 }, null)).toBeNull();
  });

  it('are not given for a generation that this process did not make', () => {
    const { index, keep } = open({});
    index.keepText(text, state);
    keep('u:alice', 8, {});
    expect(index.recallText(key, { ...state, generation: 8 }, null)).toBeNull();
    // This state is from before the update.
    index.keepText(text, state);
    expect(index.recallText(key, state, null)).toBeNull();
  });

  it('are divided into passages once', async () => {
    const passages = await text.readPassages(createPause());
    expect(passages.map(({ startLine }) => startLine)).toEqual([3, 5]);
    expect(await text.readPassages(createPause())).toBe(passages);
  });
});
