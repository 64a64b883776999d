import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { AdminDreamRunDetail } from '../../../core/schemas/dreams.ts';
import { startProviderServer } from '../../support/provider-server/server.ts';
import type { Bench } from './bench.ts';
import { ADMIN_SECRET, importService } from './service.ts';

/** What a scripted verifier says of an operation of this number and kind. */
export type Judge = (operation: { number: number; kind: string }) => string;

/** The service with dreaming, on a clock of its own, and a model behind the wire of OpenAI. */
export interface EditService {
  clock: { now: number };
  /** Calls of the model so far, and the characters that it was sent. */
  readonly usage: { calls: number; characters: number };
  /** What the model proposes from now on, and what it says when it is asked for verdicts. */
  script(operations: readonly object[], judge: Judge): void;
  /** A tool call in this process. Throws for an error. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever the tool says
  tool(userId: string, name: string, args: object): Promise<any>;
  /** A dream run that a person asks for, at its end. */
  dream(userId: string): Promise<AdminDreamRunDetail>;
  /** A person applies operations of a run; the run behind it. */
  apply(runId: string, operations: readonly number[]): Promise<AdminDreamRunDetail>;
  close(): Promise<void>;
}

/** Opens the built service on a SQLite file of its own. */
export async function openEditService(bench: Bench, start: number): Promise<EditService> {
  const { createMemoryService, sqlite, dreaming, openai } = await importService();
  const clock = { now: start };
  const usage = { calls: 0, characters: 0 };
  let operations: readonly object[] = [];
  let judge: Judge = () => 'unsure';
  const provider = await startProviderServer({
    reply(body) {
      const messages = body.messages as { content: string }[];
      const prompt = messages.map(({ content }) => content).join('\n');
      usage.calls += 1;
      usage.characters += prompt.length;
      const asked = [...prompt.matchAll(/^<operation-\w+ number="(\d+)" kind="(\w+)"/gm)];
      const verdicts = asked.map(([, number = '', kind = '']) => ({
        operation: Number(number),
        lost: [],
        added: [],
        verdict: judge({ number: Number(number), kind }),
      }));
      return JSON.stringify(asked.length > 0 ? { verdicts } : { operations });
    },
  });
  const plugin = dreaming();
  const service = createMemoryService({
    storage: sqlite({ filename: path.join(await bench.makeDirectory('edits'), 'memory.db') }),
    model: openai({ baseUrl: provider.baseUrl, name: 'scripted', maxRetries: 0 }),
    adminSecret: ADMIN_SECRET,
    plugins: [plugin],
    now: () => clock.now,
  });
  await service.start();
  const server = http.createServer(service.callback());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function ask<Body>(method: string, where: string, body?: object): Promise<Body> {
    const answer = await fetch(`${origin}/v1/${where}`, {
      method,
      headers: { 'x-admin-secret': ADMIN_SECRET, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as Body;
    if (!answer.ok) throw new Error(`${where} answered ${answer.status}: ${JSON.stringify(json)}`);
    return json;
  }
  const readRun = (id: string) => ask<AdminDreamRunDetail>('GET', `admin/dream/runs/${id}`);

  return {
    clock,
    usage,
    script(proposed, judged) {
      operations = proposed;
      judge = judged;
    },
    async tool(userId, name, args) {
      const { result } = await service.tools.execute(name, {
        context: { userId },
        arguments: args,
      });
      return result;
    },
    async dream(userId) {
      const { id } = await ask<{ id: string }>('POST', `admin/dream/users/${userId}/run`, {});
      await plugin.settle();
      return await readRun(id);
    },
    async apply(id, numbers) {
      await ask('POST', `admin/dream/runs/${id}/apply`, { operations: numbers });
      return await readRun(id);
    },
    async close() {
      await new Promise((done) => server.close(done));
      await service.close();
      await provider.close();
      if (provider.violations.length > 0) throw new Error(provider.violations.join('; '));
    },
  };
}
