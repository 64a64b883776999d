import { describe, expect, it } from 'vitest';
import { createPause } from '../../../core/time/pause.ts';
import { createSearchCaches, ReadText } from '../../../core/search/search-caches.ts';

describe('texts that are kept', () => {
  const text = new ReadText({
    scope: 'u:alice',
    fileNo: 1,
    path: 'a.md',
    version: 3,
    updatedAt: 0,
    hash: '',
    latestRevisionId: '',
    content: '# Tea\n\nGreen.\n\nBlack.\n',
  });

  it('are given for their own file and version alone', () => {
    const { texts } = createSearchCaches();
    texts.keep(text);
    expect(texts.recall({ scope: 'u:alice', fileNo: 1 }, 3)).toBe(text);
    expect(texts.recall({ scope: 'u:alice', fileNo: 1 }, 4)).toBeNull();
    expect(texts.recall({ scope: 'u:alice', fileNo: 2 }, 3)).toBeNull();
    expect(texts.recall({ scope: 's', fileNo: 1 }, 3)).toBeNull();
  });

  it('are divided into passages once', async () => {
    const passages = await text.readPassages(createPause());
    expect(passages.map(({ startLine }) => startLine)).toEqual([3, 5]);
    expect(await text.readPassages(createPause())).toBe(passages);
  });
});
