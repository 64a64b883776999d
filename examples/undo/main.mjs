// A poisoned line is found, and what followed from it is undone. The operator's requests.
//
//   node examples/undo/main.mjs

import { createMemoryService } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
import { randomBytes } from 'node:crypto';
import { playSecondMail, playStory } from './story.mjs';

/** @typedef {{ path: string, revisionId: string, probably: boolean }} Read */
/** @typedef {{ startLine: number, endLine: number, revisionId: string, actor: string, reason: string, tool: string, toolCallId: string }} Blame */
/** @typedef {{ path: string, outcome: string, version: number | null, why: string | null, diff: string }} Reverted */

const adminSecret = randomBytes(24).toString('hex');
const service = createMemoryService({ storage: sqlite({ filename: ':memory:' }), adminSecret });
await service.ready();
await playStory(service);
const server = service.app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const baseUrl = `http://127.0.0.1:${port}`;

/**
 * Sends a request to the service, and prints it.
 *
 * @param {string} path
 * @param {object} [body] Makes it a POST.
 * @returns {Promise<any>}
 */
async function ask(path, body) {
  console.log(`\n${body === undefined ? 'GET' : 'POST'} ${shorten(path)}`);
  if (body !== undefined) console.log(`     ${shorten(JSON.stringify(body))}`);
  const response = await fetch(baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-admin-secret': adminSecret, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

// #region blame
console.log('1. Who wrote the line?');
/** @type {{ file: { content: string }, blame: Blame[] }} */
const { file, blame } = await ask('/v1/admin/files/users/anna/suppliers.md?blame=true');
const lines = file.content.split('\n');
for (const { startLine, endLine, actor, tool, reason } of blame) {
  print(lines.slice(startLine - 1, endLine));
  console.log(`      by ${actor} with ${tool}: "${reason}"`);
}
const poison = /** @type {Blame} */ (blame.find(({ actor }) => actor === 'mail-agent'));
// #endregion

// #region readers
console.log('\n2. Who was shown it?');
/** @type {{ items: { at: string, actor: string, tool: string, traceId: string }[] }} */
const { items: readers } = await ask(
  `/v1/admin/observability/influence?revisionId=${poison.revisionId}`,
);
print(readers.map(({ actor, tool }) => `${actor}, by ${tool}`));
// #endregion

// #region followed
console.log('\n3. What was written after reading it?');
/** @type {string[]} */
const followed = [];
for (const traceId of new Set(readers.map((reader) => reader.traceId))) {
  /** @type {{ items: { id: string, path: string, actor: string, reason: string, toolCallId: string }[] }} */
  const { items } = await ask(`/v1/admin/revisions?traceId=${traceId}`);
  for (const { id, path, actor, reason, toolCallId } of items) {
    console.log(`  ${path} by ${actor}: "${reason}"`);
    /** @type {{ afterReading: Read[] }} */
    const { afterReading } = await ask(`/v1/admin/revisions/${id}`);
    print(afterReading.map((read) => `written after reading ${read.path}`));
    followed.push(toolCallId);
  }
}
// #endregion

// #region undo
console.log('\n4. Undo it');
for (const toolCallId of [poison.toolCallId, ...followed]) {
  await report({ toolCallId, dryRun: true });
  await report({ toolCallId });
}
// #endregion

console.log('\n5. What the memory says now');
const { file: restored } = await ask('/v1/admin/files/users/anna/suppliers.md');
print(restored.content.trimEnd().split('\n'));

await playSecondMail(service);

// #region time
console.log('\n6. A second mail changes two files: go back to the time of the undo');
/** @type {{ items: { at: string }[] }} */
const { items: reverts } = await ask('/v1/admin/revisions?userId=anna&action=revert&limit=1');
const at = reverts[0]?.at ?? '';
/** @type {{ items: { path: string, change: string, diff: string }[] }} */
const { items: changes } = await ask(`/v1/admin/diff?userId=anna&from=${at}`);
for (const { path, change, diff } of changes) {
  console.log(`  ${path}: ${change}`);
  print(diff.split('\n').filter(isChanged));
}
for (const options of [{ dryRun: true }, {}]) {
  /** @type {{ files: Reverted[] }} */
  const { files } = await ask('/v1/admin/users/anna/restore', { at, ...options });
  for (const { path, outcome, version } of files) {
    console.log(`  ${path}: ${outcome}${version === null ? '' : `, now version ${version}`}`);
  }
}
const { file: last } = await ask('/v1/admin/files/users/anna/suppliers.md');
print(last.content.trimEnd().split('\n'));
// #endregion

server.close();
server.closeAllConnections();
await service.close();

/** @param {object} selection */
async function report(selection) {
  /** @type {{ files: Reverted[] }} */
  const { files } = await ask('/v1/admin/revert', selection);
  for (const { path, outcome, version, diff } of files) {
    console.log(`  ${path}: ${outcome}${version === null ? '' : `, now version ${version}`}`);
    if (version === null) {
      print(diff.split('\n').filter(isChanged));
    }
  }
}

/** Whether a line of a diff was added or removed. @param {string} line */
function isChanged(line) {
  return /^[-+](?!--|\+\+)/.test(line);
}

/** @param {readonly string[]} texts */
function print(texts) {
  for (const text of texts) console.log(`    ${text}`.trimEnd());
}

/** Ids and times are others each time. @param {string} text */
function shorten(text) {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z/g, '<time>');
}
