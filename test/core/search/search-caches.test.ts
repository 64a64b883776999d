import { describe, expect, it } from 'vitest';
import type { IndexBlob } from '../../../core/contracts/storage.ts';
import { createSearchCaches, ReadText } from '../../../core/search/search-caches.ts';
import { ScopeLengths } from '../../../core/search/index/collection.ts';

const lengths = () => ScopeLengths.from([]) ?? expect.fail();
const row = (key: string, bytes: readonly number[]): IndexBlob => ({
  key,
  part: 0,
  bytes: Uint8Array.from(bytes),
});

describe('rows that are kept', () => {
  it('are those of one generation of a scope, and of no other scope', () => {
    const { index } = createSearchCaches();
    expect(index.recall('u:alice', ['tea'])).toBeNull();
    const [tea, cup] = [row('tea', [1]), row('cup', [2])];
    index.keep('u:alice', 7, { lengths: lengths(), rows: new Map([['tea', [tea]]]) });
    index.keep('u:alice', 8, { lengths: lengths(), rows: new Map([['cup', [cup]]]) });
    const known = index.recall('u:alice', ['tea', 'cup', 'none']);
    expect(known?.generation).toBe(8);
    expect([...(known?.rows ?? [])]).toEqual([['cup', [cup]]]);
    // The lengths are known with them.
    expect(known?.keys).toEqual(['', 'cup']);
    expect(index.recall('u:alic', ['e tea'])).toBeNull();
  });

  it('know of a term that has none, so that it is not asked for again', () => {
    const { index } = createSearchCaches();
    index.keep('s', 1, { lengths: lengths(), rows: new Map([['none', []]]) });
    expect(index.recall('s', ['none'])?.keys).toEqual(['', 'none']);
  });

  it('are copies, so that no more of what a driver has received stays', () => {
    const { index } = createSearchCaches();
    const received = new Uint8Array(64 * 1024);
    const part = { key: 'tea', part: 0, bytes: received.subarray(9, 12) };
    index.keep('s', 1, { lengths: lengths(), rows: new Map([['tea', [part]]]) });
    const [kept] = index.recall('s', ['tea'])?.rows.get('tea') ?? [];
    expect(kept?.bytes.buffer.byteLength).toBe(3);
  });
});

describe('texts that are kept', () => {
  const text = new ReadText({
    ...{ scope: 'u:alice', fileNo: 1, path: 'a.md', version: 3, updatedAt: 0, hash: '' },
    ...{ latestRevisionId: '', indexedVersion: 3, content: '# Tea\n\nGreen.\n\nBlack.\n' },
  });
  const state = { generation: 5, format: 1, files: 1, version: 9 };

  it('are given for the state that their scope had, and for no other', () => {
    const { texts } = createSearchCaches();
    texts.keep(text, state);
    expect(texts.recall({ scope: 'u:alice', fileNo: 1 }, { ...state, files: 1 })).toBe(text);
    expect(texts.recall({ scope: 'u:alice', fileNo: 1 }, { ...state, version: 10 })).toBeNull();
    expect(texts.recall({ scope: 'u:alice', fileNo: 1 }, { ...state, generation: 6 })).toBeNull();
    expect(texts.recall({ scope: 'u:alice', fileNo: 2 }, state)).toBeNull();
    expect(texts.recall({ scope: 's', fileNo: 1 }, state)).toBeNull();
  });

  it('are divided into passages once', () => {
    expect(text.passages.map(({ startLine }) => startLine)).toEqual([3, 5]);
    expect(text.passages).toBe(text.passages);
  });
});
