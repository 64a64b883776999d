import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_QUERY_UNITS } from '../../../core/search/rank/query.ts';
import { call, openCore } from '../../support/service.ts';
import { DATABASE } from '../../support/tables.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const QUERIES = isRelease ? 200_000 : DATABASE === undefined ? 300 : 100;
const LIMIT_MS = isRelease ? 3_000_000 : 300_000;

interface Found {
  results: { path: string; startLine: number; endLine: number }[];
}

/** Words, and what FTS5, MySQL's boolean mode, LIKE and expressions take for more. */
const word = fc.constantFrom(
  ...['tea', 'green', 'Lisbon', 'multi-agent', 'C++', "a'b", 'ubuntu 20.04', 'path:bob', '"tea'],
  ...['AND', 'OR', 'NOT', 'NEAR(', ')', '(', '*', 'te*', '+tea', '-tea', '~tea', '<tea', '@4', '^'],
  ...['%', '_', '\\', "''", '";--', '[a-z]+', '(a+)+$', '{', '}', '\0', '\r\n', '茶', '緑茶', '🍵'],
  ...['e\u0301', '\ud800', '\u202e', '＊', 'x'.repeat(500)],
);
const query = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' ')),
  },
  {
    weight: 1,
    arbitrary: fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join('')),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }) },
);

describe('memory_find with any query (T5)', () => {
  it('answers, whatever operators the query holds', { timeout: LIMIT_MS }, async () => {
    const core = await openCore();
    const paths = ['user/tea.md', 'user/notes/c++.md', 'user/茶.md'];
    for (const path of paths) {
      const content =
        '# Drinks\n\n- Green tea in Lisbon.\n- multi-agent C++ on ubuntu 20.04\n- 緑茶\n';
      await call(core, 'alice', 'memory_write', { path, content });
      await call(core, 'bob', 'memory_write', { path: 'user/secret.md', content });
    }
    await core.indexer.drain();
    await fc.assert(
      fc.asyncProperty(query, fc.boolean(), async (text, explain) => {
        const args = { query: text, limit: 50, explain };
        const { result } = await call<Found>(core, 'alice', 'memory_find', args);
        for (const { path, startLine, endLine } of result.results) {
          expect(paths).toContain(path);
          expect(startLine).toBeLessThanOrEqual(endLine);
        }
      }),
      { numRuns: QUERIES },
    );
  });

  it('looks for a bounded number of terms, in 100 KB and in 5,000 words', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', { path: 'user/tea.md', content: 'green tea\n' });
    const texts = [
      Array.from({ length: 5_000 }, (_, n) => `word${n}`).join(' '),
      'tea '.repeat(25_000),
      'x'.repeat(100_000),
      '茶'.repeat(33_000),
      `${'('.repeat(50_000)}${')'.repeat(50_000)}`,
    ];
    for (const text of texts) {
      const { traceId } = await call<Found>(core, 'alice', 'memory_find', { query: text });
      await core.queue.flush();
      const [event] = await core.storage.log.eventsOfTrace(traceId);
      const search = event?.spans.find(({ kind }) => kind === 'search.bm25');
      expect(search?.attributes['terms']).toBeLessThanOrEqual(2 * MAX_QUERY_UNITS);
    }
  });
});
