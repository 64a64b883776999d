import { afterEach, describe, expect, it } from 'vitest';
import { openai as embedder } from '../../../plugins/embedder-openai/index.ts';
import { openai as model } from '../../../plugins/model-openai/index.ts';
import { passAll } from '../../support/model-service.ts';
import {
  type Behaviour,
  type ProviderServer,
  startProviderServer,
} from '../../support/provider-server/server.ts';
import { call, openCore } from '../../support/service.ts';
import { isVerifying, lines, openDreams, operation } from '../dreaming/dream-service.ts';

interface ChatAnswer {
  choices: { message: Record<string, unknown> }[];
  usage: Record<string, number>;
}

interface LocalServer {
  name: string;
  /** A chat answer or a list of vectors, as the server writes it. */
  answer: Behaviour;
  /** What it answers first, while it loads a model. */
  loading?: Behaviour;
  /** How it refuses a model that it does not have, and what the operator reads. */
  unknown: { behaviour: Behaviour; why: RegExp };
}

const isChat = (path: string): boolean => path.endsWith('/chat/completions');

/** Changes the message of a chat answer; vectors stay as they are. */
const withMessage =
  (change: (content: string) => object, more: object = {}): Behaviour =>
  ({ path, proper, sendJson }) => {
    if (!isChat(path)) return sendJson(200, proper());
    const answer = proper() as ChatAnswer;
    const choices = answer.choices.map((choice) => ({
      ...choice,
      message: { ...choice.message, ...change(String(choice.message['content'])) },
    }));
    return sendJson(200, { ...answer, choices, ...more });
  };

const SERVERS: readonly LocalServer[] = [
  {
    name: 'Ollama',
    // Older versions leave the thoughts of a model in its text; tool_choice is not known.
    answer: withMessage((content) => ({
      content: `<think>\nIt may be {"so": or not}.\n</think>\n\n${content}`,
    })),
    unknown: {
      behaviour: ({ sendJson }) =>
        sendJson(404, {
          error: {
            message: 'model "qwen9" not found, try pulling it first',
            type: 'api_error',
            param: null,
            code: null,
          },
        }),
      why: /the provider answered 404/,
    },
  },
  {
    name: 'llama.cpp',
    answer: withMessage((content) => ({ content, reasoning_content: 'It may be so, or not.' }), {
      timings: { prompt_ms: 1.5 },
      __verbose: {},
    }),
    // A number as the code, and the health of the server as the reason.
    loading: ({ sendJson }) =>
      sendJson(503, {
        error: { code: 503, message: 'Loading model', type: 'unavailable_error' },
      }),
    unknown: {
      // It has the one model that it was started with; this one was started for chat alone.
      behaviour: ({ path, sendJson }) =>
        isChat(path)
          ? sendJson(400, {
              error: {
                code: 400,
                message: 'the request exceeds the available context size',
                type: 'exceed_context_size_error',
                n_prompt_tokens: 9_000,
                n_ctx: 4_096,
              },
            })
          : sendJson(501, {
              error: {
                code: 501,
                message: 'This server does not support embeddings.',
                type: 'not_supported_error',
              },
            }),
      why: /the provider answered (?:400|501)/,
    },
  },
  {
    name: 'LM Studio',
    // It counts no tokens of embeddings, and fences the JSON of some models.
    answer(exchange) {
      const { path, proper, sendJson } = exchange;
      if (isChat(path)) {
        return withMessage((content) => ({ content: `\`\`\`json\n${content}\n\`\`\`` }), {
          stats: {},
          system_fingerprint: 'qwen3-4b',
        })(exchange);
      }
      return sendJson(200, {
        ...(proper() as object),
        usage: { prompt_tokens: 0, total_tokens: 0 },
      });
    },
    // The error is a text.
    unknown: {
      behaviour: ({ sendJson }) => sendJson(400, { error: 'No models loaded. Please load one.' }),
      why: /the provider answered 400/,
    },
  },
];

let provider: ProviderServer | null = null;
afterEach(() => provider?.close());

/** A service whose model and embedder are on that server. */
async function openAt(behaviour: Behaviour) {
  provider = await startProviderServer({ reply: ({ messages }) => toReply(messages) });
  provider.always(behaviour);
  const { baseUrl } = provider;
  const quick = { baseUrl, retryDelayMs: 1, maxRetries: 3 };
  return openCore({
    model: model({ ...quick, name: 'qwen3:4b' }),
    embedder: embedder({ ...quick, name: 'nomic-embed-text', dimensions: 8 }),
  });
}

/** Files a fact, and selects the first line that it is shown. */
function toReply(messages: { content: string }[]): string {
  const prompt = messages.at(-1)?.content ?? '';
  if (isVerifying(prompt)) return JSON.stringify(passAll({ prompt }));
  if (prompt.endsWith('Plan the searches.')) return JSON.stringify({ searches: [] });
  if (prompt.endsWith('Select the lines.')) {
    return JSON.stringify({ lines: [{ path: 'user/profile.md', line: 1 }] });
  }
  const add = { path: 'user/profile.md', heading: null, lines: ['- The user drinks green tea.'] };
  const operation = { kind: 'add', reason: 'It is new.', remove: [], add, sources: [] };
  return JSON.stringify({ operations: [operation] });
}

describe.each(SERVERS)('with $name', ({ answer, loading, unknown }) => {
  it('files facts, finds by meaning and gathers context, with nothing else configured', async () => {
    const core = await openAt(answer);
    if (loading !== undefined) provider?.next(loading, loading);
    const { result: filed } = await call<{ writes: { path: string }[] }>(
      ...([core, 'alice', 'memory_remember', { text: 'The user drinks green tea.' }] as const),
    );
    expect(filed.writes).toMatchObject([{ path: 'user/profile.md' }]);
    await expect
      .poll(async () => (await find(core)).result)
      .toMatchObject({ mode: 'hybrid', results: [{ path: 'user/profile.md' }] });
    const { result } = await call<object>(core, 'alice', 'memory_context', {
      query: 'Which tea?',
      fill: false,
    });
    expect(result).toMatchObject({ mode: 'model', sources: [{ path: 'user/profile.md' }] });
    expect(provider?.violations).toEqual([]);
  });

  it('dreams, and a person can undo it', async () => {
    const path = 'user/profile.md';
    const content = '- Drinks green tea.\n- Drinks green tea.\n- Lives in Berlin.\n';
    const add = { path, heading: null, lines: ['- Drinks green tea.'] };
    const merge = operation({ kind: 'merge', remove: lines(path, content, 1, 2), add });
    const service = await openDreams({ settings: { applyWrites: 'auto' } });
    service.provider.always(answer);
    service.say(() => ({ operations: [merge] }));
    await service.write('alice', path, content);
    const run = await service.dream('alice');
    expect(run).toMatchObject({ outcome: 'applied' });
    expect(await service.read('alice', path)).toBe('- Drinks green tea.\n- Lives in Berlin.\n');
    expect(service.provider.violations).toEqual([]);
    expect((await service.admin('POST', `dream/runs/${run.id}/revert`, {})).status).toBe(200);
    expect(await service.read('alice', path)).toBe(content);
  });

  it('says why it cannot be used, while words still find', async () => {
    const core = await openAt(unknown.behaviour);
    const content = '- The user drinks green tea.\n';
    await call(core, 'alice', 'memory_write', { path: 'user/profile.md', content });
    const fact = { text: 'Forget what I drink.', forget: true };
    await expect(call(core, 'alice', 'memory_remember', fact)).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringMatching(unknown.why) as string,
    });
    const { result } = await find(core);
    expect(result).toMatchObject({
      mode: 'text',
      results: [{ path: 'user/profile.md' }],
      degraded: expect.stringMatching(unknown.why) as string,
    });
  });
});

const find = (core: Awaited<ReturnType<typeof openAt>>) =>
  call<object>(core, 'alice', 'memory_find', { query: 'green tea' });
