import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MAX_QUERY_UNITS } from '../../../core/search/rank/query.ts';
import { asAdmin, asAgent, serveCore } from './serve.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const QUERIES = isRelease ? 200_000 : 150;
const CALLERS = 8;

const OPERATORS =
  '" \' * ( ) [ ] { } : ^ ~ - + | & && || ! ? \\ / % _ ; -- # AND OR NOT NEAR NEAR/3 path:bob body:* a* "a C++ multi-agent ubuntu 20.04 \u0000 \ud800 \udfff \u202e <b> ${x} $1 \'; drop table svc_file; --'.split(
    ' ',
  );

const query = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(fc.constantFrom(...OPERATORS), { minLength: 1, maxLength: 12 })
      .map((parts) => parts.join(' ')),
  },
  { weight: 4, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }) },
  // Of every plane, assigned or not, and halves of pairs.
  {
    weight: 4,
    arbitrary: fc
      .array(fc.nat(0x10ffff), { minLength: 1, maxLength: 40 })
      .map((points) => String.fromCodePoint(...points)),
  },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.nat(0xffff), { minLength: 1, maxLength: 40 })
      .map((units) => String.fromCharCode(...units)),
  },
  { weight: 2, arbitrary: fc.string({ minLength: 1 }).map((text) => `tea ${text}`) },
);
const large = fc.oneof(
  fc.nat(9_999).map((n) => Array.from({ length: 5_000 }, (_, word) => `w${word * n}`).join(' ')),
  fc
    .constantFrom('a', 'é', '猫', '-', '😀', 'x_', '"', 'A1', '\u0301', '. ')
    .map((piece) => piece.repeat(100_000 / piece.length)),
  query.map((text) => text.repeat(Math.ceil(100_000 / text.length)).slice(0, 100_000)),
);

it(
  `${QUERIES} queries of any kind get an answer over HTTP, with a bounded number of look-ups (T5)`,
  async () => {
    const server = await serveCore();
    const execute = (tool: string, args: object) =>
      server.request('POST', `/v1/tools/${tool}/execute`, {
        headers: asAgent,
        body: { context: { userId: 'alice' }, arguments: args },
      });
    for (const [n, content] of [
      'tea w1 w2 w7 C++',
      'a x 猫が好き 😀',
      'multi-agent w9',
      '',
    ].entries()) {
      await execute('memory_write', { path: `user/w${n}.md`, content });
    }
    const samples = [
      ...fc.sample(query, QUERIES - Math.ceil(QUERIES / 40)),
      ...fc.sample(large, Math.ceil(QUERIES / 40)),
      // For certain one with more words than are looked up.
      Array.from({ length: 5_000 }, (_, word) => `w${word}`).join(' '),
    ];
    const statuses = new Map<number, number>();
    let most = 0;
    let next = 0;
    async function ask(): Promise<void> {
      for (let n = next++; n < samples.length; n = next++) {
        const tool = n % 5 === 4 ? 'memory_context' : 'memory_find';
        const text = samples[n] ?? '';
        const { status, json } = await execute(tool, { query: text });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        expect(status, JSON.stringify(text.slice(0, 200))).toBe(200);
        if (n % 10 !== 0 && text.length < 20_000) continue;
        const trace = await server.request(
          'GET',
          `/v1/admin/observability/traces/${json.traceId}`,
          { headers: asAdmin },
        );
        const terms = [...trace.text.matchAll(/"terms":(\d+)/g)].map(([, count]) => Number(count));
        expect(terms.length).toBeGreaterThan(0);
        most = Math.max(most, ...terms);
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, ask));
    expect([...statuses.keys()]).toEqual([200]);
    // A stem and the word itself, or as many as a fuzzy search tries for each.
    expect(most).toBeGreaterThanOrEqual(MAX_QUERY_UNITS);
    expect(most).toBeLessThanOrEqual(8 * MAX_QUERY_UNITS);
    expect(server.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  },
  isRelease ? 3_000_000 : 120_000,
);

it('a query of no characters, or of more than 200,000, is refused', async () => {
  const server = await serveCore();
  for (const text of ['', 'x'.repeat(200_001)]) {
    const { status, json } = await server.request('POST', '/v1/tools/memory_find/execute', {
      headers: asAgent,
      body: { context: { userId: 'alice' }, arguments: { query: text } },
    });
    expect([status, json.error.code]).toEqual([400, 'INVALID_REQUEST']);
  }
});
