import { expect, onTestFinished } from 'vitest';
import type { CoreConfig } from '../../core/service.ts';
import type { ModelProvider } from '../../core/contracts/model-provider.ts';
import { openai as embedder } from '../../plugins/embedder-openai/index.ts';
import { anthropic } from '../../plugins/model-anthropic/index.ts';
import { openai } from '../../plugins/model-openai/index.ts';
import { asAgent, type LiveServer, serveCore } from '../core/http/serve.ts';
import { embedMeaning } from './provider-server/embed.ts';
import { type ProviderServer, startProviderServer } from './provider-server/server.ts';

/** What the scripted model is asked, and how often it was before. */
export interface Asked {
  system: string;
  prompt: string;
  /** From 1. */
  round: number;
}

/** A service over HTTP whose model is the test's, behind a provider on loopback. */
export interface ModelService extends LiveServer {
  readonly provider: ProviderServer;
  /** Every question so far, without those to the verifier. */
  readonly asked: Asked[];
  /** The questions to the verifier. */
  readonly judged: Asked[];
  /** How long the model is waited for, from the next question on; 20 s at first. */
  modelTimeoutMs: number;
  /** Sets what the model says from now on: text as it is, anything else as JSON. */
  says(answer: (asked: Asked) => unknown): void;
  /** Sets what the verifier says from now on; by default it passes everything. */
  judges(verdict: (asked: Asked) => unknown): void;
  execute(
    tool: string,
    args: object,
    options?: { userId?: string; idempotencyKey?: string },
  ): ReturnType<LiveServer['request']>;
  write(path: string, content: string, userId?: string): Promise<void>;
  /** A file as it is now; `null` when there is none. */
  read(path: string, userId?: string): Promise<string | null>;
  /** Ends when each passage has its vector. */
  embed(): Promise<void>;
}

export async function serveWithModel(
  config: Partial<CoreConfig> = {},
  options: { hasEmbedder?: boolean; speaks?: 'openai' | 'anthropic' } = {},
): Promise<ModelService> {
  const asked: Asked[] = [];
  const judged: Asked[] = [];
  let judge: (asked: Asked) => unknown = passAll;
  let answer: (asked: Asked) => unknown = () => ({ operations: [] });
  const provider = await startProviderServer({
    embed: embedMeaning,
    reply(body) {
      const messages = body.messages as { role: string; content: string }[];
      const toText = (role: string) => messages.find((one) => one.role === role)?.content ?? '';
      const entry = { system: body.system ?? toText('system'), prompt: toText('user'), round: 0 };
      const name = body.response_format?.json_schema?.name ?? body.tool_choice?.name;
      const isVerdict = name === 'memory_edit_verdicts';
      const list = isVerdict ? judged : asked;
      list.push(entry);
      entry.round = list.length;
      const said = (isVerdict ? judge : answer)(entry);
      return typeof said === 'string' ? said : JSON.stringify(said);
    },
  });
  onTestFinished(async () => {
    await provider.close();
    expect(provider.violations).toEqual([]);
  });
  const { hasEmbedder = false, speaks = 'openai' } = options;
  const { baseUrl, origin } = provider;
  const common = { apiKey: 'test', name: 'scripted', maxRetries: 0 };
  const openModel = (timeoutMs: number) =>
    speaks === 'openai'
      ? openai({ ...common, baseUrl, timeoutMs })
      : anthropic({ ...common, baseUrl: origin, timeoutMs });
  const model: ModelProvider = {
    ...openModel(1),
    generate: (request) => openModel(service.modelTimeoutMs).generate(request),
  };
  const server = await serveCore({
    model,
    ...(hasEmbedder
      ? { embedder: embedder({ baseUrl, name: 'meaning', dimensions: 8, maxRetries: 0 }) }
      : {}),
    ...config,
  });
  const execute: ModelService['execute'] = (tool, args, more = {}) => {
    const { userId = 'alice', idempotencyKey } = more;
    return server.request('POST', `/v1/tools/${tool}/execute`, {
      headers: {
        ...asAgent,
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: { context: { userId }, arguments: args },
    });
  };
  const service: ModelService = {
    ...server,
    provider,
    asked,
    judged,
    modelTimeoutMs: 20_000,
    execute,
    says(next) {
      asked.length = 0;
      judged.length = 0;
      answer = next;
    },
    judges(next) {
      judge = next;
    },
    async write(path, content, userId) {
      const more = userId === undefined ? {} : { userId };
      const { status, text } = await execute('memory_write', { path, content }, more);
      if (status !== 200) throw new Error(text);
    },
    async read(path, userId) {
      const more = userId === undefined ? {} : { userId };
      const { status, json } = await execute('memory_read', { path }, more);
      return status === 200 ? (json.result.content as string) : null;
    },
    async embed() {
      await server.core.indexer.drain();
      await server.core.embeddings?.drain();
    },
  };
  return service;
}

/** The verdict that lets each operation of a question pass. */
export function passAll({ prompt }: Pick<Asked, 'prompt'>): object {
  const shown = [...prompt.matchAll(/^<operation-[0-9a-f]+ number="(\d+)" kind="(\w+)">$/gm)];
  const verdicts = shown.map(([, number, kind = '']) => ({
    operation: Number(number),
    lost: [],
    added: [],
    verdict: ['supersede', 'update'].includes(kind) ? 'replaces' : 'keeps',
  }));
  return { verdicts };
}
