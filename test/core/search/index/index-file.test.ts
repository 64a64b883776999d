import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  ALWAYS_TERM,
  MAX_FREQUENCY,
  MAX_POSITION,
} from '../../../../core/search/index/index-file.ts';
import { TOKENISER_VERSION } from '../../../../core/search/text/tokenise.ts';
import { encodeText, indexText } from '../../../support/index-text.ts';

describe('indexFile', () => {
  it('notes which passages have a term in their text, and where', () => {
    const { passages, terms } = indexText('Green tea and green cups.\n\nBlack tea.', 'x.md');
    expect(passages.map(({ length }) => length)).toEqual([4, 2]);
    expect(terms.get('green')?.entries).toEqual([{ passage: 0, positions: [0, 3] }]);
    expect(terms.get('tea')?.entries).toEqual([
      { passage: 0, positions: [1] },
      { passage: 1, positions: [1] },
    ]);
  });

  it('counts headings and the path with every passage below, as runs', () => {
    const { terms } = indexText('# Food\n\nTea\n\nRice\n\n# Work\n\nBank', 'profile/ann.md');
    expect(terms.get('food')).toEqual({ contexts: [{ passage: 0, count: 2 }], entries: [] });
    expect(terms.get('work')?.contexts).toEqual([{ passage: 2, count: 1 }]);
    expect(terms.get('profil')?.contexts).toEqual([{ passage: 0, count: 3 }]);
    expect(terms.has('md')).toBe(false);
  });

  it('finds an empty file by its path', () => {
    const { passages, terms } = indexText('', 'todo-list.md');
    expect(passages).toMatchObject([{ startLine: 1, endLine: 1, length: 0 }]);
    expect(terms.get('todolist')?.contexts).toEqual([{ passage: 0, count: 1 }]);
  });

  it('reads each passage in its own language', () => {
    const { terms } = indexText(
      'The stations are running.\n\nDie Stationen sind nicht running.',
      'x.md',
    );
    expect(terms.get('run')?.entries).toEqual([{ passage: 0, positions: [3] }]);
    expect(terms.get('running')?.entries).toEqual([{ passage: 1, positions: [4] }]);
    expect(terms.get('stationen')?.entries).toEqual([{ passage: 1, positions: [1] }]);
  });

  it('bounds frequencies and positions', () => {
    const { terms } = indexText('tea '.repeat(240), 'x.md');
    expect(terms.get('tea')?.entries[0]?.positions.length).toBe(MAX_FREQUENCY);
    const cjk = indexText('日本'.repeat(300), 'x.md');
    for (const { entries } of cjk.terms.values()) {
      for (const { positions } of entries) {
        expect(Math.max(...positions)).toBeLessThanOrEqual(MAX_POSITION);
      }
    }
  });

  it('indexes a file of tiny sections below long headings without repeating the work', () => {
    const heading = `# ${'long heading '.repeat(15)}`;
    const text = [heading, ...Array.from({ length: 5_000 }, () => '## s\nx')].join('\n');
    expect(indexText(text, 'x.md').passages.length).toBe(5_000);
  });

  it('marks a file with context: always in its front matter, and counts no word for it', () => {
    const text = '---\nContext: "always" # for each prompt\n---\n\nTea.';
    const { terms, passages } = indexText(text, 'x.md');
    expect(terms.get(ALWAYS_TERM)?.entries).toEqual([{ passage: 0, positions: [0] }]);
    const other = indexText(text.replace('Context', 'Contest'), 'x.md');
    expect(other.terms.has(ALWAYS_TERM)).toBe(false);
    expect(other.passages.map(({ length }) => length)).toEqual(
      passages.map(({ length }) => length),
    );
  });

  it('gives the index that this version of the tokeniser is known for', () => {
    const indexed = indexText(SAMPLE, 'people/ann-lee.md');
    const hash = createHash('sha256');
    for (const [term, payload] of encodeText(indexed)) hash.update(`${term}\n`).update(payload);
    for (const { startLine, endLine } of indexed.passages) hash.update(`${startLine}-${endLine}\n`);
    // When this fails, texts have other terms than stored indexes do: count TOKENISER_VERSION up,
    // then write down the new pair.
    expect([TOKENISER_VERSION, hash.digest('hex').slice(0, 16)]).toEqual(KNOWN);
  });
});

const KNOWN = [4, 'f595022dd6e70328'];

const SAMPLE = `---
tags: [people, tea]
context: always
---
# Ann Lee

- prefers green tea, didn't like Zoë's coffee
  - went to the multi-agent meetup (v1.2.3, C++, node.js)
- e-mail: ann.lee@example.com

## Arbeit

Sie arbeitet nicht in der Küche, aber im Büro.

<!--
## Old
-->

日本語
------

猫が好きです。東京タワーへ行きました。

| what | when |
| --- | --- |
| dentist | 2024-03-05 |

\`\`\`ts
const maxRetries = readConfig('retry_count');
\`\`\`

Кошки любят молоко 🍕. ${'A long paragraph goes on and on about the children. '.repeat(30)}
`;
