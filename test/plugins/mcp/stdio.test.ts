import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { ToolRequest, ToolRunner } from '../../../core/contracts/tool.ts';
import { toFailedOutcome } from '../../../adapters/runner.ts';
import { MemoryError } from '../../../core/errors.ts';
import { serveStdio } from '../../../plugins/mcp/index.ts';
import { serveMcp } from './clients.ts';
import { toErrorResult } from '../../../plugins/mcp/tool-result.ts';

/** A runner whose calls wait until they are let go. */
function gatedRunner() {
  const calls: ToolRequest[] = [];
  const gate = new EventTarget();
  const runner: ToolRunner = {
    listTools: async () => [],
    async execute(_name, request) {
      calls.push(request);
      gate.dispatchEvent(new Event('called'));
      await Promise.race([
        once(gate, 'go'),
        ...(request.signal === undefined ? [] : [once(request.signal, 'abort')]),
      ]);
      return { result: { ok: true }, traceId: 't', toolCallId: 'c', durationMs: 1 };
    },
  };
  return { runner, calls, gate, called: () => once(gate, 'called') };
}

function streams() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const said: { id: number; result?: unknown }[] = [];
  output.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.trim().split('\n')) said.push(JSON.parse(line) as { id: number });
  });
  const send = (message: object) =>
    input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const call = (id: number) =>
    send({ id, method: 'tools/call', params: { name: 'memory_read', arguments: {} } });
  return { input, output, said, send, call };
}

describe('serving over streams', () => {
  it.each([
    ['nested too deeply', '[', 'more than 32 levels'],
    ['made of too many lists', '[],', 'more than 10000 lists and objects'],
    ['longer than any call', ' ', 'at most 8388608 characters'],
  ])('refuses a message that is %s, and goes on', async (_what, part, why) => {
    const { runner, gate, calls } = gatedRunner();
    const { input, output, said, call } = streams();
    const served = serveStdio(runner, { userId: 'alice', input, output });
    input.write(
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":[${part.repeat((part === ' ' ? 9_000_000 : 6_000_000) / part.length)}\n`,
    );
    await expect.poll(() => said.length).toBe(1);
    expect(said[0]).toMatchObject({
      id: null,
      error: { code: -32_600, message: expect.stringContaining(why) },
    });
    call(2);
    await expect.poll(() => calls.length).toBe(1);
    gate.dispatchEvent(new Event('go'));
    await expect.poll(() => said.length).toBe(2);
    expect(said[1]).toMatchObject({ id: 2 });
    input.end();
    await served;
  });

  it('tells of changes of the files that a client has subscribed to, whoever writes', async () => {
    const { service } = await serveMcp();
    const { input, output, said, send } = streams();
    const options = { userId: 'alice', input, output, pollMs: 20 };
    const served = serveStdio(service.tools, options);
    const write = (path: string, content: string) => ({ path, content });
    const context = { userId: 'alice' };
    const updatesOf = (uri: string) =>
      (said as { method?: string; params?: { uri: string } }[]).filter(
        ({ method, params }) => method === 'notifications/resources/updated' && params?.uri === uri,
      ).length;
    const [tea, later] = ['memory://user/tea.md', 'memory://user/later.md'];
    for (const [id, uri] of [tea, later].entries()) {
      send({ id, method: 'resources/subscribe', params: { uri } });
    }
    send({ id: 2, method: 'resources/subscribe', params: { uri: 'file:///etc/passwd' } });
    await expect.poll(() => said.length).toBe(3);
    expect(said.find(({ id }) => id === 2)).toMatchObject({ error: { code: -32_602 } });
    // Another client of the same memory.
    const one = write('user/tea.md', 'Green.');
    await service.tools.execute('memory_write', { context, arguments: one });
    await expect.poll(() => updatesOf(tea)).toBe(1);
    // The client itself.
    const params = { name: 'memory_write', arguments: write('user/later.md', 'Black.') };
    send({ id: 3, method: 'tools/call', params });
    await expect.poll(() => updatesOf(later)).toBe(1);
    send({ id: 4, method: 'resources/unsubscribe', params: { uri: tea } });
    await expect.poll(() => said.some(({ id }) => id === 4)).toBe(true);
    for (const path of ['user/tea.md', 'user/later.md']) {
      const two = write(path, 'None.');
      await service.tools.execute('memory_write', { context, arguments: two });
    }
    await expect.poll(() => updatesOf(later)).toBe(2);
    expect(updatesOf(tea)).toBe(1);
    input.end();
    await served;
  });

  it('offers no subscription over HTTP, where no stream stays open', async () => {
    const client = await (await serveMcp()).connect('alice');
    expect(client.getServerCapabilities()?.resources).toEqual({});
    const uri = 'memory://user/tea.md';
    await expect(client.subscribeResource({ uri })).rejects.toMatchObject({ code: -32_601 });
  });

  it('answers what is under way when the input ends, and ends then', async () => {
    const { runner, gate, called } = gatedRunner();
    const { input, output, said, call } = streams();
    const served = serveStdio(runner, { userId: 'alice', input, output });
    const isCalled = called();
    call(1);
    await isCalled;
    input.end();
    await once(input, 'end');
    expect(said).toEqual([]);
    gate.dispatchEvent(new Event('go'));
    await served;
    expect(said).toMatchObject([{ id: 1, result: { structuredContent: { ok: true } } }]);
  });

  it('does not wait for a call that was cancelled, and stops it', async () => {
    const { runner, calls, called } = gatedRunner();
    const { input, output, said, call, send } = streams();
    const served = serveStdio(runner, { userId: 'alice', actor: 'editor', input, output });
    const isCalled = called();
    call(1);
    await isCalled;
    send({ method: 'notifications/cancelled', params: { requestId: 1 } });
    input.end();
    await served;
    expect(said).toEqual([]);
    expect(calls).toMatchObject([{ context: { userId: 'alice', actor: 'editor' } }]);
    expect(calls[0]?.signal?.aborted).toBe(true);
  });

  it('ends when it is told to, and when nobody reads the answers any more', async () => {
    const { runner } = gatedRunner();
    const end = new AbortController();
    const told = streams();
    const first = serveStdio(runner, { userId: 'alice', ...told, signal: end.signal });
    end.abort();
    await first;

    const unread = streams();
    const second = serveStdio(runner, { userId: 'alice', ...unread });
    unread.output.destroy(new Error('EPIPE'));
    await second;
    expect(unread.said).toEqual([]);
  });

  it('reads messages with CRLF, blank lines, a BOM, cut anywhere, and none behind the last', async () => {
    const { runner } = gatedRunner();
    const { input, output, said } = streams();
    const errors: Error[] = [];
    const onError = (error: Error) => void errors.push(error);
    const served = serveStdio(runner, { userId: 'alice', input, output, onError });
    const ping = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params: {} });
    const bytes = Buffer.from(`\uFEFF${ping(1)}\r\n\r\n\n  \n${ping(2)}\n\r\n${ping(3)}`);
    for (const byte of bytes) input.write(Buffer.of(byte));
    input.end();
    await served;
    expect(errors).toEqual([]);
    expect(said.map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  it('ends quietly when reading fails, as when a client is killed', async () => {
    const { input, output } = streams();
    const served = serveStdio(gatedRunner().runner, { userId: 'alice', input, output });
    input.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    await served;
    expect(output.destroyed).toBe(false);
  });

  it('waits until the client has taken the last answer', async () => {
    const { runner } = gatedRunner();
    const input = new PassThrough();
    let take: () => void = () => undefined;
    const taken: string[] = [];
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        take = () => {
          taken.push(chunk.toString('utf8'));
          done();
        };
      },
    });
    let isOver = false;
    const served = serveStdio(runner, { userId: 'alice', input, output }).then(
      () => (isOver = true),
    );
    input.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await once(input, 'end');
    await expect.poll(() => output.writableLength).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(isOver).toBe(false);
    take();
    await expect.poll(() => taken.length).toBe(1);
    take();
    await served;
    expect(taken[0]).toContain('"id":1');
  });

  it('tells of a line that is no message, and goes on', async () => {
    const { runner } = gatedRunner();
    const { input, output, said, send } = streams();
    const errors: Error[] = [];
    const onError = (error: Error) => void errors.push(error);
    const served = serveStdio(runner, { userId: 'alice', input, output, onError });
    input.write('{"broken"\n');
    send({ id: 7, method: 'ping' });
    input.end();
    await served;
    expect(errors).toHaveLength(1);
    expect(said).toMatchObject([{ id: 7, result: {} }]);
  });
});

it('an error reads as it does in every adapter', () => {
  const error = new MemoryError('VERSION_CONFLICT', 'It is at version 7.', {
    details: { actual: 7 },
    retryAfterSeconds: 3,
  });
  const { text } = toFailedOutcome(error);
  expect(toErrorResult(error).content).toEqual([{ type: 'text', text }]);
  expect(text.split('\n')).toHaveLength(4);
  const newer = { ...error, code: 'OF_TOMORROW' as never, message: 'New.' };
  expect(toErrorResult(newer).content).toEqual([
    { type: 'text', text: toFailedOutcome(newer).text },
  ]);
});
