// A service that dreams, in a process that can be killed or stopped where a test says so.
//
//   node dreamer-process.mjs <sqlite file or mysql:// URL> [no-index]
//
// With `no-index` it leaves the search index to others. A process that is stopped may stand inside a
// transaction of its index, and holds its locks then: that is another fault than a run that stands.
//
// Takes commands as JSON lines on standard input, and answers each with a line on standard output:
// { do: 'write', userId, path, content }, { do: 'advance', ms }, { do: 'tick' },
// { do: 'spend', name, max, writes }, { do: 'admin', method, path, body }, and
// { do: 'arm', work, point, signal }: at that point of the next run, or of what is done with one, the
// process sends itself the signal.

import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { POINTS } from './points.mjs';
import { scriptedDreamer } from '../../support/scripted-dreamer.mjs';

const [database = '', index = ''] = process.argv.slice(2);
/** @param {string} path */
const load = (path) => import(new URL(`../../../dist/${path}`, import.meta.url).href);
const [
  { sqlite },
  { mysql },
  { createStorage },
  { createCore },
  { createApp },
  { serviceRoutes },
  { listen },
  { dreaming },
] = await Promise.all([
  load('plugins/storage-sqlite/index.js'),
  load('plugins/storage-mysql/index.js'),
  load('core/storage/storage.js'),
  load('core/service.js'),
  load('core/http/app.js'),
  load('core/http/routes.js'),
  load('core/http/server.js'),
  load('plugins/dreaming/index.js'),
]);
const ADMIN_SECRET = 'admin-secret-0123456789abcdef0123456789';

/** @type {{ work: keyof typeof POINTS, point: string, signal: NodeJS.Signals } | null} */
let armed = null;
let next = 0;

/** @param {string} point */
async function pass(point) {
  if (armed?.point !== point) return;
  const { signal } = armed;
  armed = null;
  // A process that stops inside a transaction of the access log would keep its locks, too.
  if (signal === 'SIGSTOP') await core.queue.flush();
  // Said before it happens, and nothing of this process runs in between.
  writeSync(1, '{"at":"the point"}\n');
  process.kill(process.pid, signal);
}

/**
 * A write of a run, with a point before it and one between its commit and its answer.
 *
 * @template {unknown[]} A
 * @template R
 * @param {(...args: A) => Promise<R>} write
 * @returns {(...args: A) => Promise<R>}
 */
function withPoints(write) {
  return async (...args) => {
    if (armed === null) return await write(...args);
    const point = POINTS[armed.work][next++] ?? 'beyond';
    await pass(`before ${point}`);
    const result = await write(...args);
    await pass(`after ${point}`);
    return result;
  };
}

const real = createStorage(
  database.includes('://')
    ? mysql({ url: database })
    : sqlite({ filename: database, lockTimeoutMs: 60_000 }),
);
/** @satisfies {Partial<import('../../../core/contracts/storage.ts').IndexStore>} */
const noIndex = { listStale: () => Promise.resolve([]) };
const dreams = real.runs.of('dreaming');
const storage = {
  ...real,
  mutate: withPoints(real.mutate.bind(real)),
  runs: { ...real.runs, of: () => ({ ...dreams, update: withPoints(dreams.update) }) },
  ...(index === 'no-index' ? { index: { ...real.index, ...noIndex } } : {}),
};
const model = scriptedDreamer({
  async onAsk() {
    await pass('model');
  },
});
let now = Date.UTC(2026, 0, 1);
const plugin = dreaming();
/** @type {any} */
let host = null;
const grab = {
  name: 'grab',
  apiVersion: 2,
  /** @param {unknown} given */
  setup(given) {
    host = given;
  },
};
const core = createCore({
  storage,
  model,
  adminSecret: ADMIN_SECRET,
  plugins: [plugin, grab],
  now: () => now,
});
await core.ready();
const app = createApp(core, serviceRoutes(core));
const server = await listen(app, { host: '127.0.0.1', port: 0 });

/** @type {Record<string, (command: any) => unknown>} */
const commands = {
  write: ({ userId, path, content }) =>
    core.tools.execute('memory_write', { context: { userId }, arguments: { path, content } }),
  advance({ ms }) {
    now += ms;
  },
  arm({ work = 'run', point, signal }) {
    armed = { work, point, signal };
    next = 0;
  },
  async tick() {
    const before = model.usage.calls;
    const report = await plugin.tick();
    return { ...report, asked: model.usage.calls - before };
  },
  /** What a person does at the admin API. */
  async admin({ method, path, body }) {
    const response = await fetch(`http://127.0.0.1:${server.address.port}/v1/admin/${path}`, {
      method,
      headers: { 'x-admin-secret': ADMIN_SECRET, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return await response.json();
  },
  /** So many writes at once under one budget; says how many went through. */
  async spend({ name, max, writes }) {
    const attempts = Array.from({ length: writes }, (_, n) =>
      host.write(
        [
          {
            scope: 'u:spender',
            path: `user/${name}-${process.pid}-${n}.md`,
            content: 'x',
            reason: '',
          },
        ],
        { actor: 'dream-agent', guards: [{ kind: 'budget', name, max }] },
      ),
    );
    const ends = await Promise.allSettled(attempts);
    return ends.filter(({ status }) => status === 'fulfilled').length;
  },
};

process.stdout.write('{"ready":true}\n');
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  /** @type {object} */
  let answer;
  try {
    answer = { result: (await commands[command.do]?.(command)) ?? null };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await server.close({ graceMs: 0 });
await core.close();
