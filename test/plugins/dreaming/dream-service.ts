import { onTestFinished } from 'vitest';
import type { CoreConfig } from '../../../core/service.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import { dreaming, type DreamingPlugin } from '../../../plugins/dreaming/index.ts';
import { openai } from '../../../plugins/model-openai/index.ts';
import { asAdmin, type Answer, type LiveServer, serveCore } from '../../core/http/serve.ts';
import { type ManualClock, manualClock } from '../../support/clock.ts';
import { type ProviderServer, startProviderServer } from '../../support/provider-server/server.ts';
import { passAll } from '../../support/scripted-dreamer.mjs';
import { call } from '../../support/service.ts';

/** What a scripted model says to a prompt. */
export type Script = (prompt: string) => unknown;

/** A service that dreams, with a model of the test's own over the wire of OpenAI. */
export interface DreamService extends LiveServer {
  readonly plugin: DreamingPlugin;
  readonly provider: ProviderServer;
  readonly clock: ManualClock;
  /** What the model says from now on. */
  say(script: Script): void;
  /** What the verifier says from now on; by default it passes all. */
  judge(script: Script): void;
  /** Writes as the user's agent. */
  write(userId: string, path: string, content: string): Promise<void>;
  read(userId: string, path: string): Promise<string | null>;
  admin(method: string, path: string, body?: unknown): Promise<Answer>;
  /** A run that a person asks for, waited for until it has ended or awaits review. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever the service said
  dream(userId: string, body?: object): Promise<any>;
}

export interface DreamServiceOptions {
  config?: Partial<CoreConfig>;
  storage?: Storage;
  clock?: ManualClock;
  provider?: ProviderServer;
  settings?: object;
}

export const MINUTE = 60_000;

/** Opens the service on a real SQLite file, or on the storage that is given. */
export async function openDreams(options: DreamServiceOptions = {}): Promise<DreamService> {
  const clock = options.clock ?? manualClock();
  let script: Script = () => ({ operations: [] });
  let verifier: Script = passAll;
  const answer = (prompt: string) => (isVerifying(prompt) ? verifier : script)(prompt);
  const provider =
    options.provider ??
    (await startProviderServer({ reply: (body) => toText(answer(promptOf(body))) }));
  if (options.provider === undefined) onTestFinished(() => provider.close());
  const plugin = dreaming();
  const { plugins = [], ...config } = options.config ?? {};
  const live = await serveCore({
    model: openai({ baseUrl: provider.baseUrl, name: 'scripted', maxRetries: 0 }),
    now: clock.now,
    plugins: [plugin, ...plugins],
    ...(options.storage === undefined ? {} : { storage: options.storage }),
    ...config,
  });
  const admin = (method: string, path: string, body?: unknown) =>
    live.request(method, `/v1/admin/${path}`, {
      headers: asAdmin,
      ...(body === undefined ? {} : { body }),
    });
  if (options.settings !== undefined) await admin('PUT', 'dream/config', options.settings);
  return {
    ...live,
    plugin,
    provider,
    clock,
    admin,
    say(next) {
      script = next;
    },
    judge(next) {
      verifier = next;
    },
    async write(userId, path, content) {
      await call(live.core, userId, 'memory_write', { path, content });
    },
    async read(userId, path) {
      const file = await live.core.storage.files.get({
        scope: `u:${userId}`,
        path: path.slice('user/'.length),
      });
      return file?.content ?? null;
    },
    async dream(userId, body = {}) {
      const begun = await admin('POST', `dream/users/${userId}/run`, body);
      if (begun.status !== 202) return begun.json;
      await plugin.settle();
      return (await admin('GET', `dream/runs/${begun.json.id}`)).json;
    },
  };
}

/** The prompt of a request to the model. */
function promptOf(body: { messages: { role: string; content: string }[] }): string {
  return body.messages.find(({ role }) => role === 'user')?.content ?? '';
}

/** Whether a prompt asks for verdicts. */
export function isVerifying(prompt: string): boolean {
  return prompt.includes('\n<operation-');
}

/** A text as it is; anything else as JSON. */
function toText(said: unknown): string {
  return typeof said === 'string' ? said : JSON.stringify(said);
}

interface Line {
  path: string;
  line: number;
  text: string;
}

/** An operation as a model proposes it. */
export interface Proposed {
  kind: string;
  reason: string;
  remove: Line[];
  add: { path: string; heading: string | null; lines: string[] } | null;
  sources: (Omit<Line, 'text'> & { text?: string })[];
}

/** An operation with the least that it needs. */
export function operation(more: Partial<Proposed> & Pick<Proposed, 'kind'>): Proposed {
  return { reason: 'as it should be', remove: [], add: null, sources: [], ...more };
}

/** Verdicts by the numbers of operations. */
export function verdicts(said: Readonly<Record<number, string>>) {
  return () => ({
    verdicts: Object.entries(said).map(([number, verdict]) => ({
      operation: Number(number),
      lost: [],
      added: [],
      verdict,
    })),
  });
}

/** Lines of a file by their numbers, with their texts. */
export function lines(path: string, content: string, ...numbers: number[]): Line[] {
  const all = content.split('\n');
  return numbers.map((line) => ({ path, line, text: all[line - 1] ?? '' }));
}
