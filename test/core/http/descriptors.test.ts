import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { expect, it, onTestFinished, vi } from 'vitest';
import { listen } from '../../../core/http/server.ts';

const prlimit = (...args: string[]) =>
  spawnSync('prlimit', ['--pid', String(process.pid), ...args], { encoding: 'utf8' });

it('logs once that no descriptors are left, and answers again when there are', async (test) => {
  const before = prlimit('--raw', '--noheadings', '-o', 'SOFT', '--nofile').stdout?.trim() ?? '';
  if (before === '') return test.skip('needs prlimit: apt-get install util-linux');
  const held: number[] = [];
  const giveBack = () => {
    for (const file of held.splice(0)) closeSync(file);
  };
  onTestFinished(() => {
    giveBack();
    prlimit(`--nofile=${before}:`);
  });
  const error = vi.fn();
  const app = {
    callback: () => (_: unknown, response: { end(text: string): void }) => response.end('ok'),
  };
  const server = await listen(app, { host: '127.0.0.1', port: 0, log: { error } });
  onTestFinished(async () => void (await server.close({ graceMs: 0 })));
  expect(prlimit('--nofile=400:').status).toBe(0);
  expect(() => {
    for (;;) held.push(openSync(devNull, 'r'));
  }).toThrow('EMFILE');
  await vi.waitUntil(() => error.mock.calls.length > 0, { timeout: 30_000 });
  expect(error.mock.calls[0]?.[0]).toEqual({ code: 'EMFILE' });
  expect(error.mock.calls[0]?.[1]).toContain('ulimit -n');
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  expect(error).toHaveBeenCalledTimes(1);
  giveBack();
  const answer = await fetch(`http://127.0.0.1:${server.address.port}/`);
  expect(await answer.text()).toBe('ok');
});
