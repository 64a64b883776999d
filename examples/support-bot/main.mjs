// A support bot for two customers: policies of each in a space, a memory for each person, a key of its own
// for the bot, a nightly dream that waits for review, and one customer who leaves.
//
//   node examples/support-bot/main.mjs

import { createMemoryService } from 'memory-service';
import { dreaming } from 'memory-service/plugins/dreaming';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
import { randomBytes } from 'node:crypto';
import { nightlyModel } from './nightly-model.mjs';

const adminSecret = randomBytes(24).toString('hex');
const dreams = dreaming();
const service = createMemoryService({
  storage: sqlite({ filename: ':memory:' }),
  adminSecret,
  apiKey: randomBytes(24).toString('hex'),
  model: nightlyModel,
  plugins: [dreams],
});
await service.start();
const server = service.app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());

/**
 * Sends JSON, and returns the JSON of the answer, an error too.
 *
 * @param {string} method
 * @param {string} path
 * @param {Record<string, string>} headers
 * @param {object} [body]
 * @returns {Promise<any>}
 */
async function send(method, path, headers, body) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return response.json();
}

/** @param {string} method @param {string} path @param {object} [body] */
const admin = (method, path, body) =>
  send(method, `admin/${path}`, { 'x-admin-secret': adminSecret }, body);

// #region spaces
console.log('1. Each customer gets a space for its policies.');
for (const [customer, refunds] of [
  ['acme', 'Refunds within 30 days.'],
  ['globex', 'Refunds within 14 days, store credit only.'],
]) {
  const id = `${customer}:policies`;
  await admin('POST', 'spaces', { id, name: `Policies of ${customer}` });
  const content = `# Refunds\n\n- ${refunds}\n`;
  await admin('PUT', `files/spaces/${id}/refunds.md`, { content, reason: 'Signed contract.' });
}
// #endregion

// #region key
console.log('\n2. Keys: the bot reads, the desk of each customer writes.');
const bot = await admin('POST', 'keys', {
  name: 'support-bot',
  users: ['acme:*', 'globex:*'],
  spaces: ['acme:*:read', 'globex:*:read'],
  tools: ['read'],
});
const desk = await admin('POST', 'keys', { name: 'acme-desk', users: ['acme:*'] });
// #endregion

/**
 * Calls a tool as the bot or as a desk: for a person, with the policies of the person's customer.
 *
 * @param {{ key: string }} key
 * @param {{ userId: string, customer?: string }} person
 * @param {string} tool
 * @param {object} args
 */
async function callTool({ key }, { userId, customer }, tool, args) {
  const spaces = customer === undefined ? [] : [{ id: `${customer}:policies`, access: 'read' }];
  const body = { context: { userId, spaces }, arguments: args };
  const headers = { authorization: `Bearer ${key}` };
  const answer = await send('POST', `tools/${tool}/execute`, headers, body);
  return answer.error?.code ?? answer.result;
}

// #region memory
console.log('\n3. Each person has a memory of their own.');
const notes = '# Notes\n\n- Prefers e-mail\n- Order 1042 came late\n- Prefers e-mail\n';
await callTool(desk, { userId: 'acme:ann' }, 'memory_write', {
  path: 'user/notes.md',
  content: notes,
});
await admin('PUT', 'files/users/globex:gus/notes.md', { content: '- Prefers the phone\n' });

const ann = { userId: 'acme:ann', customer: 'acme' };
const found = await callTool(bot, ann, 'memory_find', { query: 'refunds within days' });
console.log('   Ann asks about refunds:', found.results[0].path);
const policy = await callTool(bot, ann, 'memory_read', { path: found.results[0].path });
console.log(`   ${policy.content.trim().split('\n').at(-1)}`);
// #endregion

// #region refusals
console.log('\n4. What the keys do not allow:');
const write = { path: 'user/notes.md', content: 'x' };
const elsewhere = { path: 'spaces/globex:policies/refunds.md' };
console.log('   the bot writes:', await callTool(bot, ann, 'memory_write', write));
console.log('   Ann’s call reads Globex:', await callTool(bot, ann, 'memory_read', elsewhere));
const gus = { userId: 'globex:gus' };
console.log('   the desk of Acme as Gus:', await callTool(desk, gus, 'memory_list', {}));
// #endregion

// #region dream
console.log('\n5. The nightly dream proposes, and a person decides.');
await admin('PUT', 'dream/config', { dream_mode: 'review' });
const { id } = await admin('POST', 'dream/users/acme:ann/run', {});
await dreams.settle();
const run = await admin('GET', `dream/runs/${id}`);
for (const { number, kind, reason, status } of run.operations) {
  console.log(`   ${number}. ${kind}: ${reason} (${status})`);
}
const numbers = run.operations.map((/** @type {{ number: number }} */ one) => one.number);
await admin('POST', `dream/runs/${id}/apply`, { operations: numbers });
const { file } = await admin('GET', 'files/users/acme:ann/notes.md');
console.log(`   ${file.content.trim().split('\n').slice(2).join('\n   ')}`);
// #endregion

// #region erase
console.log('\n6. Globex leaves: its users and spaces are erased.');
const prefix = 'globex:*';
const { users, spaces } = await admin('POST', 'erase', { prefix, dryRun: true });
console.log(`   ${users} user and ${spaces} space match ${prefix}`);
const erased = await admin('POST', 'erase', { prefix, confirm: { prefix, users, spaces } });
for (const { userId, spaceId, left } of erased.receipts) {
  console.log(`   erased ${userId ?? `spaces/${spaceId}`}, rows left: ${Object.keys(left).length}`);
}
const { items } = await admin('GET', 'files');
console.log(
  '   what is left:',
  items.map((/** @type {{ path: string }} */ one) => one.path),
);
// #endregion

server.close();
server.closeAllConnections();
await service.close();
