import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Embedder } from '../../../core/contracts/embedder.ts';
import type { ModelProvider } from '../../../core/contracts/model-provider.ts';
import { MemoryError } from '../../../core/errors.ts';
import {
  checkEmbedder,
  checkModelProvider,
  embedderCases,
  modelProviderCases,
  type CaseResult,
} from '../../../core/testing/index.ts';
import { openai as openaiEmbedder } from '../../../plugins/embedder-openai/index.ts';
import { anthropic } from '../../../plugins/model-anthropic/index.ts';
import { openai as openaiModel } from '../../../plugins/model-openai/index.ts';
import { embedWords } from '../../support/provider-server/embed.ts';
import { type ProviderServer, startProviderServer } from '../../support/provider-server/server.ts';
import { unhandledErrors } from './unhandled-errors.ts';

let server: ProviderServer;
beforeAll(async () => {
  server = await startProviderServer({
    dimensions: 32,
    reply: (body) =>
      body.tools !== undefined ||
      body.response_format !== undefined ||
      body.messages[0].content.includes('JSON Schema')
        ? '{"colour":"blue"}'
        : 'The sky is blue.',
  });
});
afterAll(async () => {
  await server.close();
  expect(server.violations).toEqual([]);
});

/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:9/v1';
const broken = (results: readonly CaseResult[]) =>
  results.filter(({ status }) => status === 'failed').map(({ name }) => name);

describe('the plugins keep every rule', () => {
  it('embedder-openai', async () => {
    const options = { name: 'words', dimensions: 32, maxRetries: 0 };
    const results = await checkEmbedder({
      make: () => openaiEmbedder({ ...options, baseUrl: server.baseUrl }),
      makeUnreachable: () => openaiEmbedder({ ...options, baseUrl: NOWHERE }),
    });
    expect(broken(results)).toEqual([]);
    expect(results).toHaveLength(embedderCases.length);
  });

  it.each([
    ['model-openai', openaiModel, () => server.baseUrl],
    ['model-anthropic', anthropic, () => server.origin],
  ])('%s', async (_name, make, url) => {
    const results = await checkModelProvider({
      make: () => make({ name: 'm', maxRetries: 0, baseUrl: url() }),
      makeUnreachable: () => make({ name: 'm', maxRetries: 0, baseUrl: NOWHERE }),
    });
    expect(broken(results)).toEqual([]);
    expect(results).toHaveLength(modelProviderCases.length);
  });

  it.each([
    ['no schema, but tools', ['response_format']],
    ['neither', ['response_format', 'tools']],
  ])('model-openai on a server that takes %s', async (_what, refused) => {
    server.always(({ body, proper, sendJson }) => {
      const unknown = refused.find((name) => name in body);
      if (unknown !== undefined) sendJson(400, { error: { message: `${unknown} is unknown` } });
      else sendJson(200, proper());
    });
    onTestFinished(() => server.always(null));
    const options = { name: 'm', maxRetries: 0 };
    const results = await checkModelProvider({
      make: () => openaiModel({ ...options, baseUrl: server.baseUrl }),
      makeUnreachable: () => openaiModel({ ...options, baseUrl: NOWHERE }),
    });
    expect(broken(results)).toEqual([]);
  });
});

const failed = (message: string) => new MemoryError('EMBEDDING_FAILED', message);
const good: Embedder = {
  name: 'good',
  model: 'good',
  dimensions: 16,
  async embed(texts, { signal }) {
    await Promise.resolve();
    if (signal?.aborted === true) throw failed('Given up.');
    return texts.map((text) => Float32Array.from(embedWords(text, 16)));
  },
};
const down: Embedder = { ...good, embed: () => Promise.reject(failed('Down.')) };
const embedLike =
  (change: (vectors: Float32Array[], texts: readonly string[]) => unknown): Embedder['embed'] =>
  async (texts, options) =>
    change(await good.embed(texts, options), texts) as Float32Array[];
const kept = new Map<string, Float32Array>();
let last: Promise<Float32Array[]> | null = null;

/** Each breaks one rule, and is found by the case of that rule, or those. */
const BROKEN_EMBEDDERS: [string, { make?: Partial<Embedder>; down?: Partial<Embedder> }, RegExp][] =
  [
    ['has no model', { make: { model: '' } }, /^names itself/],
    ['says another length', { make: { dimensions: 17 } }, /one vector of its length|any kind/],
    ['gives plain lists', { make: { embed: embedLike((v) => v.map((x) => [...x])) } }, /./],
    [
      'turns the order round',
      { make: { embed: embedLike((vectors) => vectors.reverse()) } },
      /in the order|any kind|fit into|same text|come at once/,
    ],
    [
      'gives the vector that it keeps',
      {
        make: {
          embed: embedLike((vectors, texts) =>
            texts.map((text, at) => {
              const own = kept.get(text) ?? (vectors[at] as Float32Array);
              kept.set(text, own);
              return own;
            }),
          ),
        },
      },
      /a copy of its own|in the order|come at once/,
    ],
    [
      'loses what is over 64',
      { make: { embed: embedLike((v) => v.slice(0, 64)) } },
      /fit into one/,
    ],
    [
      'fails without texts',
      {
        make: {
          embed: (texts, options) =>
            texts.length === 0 ? Promise.reject(failed('Empty.')) : good.embed(texts, options),
        },
      },
      /nothing for no texts/,
    ],
    [
      'answers the call that came before',
      {
        make: {
          async embed(texts, options) {
            const before = last;
            const own = good.embed(texts, options);
            last = own;
            own
              .catch(() => undefined)
              .finally(() => (last = null))
              .catch(() => undefined);
            return await (before ?? own);
          },
        },
      },
      /come at once/,
    ],
    [
      'hears no signal',
      { make: { embed: (texts) => good.embed(texts, {}) } },
      /gave up before|given up/,
    ],
    [
      'throws what is no MemoryError',
      { down: { embed: () => Promise.reject(new Error('ECONNREFUSED')) } },
      /cannot be reached/,
    ],
    [
      'repeats the text',
      { down: { embed: (texts) => Promise.reject(failed(`Cannot embed ${texts[0]}.`)) } },
      /cannot be reached/,
    ],
    [
      'gives zeros for a blank',
      { make: { embed: embedLike((v) => v.map((x) => x.fill(0))) } },
      /./,
    ],
  ];

describe('a broken embedder is found out', () => {
  it('a good one is not', async () => {
    expect(broken(await checkEmbedder({ make: () => good, makeUnreachable: () => down }))).toEqual(
      [],
    );
  });

  it.each(BROKEN_EMBEDDERS)('that %s', async (_what, changes, rule) => {
    const results = await checkEmbedder({
      make: () => ({ ...good, ...changes.make }),
      makeUnreachable: () => ({ ...down, ...changes.down }),
    });
    const names = broken(results);
    expect(names).not.toEqual([]);
    names.forEach((name) => expect(name).toMatch(rule));
  });
});

const goodModel: ModelProvider = {
  name: 'good',
  model: 'good',
  async generate({ schema, signal }) {
    await Promise.resolve();
    if (signal?.aborted === true) throw new MemoryError('MODEL_FAILED', 'Given up.');
    const text = schema === undefined ? 'Blue.' : '{"colour":"blue"}';
    return { text, inputTokens: 1, outputTokens: 1 };
  },
};
const downModel: ModelProvider = {
  ...goodModel,
  generate: () => Promise.reject(new MemoryError('MODEL_TIMEOUT')),
};
const answerLike =
  (change: object): ModelProvider['generate'] =>
  async (request) => ({ ...(await goodModel.generate(request)), ...change });

const BROKEN_MODELS: [
  string,
  { make?: Partial<ModelProvider>; down?: Partial<ModelProvider> },
  RegExp,
][] = [
  ['has no name', { make: { name: '' } }, /^names itself/],
  ['says nothing', { make: { generate: answerLike({ text: ' ' }) } }, /./],
  ['counts no tokens', { make: { generate: answerLike({ inputTokens: NaN }) } }, /./],
  [
    'puts words around the JSON',
    { make: { generate: answerLike({ text: 'Here you are: {"colour":"blue"}' }) } },
    /answers with JSON/,
  ],
  [
    'changes the schema',
    {
      make: {
        generate(request) {
          if (request.schema !== undefined) Object.assign(request.schema, { strict: true });
          return goodModel.generate(request);
        },
      },
    },
    /as they are|with JSON/,
  ],
  [
    'hears no signal',
    { make: { generate: ({ signal: _signal, ...request }) => goodModel.generate(request) } },
    /gave up before|given up/,
  ],
  [
    'repeats the prompt',
    {
      down: {
        generate: ({ prompt }) => Promise.reject(new MemoryError('MODEL_FAILED', `Not ${prompt}.`)),
      },
    },
    /cannot be reached/,
  ],
  ['answers where nobody is', { down: { generate: goodModel.generate } }, /cannot be reached/],
];

describe('a broken model provider is found out', () => {
  it('a good one is not', async () => {
    const setup = { make: () => goodModel, makeUnreachable: () => downModel };
    expect(broken(await checkModelProvider(setup))).toEqual([]);
  });

  it.each(BROKEN_MODELS)('that %s', async (_what, changes, rule) => {
    const results = await checkModelProvider({
      make: () => ({ ...goodModel, ...changes.make }),
      makeUnreachable: () => ({ ...downModel, ...changes.down }),
    });
    const names = broken(results);
    expect(names).not.toEqual([]);
    names.forEach((name) => expect(name).toMatch(rule));
  });
});

/** Ways to answer every call without doing anything. */
const USELESS: [string, () => unknown][] = [
  ...[undefined, null, 0, '', 'text', true, [], {}].flatMap((value): [string, () => unknown][] => [
    [`answers ${JSON.stringify(value)}`, () => Promise.resolve(value)],
    [`returns ${JSON.stringify(value)} without a promise`, () => value],
  ]),
  ['refuses as an embedder', () => Promise.reject(failed('No.'))],
  ['refuses as a model', () => Promise.reject(new MemoryError('MODEL_FAILED', 'No.'))],
  ['rejects with nothing', () => Promise.reject()],
  [
    'throws',
    () => {
      throw failed('No.');
    },
  ],
  ['never answers', () => new Promise(() => undefined)],
];
const LIMITS = { timeLimitMs: 20 };

describe('a provider that does nothing', () => {
  it.each(USELESS)('and %s passes no rule', async (_what, answer) => {
    const unhandled = unhandledErrors();
    const embedder = { ...good, embed: answer } as unknown as Embedder;
    const model = { ...goodModel, generate: answer } as unknown as ModelProvider;
    expect(
      broken(
        await checkEmbedder({ make: () => embedder, makeUnreachable: () => embedder }, LIMITS),
      ),
    ).toEqual(embedderCases.map(({ name }) => name));
    expect(
      broken(await checkModelProvider({ make: () => model, makeUnreachable: () => model }, LIMITS)),
    ).toEqual(modelProviderCases.map(({ name }) => name));
    expect(unhandled).toEqual([]);
  });

  it.each([null, undefined, 'openai', {}])(
    'as %j is in place of one passes no rule',
    async (value) => {
      const make = () => value as never;
      const results = [
        ...(await checkEmbedder({ make, makeUnreachable: make })),
        ...(await checkModelProvider({ make, makeUnreachable: make })),
      ];
      expect(broken(results)).toHaveLength(embedderCases.length + modelProviderCases.length);
    },
  );

  it('fails when the unreachable one is never made', async () => {
    const makeUnreachable = () => new Promise<never>(() => undefined);
    const results = await checkEmbedder({ make: () => good, makeUnreachable }, LIMITS);
    expect(results.at(-1)?.error?.message).toContain('Without an answer: makeUnreachable.');
  });
});

it('tells each result as it comes', async () => {
  const told: CaseResult[] = [];
  const setup = { make: () => good, makeUnreachable: () => down };
  const results = await checkEmbedder(setup, { onResult: (result) => told.push(result) });
  expect(told).toEqual(results);
});
