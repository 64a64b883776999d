import assert from 'node:assert/strict';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import type { GenerateResult, ModelProvider } from '../contracts/model-provider.ts';
import {
  assertRefused,
  CANARY,
  checkProvider,
  type CheckProviderOptions,
  type ProviderCase,
  type ProviderSetup,
  withinLimit,
} from './check-provider.ts';
import type { CaseResult } from './report.ts';
import { show } from './watch-calls.ts';

/** Makes the model providers that the suite checks. */
export type ModelProviderSetup = ProviderSetup<ModelProvider>;

/** Time limit of an aborted or unreachable call. */
const LIMIT_MS = 20_000;

const QUESTION = { system: 'Answer in one short sentence.', prompt: 'What colour is the sky?' };
const SCHEMA = {
  type: 'object',
  properties: { colour: { type: 'string' } },
  required: ['colour'],
  additionalProperties: false,
};
const ODD_PROMPTS = [
  'Grüße aus Zürich, 東京 и Москва 👩‍👩‍👧‍👦',
  'line\nline\r\n\ttab "quotes" \\ {"json": null}',
  'word '.repeat(2_000),
];
const FAILURES = ['MODEL_FAILED', 'MODEL_TIMEOUT'] as const;

/** Every rule of the contract `ModelProvider`. */
export const modelProviderCases: readonly ProviderCase<ModelProviderSetup>[] = [
  on('names itself and its model', async (model) => {
    assert.ok(model.name !== '' && typeof model.name === 'string');
    assert.ok(model.model !== '' && typeof model.model === 'string');
    assertResult(await model.generate(QUESTION));
  }),

  on('answers with text, and with the tokens that the provider counted', async (model) => {
    assertResult(await model.generate(QUESTION));
  }),

  on('answers with JSON where a schema is given', async (model) => {
    const result = await model.generate({
      ...QUESTION,
      prompt: 'Which colour is the sky? Answer as JSON.',
      schema: SCHEMA,
    });
    assertResult(result);
    const value = parseForeignJson(result.text);
    assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value));
  }),

  on('leaves the schema and the request as they are', async (model) => {
    const schema = Object.freeze(structuredClone(SCHEMA));
    assertResult(await model.generate(Object.freeze({ ...QUESTION, schema })));
    assert.deepEqual(schema, SCHEMA);
  }),

  on('takes prompts of any kind', async (model) => {
    for (const prompt of ODD_PROMPTS) assertResult(await model.generate({ ...QUESTION, prompt }));
  }),

  on('takes a limit of tokens', async (model) => {
    assertResult(await model.generate({ ...QUESTION, maxTokens: 4_000 }));
  }),

  on('answers calls that come at once', async (model) => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        model.generate({ ...QUESTION, prompt: `What is ${n} plus ${n}?` }),
      ),
    );
    answers.forEach(assertResult);
  }),

  on('is not asked by a caller who gave up before', async (model) => {
    assertResult(await model.generate(QUESTION));
    const call = model.generate({ ...QUESTION, prompt: CANARY, signal: AbortSignal.abort() });
    await withinLimit(assertRefused(call, FAILURES), LIMIT_MS);
  }),

  on('ends a call that is given up', async (model) => {
    assertResult(await model.generate(QUESTION));
    const controller = new AbortController();
    const call = model.generate({ ...QUESTION, prompt: CANARY, signal: controller.signal });
    controller.abort();
    await withinLimit(assertRefused(call, FAILURES), LIMIT_MS);
  }),

  {
    name: 'rejects with MODEL_FAILED or MODEL_TIMEOUT when its provider cannot be reached, and repeats no prompt',
    async run(setup) {
      assertResult(await (await setup.make()).generate(QUESTION));
      const model = await setup.makeUnreachable();
      const call = model.generate({ system: CANARY, prompt: CANARY });
      await withinLimit(assertRefused(call, FAILURES), LIMIT_MS);
    },
  },
];

/**
 * Checks a model provider against every rule of the contract, one after the other. It makes about
 * twenty calls, mostly with short prompts. Never rejects because of the provider: a broken rule is
 * `failed` with its reason.
 *
 * @example
 * import { checkModelProvider, formatResults } from 'memory-service/testing';
 *
 * const results = await checkModelProvider({
 *   make: () => myModel({ url }),
 *   makeUnreachable: () => myModel({ url: 'http://127.0.0.1:9' }),
 * });
 * console.log(formatResults(results));
 */
export async function checkModelProvider(
  setup: ModelProviderSetup,
  options: CheckProviderOptions = {},
): Promise<readonly CaseResult[]> {
  return await checkProvider(setup, modelProviderCases, options);
}

function on(
  name: string,
  run: (model: ModelProvider) => Promise<void>,
): ProviderCase<ModelProviderSetup> {
  return { name, run: async (setup) => run(await setup.make()) };
}

function assertResult(result: GenerateResult | null | undefined): void {
  if (typeof result !== 'object' || result === null) assert.fail(`Not a result: ${show(result)}`);
  const { text, inputTokens, outputTokens } = result;
  assert.ok(typeof text === 'string' && text.trim() !== '', 'The answer is empty.');
  for (const count of [inputTokens, outputTokens]) {
    assert.ok(
      Number.isSafeInteger(count) && count >= 0,
      'Token counts are whole numbers of at least 0.',
    );
  }
}
