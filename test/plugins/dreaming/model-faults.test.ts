import { afterAll, describe, expect, it } from 'vitest';
import type { ModelProvider } from '../../../core/contracts/model-provider.ts';
import { openai } from '../../../plugins/model-openai/index.ts';
import { CHAT, TRANSPORT } from '../../support/provider-server/misbehaviour.ts';
import { chatAnswer, startProviderServer } from '../../support/provider-server/server.ts';
import { openDreams } from './dream-service.ts';

const TEA = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n';
const provider = await startProviderServer();
afterAll(() => provider.close());

/** How often each way is tried: in a test of seconds, and before a release. */
const TIMES = process.env['MEMORY_TEST_RELEASE'] === undefined ? 1 : 100;
const LONG = { timeout: 180_000 + TIMES * 40_000 };

const NOT_JSON = 'the answer was not JSON';
const NO_FIT = 'the answer did not fit the schema';
const REPLIES: readonly [string, string, string][] = [
  ['words', 'I would merge the two lines.', NOT_JSON],
  ['a list', '[]', NO_FIT],
  ['null', 'null', NO_FIT],
  ['operations that are none', '{"operations": "all"}', NO_FIT],
  ['no operations', '{}', NO_FIT],
  ['JSON that is cut off at its beginning', '{"operat', NOT_JSON],
];

describe('a model that fails (F11)', LONG, () => {
  it('ends each run as failed, with its reason, nothing written, and the user free again', async () => {
    const waiting = (timeoutMs: number) =>
      openai({ baseUrl: provider.baseUrl, name: 'scripted', maxRetries: 0, timeoutMs });
    const [patient, hasty] = [waiting(60_000), waiting(150)];
    let isEndless = false;
    const model: ModelProvider = {
      ...patient,
      generate: (request) => (isEndless ? hasty : patient).generate(request),
    };
    const settings = { dream_max_tokens_per_user_day: 0 };
    const service = await openDreams({ provider, config: { model }, settings });
    await service.write('alice', 'user/tea.md', TEA);
    const ways = [
      ...[...TRANSPORT, ...CHAT].map(
        ({ name, behave, why, isEndless = false }) => [name, why, isEndless, behave] as const,
      ),
      ...REPLIES.map(
        ([name, text, why]) =>
          [
            name,
            why,
            false,
            (exchange: Parameters<(typeof CHAT)[number]['behave']>[0]) =>
              exchange.sendJson(200, chatAnswer('scripted', text)),
          ] as const,
      ),
    ];
    expect(ways.length).toBeGreaterThanOrEqual(30);
    for (const [name, why, endless, behave] of Array.from({ length: TIMES }, () => ways).flat()) {
      provider.always(behave);
      isEndless = endless;
      const run = await service.dream('alice');
      expect(run, name).toMatchObject({ state: 'failed', filesTouched: 0, writes: 0 });
      expect(run.error.code, name).toMatch(/^MODEL_(?:FAILED|TIMEOUT)$/);
      // Of a reply that was cut off its operations count; here there are none.
      if (!why.includes('cut off')) expect(run.error.message, name).toContain(why);
      expect(run.error.message, name).not.toContain('SECRET-OF-THE-PROVIDER');
      // What it asked for is counted, what it was told is not known.
      expect(run.outputTokens, name).toBeGreaterThanOrEqual(0);
    }
    expect(await service.read('alice', 'user/tea.md')).toBe(TEA);
    expect((await service.admin('GET', 'revisions?actor=dream-agent')).json.items).toEqual([]);
    isEndless = false;
    provider.always((exchange) =>
      exchange.sendJson(200, chatAnswer('scripted', '{"operations": []}')),
    );
    expect(await service.dream('alice')).toMatchObject({ state: 'completed', outcome: 'no_op' });
  });

  it('drops operations that are none, and takes the others', async () => {
    const service = await openDreams({ provider });
    await service.write('alice', 'user/tea.md', TEA);
    const good = {
      kind: 'merge',
      reason: 'twice',
      remove: [1, 2].map((line) => ({ path: 'user/tea.md', line, text: '- Likes tea a lot.' })),
      add: { path: 'user/tea.md', heading: null, lines: ['- Likes tea a lot.'] },
      sources: [],
    };
    const operations = [
      null,
      'merge',
      { ...good, kind: 'delete' },
      { ...good, add: { ...good.add, lines: 'b' } },
      { ...good, remove: [{ path: 'user/tea.md', line: 1.5, text: 'x' }] },
      good,
    ];
    const verdicts = [{ operation: 6, lost: [], added: [], verdict: 'keeps' }];
    provider.always(({ body, sendJson }) =>
      sendJson(
        200,
        chatAnswer(
          'scripted',
          JSON.stringify(
            JSON.stringify(body).includes('memory_edit_verdicts') ? { verdicts } : { operations },
          ),
        ),
      ),
    );
    const run = await service.dream('alice');
    expect(run).toMatchObject({ outcome: 'applied', malformedOperations: 5, filesTouched: 1 });
    expect(await service.read('alice', 'user/tea.md')).toBe('- Likes tea a lot.\n- Has a cat.\n');
  });
});
