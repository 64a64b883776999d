import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import type { AdminStatus } from '../../../core/contracts/admin.ts';
import { type RunningCommand, startCommand } from '../../support/command.ts';
import {
  type Behaviour,
  type ProviderServer,
  startProviderServer,
} from '../../support/provider-server/server.ts';
import { temporaryDirectory } from '../../support/service.ts';

const adminSecret = randomBytes(32).toString('base64url');

async function start(
  behaviour: Behaviour | null,
  env: Record<string, string> = {},
): Promise<{ server: ProviderServer; command: RunningCommand }> {
  const server = await startProviderServer({ models: ['small', 'judge'] });
  onTestFinished(() => server.close());
  server.always(behaviour);
  const command = await startCommand({
    cwd: await temporaryDirectory(),
    env: {
      SERVICE_ADMIN_SECRET: adminSecret,
      SERVICE_MODEL_PROVIDER: 'openai',
      SERVICE_MODEL_BASE_URL: server.baseUrl,
      SERVICE_MODEL_NAME: 'small',
      ...env,
    },
  });
  onTestFinished(() => void command.stop('SIGKILL'));
  return { server, command };
}

async function readStatus({ url }: RunningCommand): Promise<AdminStatus> {
  const headers = { 'x-admin-secret': adminSecret };
  return (await (await fetch(`${url}/v1/admin/status`, { headers })).json()) as AdminStatus;
}

const logOf = (command: RunningCommand) =>
  command
    .stderr()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { level: string; msg: string });

it('the start asks model and verifier once, by the list of models, and the status says that they answer', async () => {
  const { server, command } = await start(null, { SERVICE_VERIFIER_NAME: 'judge' });
  await expect.poll(async () => (await readStatus(command)).model.answers).toBe(true);
  await expect.poll(async () => (await readStatus(command)).verifier.answers).toBe(true);
  const { model, embedder } = await readStatus(command);
  expect(model).toMatchObject({ problem: null, at: expect.stringMatching(/^\d{4}-.*Z$/) });
  expect(embedder).toMatchObject({ configured: false, answers: null, problem: null, at: null });
  expect(server.received.map(({ path }) => path)).toEqual(['/v1/models', '/v1/models']);
  expect(logOf(command).filter(({ msg }) => /answer/.test(msg))).toEqual([]);
});

it('a model that does not answer is named with what to do in one line, and fails no health; so is its return', async () => {
  const { server, command } = await start(({ sendJson }) => sendJson(401, {}));
  await expect.poll(async () => (await readStatus(command)).model.answers).toBe(false);
  const problem = 'the provider answered 401; check the API key';
  expect((await readStatus(command)).model).toMatchObject({ configured: true, problem });
  expect((await fetch(`${command.url}/readyz`)).status).toBe(200);
  const remember = (text: string) =>
    fetch(`${command.url}/v1/tools/memory_remember/execute`, {
      method: 'POST',
      headers: { authorization: `Bearer ${command.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ context: { userId: 'ann' }, arguments: { text } }),
    });
  await remember('Drinks tea.');
  const lines = () => logOf(command).filter(({ msg }) => /model .*answer/.test(msg));
  expect(lines()).toMatchObject([
    { level: 'error', msg: `the model does not answer: ${problem}`, model: 'small' },
  ]);
  server.always(null);
  await remember('Likes dogs.');
  expect((await readStatus(command)).model).toMatchObject({ answers: true, problem: null });
  await expect
    .poll(() => lines().map(({ msg }) => msg))
    .toEqual([`the model does not answer: ${problem}`, 'the model answers again']);
});
