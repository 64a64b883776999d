// `node docs/generator/dream-example.mjs`: dreams of the memory of three users of the demo, with the
// scripted model of the demo in every part, and writes docs/guides/what-a-dream-changes.md from what the
// service answers. It takes the built service; the clock is fixed, so that the page stays the same.

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import prettier from 'prettier';

const ROOT = path.resolve(import.meta.dirname, '../..');
const PAGE = path.join(ROOT, 'docs/guides/what-a-dream-changes.md');
const USERS = ['maya.chen', 'jonas.weber', 'lena.fischer'];
const SECRET = 'the-secret-of-a-page-that-guards-nothing';
const HOUR = 60 * 60 * 1000;

const dist = (/** @type {string} */ file) =>
  import(new URL(`../../dist/${file}`, import.meta.url).href);
const { createMemoryService } = await dist('core/index.js');
const { sqlite } = await dist('plugins/storage-sqlite/index.js');
const { dreaming } = await dist('plugins/dreaming/index.js');
const { readDemo } = await dist('core/demo/demo-data.js');
const { demoModel, toSaid } = await dist('core/demo/demo-model.js');

/** @import { AdminDreamOperation, AdminDreamRunDetail } from '../../core/schemas/dreams.ts' */
/** @typedef {{ path: string, content: string }} MemoryFile */

const demo = await readDemo();
const scripted = demoModel(demo.users);
/** @type {number[]} Characters of each question: what is told, what is shown, and the form of the reply. */
const asked = [];
const model = {
  ...scripted,
  /** @param {{ system: string, prompt: string, schema: object }} request */
  generate(request) {
    const { system, prompt, schema } = request;
    asked.push(system.length + prompt.length + JSON.stringify(schema).length);
    return scripted.generate(request);
  },
};
const clock = { now: Date.UTC(2026, 0, 12, 9) };
const directory = mkdtempSync(path.join(tmpdir(), 'dream-example-'));
const plugin = dreaming();
const service = createMemoryService({
  storage: sqlite({ filename: path.join(directory, 'memory.db') }),
  model,
  adminSecret: SECRET,
  plugins: [plugin],
  now: () => clock.now,
});
await service.start();
const server = http.createServer(service.callback()).listen(0, '127.0.0.1');
await once(server, 'listening');
try {
  const sections = [];
  for (const userId of USERS) sections.push(await describeUser(userId));
  const options = { ...(await prettier.resolveConfig(PAGE)), filepath: PAGE };
  writeFileSync(PAGE, await prettier.format(toPage(sections), options));
} finally {
  server.close();
  server.closeAllConnections();
  await service.close();
  rmSync(directory, { recursive: true });
}

/** @param {string} userId */
async function describeUser(userId) {
  await fillMemory(userId);
  const before = await readMemory(userId);
  asked.length = 0;
  const { id } = await ask('POST', `users/${userId}/run`, {});
  await plugin.settle();
  /** @type {AdminDreamRunDetail} */
  const run = await ask('GET', `runs/${id}`);
  const sizes = [...asked];
  const waiting = run.operations.filter(({ status }) => status === 'waiting');
  if (waiting.length > 0) {
    await ask('POST', `runs/${id}/apply`, { operations: waiting.map(({ number }) => number) });
  }
  const after = await readMemory(userId);
  return { userId, before, after, run, sizes };
}

/** The first files of the demo, then each fact, as an agent tells them. @param {string} userId */
async function fillMemory(userId) {
  const user = demo.users.find((/** @type {{ userId: string }} */ one) => one.userId === userId);
  for (const file of user.files) {
    const content = file.content;
    await call(userId, 'memory_write', { path: `user/${file.path}`, content });
  }
  for (const fact of user.facts) {
    clock.now += 24 * HOUR;
    await call(userId, 'memory_remember', { text: toSaid(fact) });
  }
}

/** @param {string} userId @returns {Promise<MemoryFile[]>} */
async function readMemory(userId) {
  const { files } = await call(userId, 'memory_list', { path: 'user/', limit: 500 });
  const own = files.filter((/** @type {MemoryFile} */ file) => file.path !== 'user/dream-log.md');
  return await Promise.all(
    own.map(async (/** @type {MemoryFile} */ { path: name }) => ({
      path: name,
      content: (await call(userId, 'memory_read', { path: name })).content,
    })),
  );
}

/** @param {string} userId @param {string} tool @param {object} args */
async function call(userId, tool, args) {
  return (await service.tools.execute(tool, { context: { userId }, arguments: args })).result;
}

/** @param {string} method @param {string} where @param {object} [body] @returns {Promise<any>} */
async function ask(method, where, body) {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const answer = await fetch(`http://127.0.0.1:${port}/v1/admin/dream/${where}`, {
    method,
    headers: { 'x-admin-secret': SECRET, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${where} answered ${answer.status}.`);
  return await answer.json();
}

/** @param {Awaited<ReturnType<typeof describeUser>>[]} sections */
function toPage(sections) {
  const bytes = (/** @type {readonly MemoryFile[]} */ files) =>
    files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  const count = (/** @type {AdminDreamRunDetail} */ run, /** @type {string} */ status) =>
    run.operations.filter((one) => one.status === status).length;
  const rows = sections.map(
    ({ userId, before, after, run, sizes }) =>
      `| ${userId} | ${count(run, 'applied')} | ${count(run, 'waiting')} | ${count(run, 'dropped')} | ` +
      `${bytes(before)} | ${bytes(after)} | ${sizes.join(', ')} |`,
  );
  return [
    '# What a dream changes',
    '<!-- Written by docs/generator/dream-example.mjs from the answers of the service. -->',
    'One [dream run](../concepts/dreaming.md) for each of three users of the demo, in `auto` mode. The ' +
      'scripted model of the demo proposes the operations and passes each of them as the verifier; a ' +
      'person then applies what waits. Signals decide what a person has to look at.',
    '| user | applied | waiting | dropped | bytes before | bytes after | characters of each question |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
    'The questions are those of the proposer and of the verifier: what the model is told, what it is ' +
      'shown, and the form of the reply. Bytes are those of memory without the log of dreams.',
    '![The review screen of the console](../images/console-dream-review.webp)',
    '## The size of the questions',
    'For the first files of the same users, in characters: what the model is told with the form of its ' +
      'reply, which providers cache, and what it is shown (maya.chen, jonas.weber, lena.fischer). Before ' +
      'is commit `e2e2f8e`, which had no dates, no worked examples, and no verifier.',
    '| question | told before | told now | shown before | shown now |',
    '| --- | --- | --- | --- | --- |',
    '| dream (`dream-2`, `dream-3`) | 3105 | 5362 | 1324, 917, 977 | 1792, 1232, 1268 |',
    '| remember (now `remember-2`) | 2702 | 4630 | 1541, 1125, 1204 | 1586, 1170, 1249 |',
    '',
    ...sections.flatMap(describe),
  ]
    .join('\n\n')
    .replaceAll('|\n\n|', '|\n|');
}

/** @param {Awaited<ReturnType<typeof describeUser>>} section */
function describe({ userId, before, after, run }) {
  const changed = after.filter(
    ({ path: name, content }) => before.find((file) => file.path === name)?.content !== content,
  );
  return [
    `## ${userId}`,
    ...run.operations.map(toItem),
    ...changed.flatMap(({ path: name, content }) => [
      `\`${name}\` before:`,
      toBlock(before.find((file) => file.path === name)?.content ?? ''),
      'After the run, and after a person applied what waited:',
      toBlock(content),
    ]),
  ];
}

/** @param {AdminDreamOperation} operation */
function toItem({ number, kind, status, why, signals, remove, add }) {
  const lines = [
    ...remove.map(({ text }) => `- ${text}`),
    ...(add?.lines ?? []).map((text) => `+ ${text}`),
  ];
  const told = [why ?? '', signals.length === 0 ? '' : `Signals: ${signals.join(', ')}.`];
  return `${number}. **${kind}, ${status}.** ${told.join(' ').trim()}\n\n\`\`\`diff\n${lines.join('\n')}\n\`\`\``;
}

/** @param {string} text */
function toBlock(text) {
  return `\`\`\`markdown\n${text.trimEnd()}\n\`\`\``;
}
