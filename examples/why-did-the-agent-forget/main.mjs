// "I told it that I moved to Bergen, and it still thinks I live in Oslo." The operator's requests.
//
//   node examples/why-did-the-agent-forget/main.mjs

import { createMemoryService } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
import { randomBytes } from 'node:crypto';
import { playStory } from './story.mjs';

/** @typedef {{ id: string, path: string, version: number, action: string, actor: string, reason: string }} Revision */
/** @typedef {{ path: string, action: string, tool: string, toolCallId: string, rank: number | null, revisionId: string }} Access */
/** @typedef {{ kind: string, attributes: Record<string, unknown> }} Span */
/** @typedef {{ kind: string, message: string, places: { path: string, lines: number[] }[], mend: string }} Finding */

const adminSecret = randomBytes(24).toString('hex');
const service = createMemoryService({ storage: sqlite({ filename: ':memory:' }), adminSecret });
await service.ready();
await playStory(service);
const server = service.app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const baseUrl = `http://127.0.0.1:${port}`;

// #region ask
/**
 * Sends a request to the service, and prints it.
 *
 * @param {string} path
 * @returns {Promise<any>}
 */
async function ask(path) {
  console.log(`\nGET ${shorten(path)}`);
  const response = await fetch(baseUrl + path, { headers: { 'x-admin-secret': adminSecret } });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}
// #endregion

// #region written
console.log('1. Was it written?');
/** @type {{ items: Revision[] }} */
const { items: revisions } = await ask('/v1/admin/revisions?userId=anna');
for (const { path, version, action, actor, reason } of revisions) {
  console.log(`  ${path}, version ${version}: ${action} by ${actor}, "${reason}"`);
}
const written = revisions.find(({ reason }) => reason === 'moved to Bergen');
const { diff } = await ask(`/v1/admin/revisions/${written?.id}`);
print(diff.split('\n').filter((/** @type {string} */ line) => /^[-+](?!--|\+\+)/.test(line)));
// #endregion

// #region read
console.log('\n2. Was it read?');
/** @type {{ items: Access[] }} */
const { items: readers } = await ask(`/v1/admin/observability/influence?revisionId=${written?.id}`);
print(readers.map(toAccess));
/** @type {{ items: Access[] }} */
const { items: accesses } = await ask('/v1/admin/access-logs?userId=anna');
print(accesses.map(toAccess));
// #endregion

// #region used
console.log('\n3. Was it used?');
const answered = accesses.find(({ action }) => action === 'context');
/** @type {{ spans: Span[] }} */
const call = await ask(`/v1/admin/observability/tool-calls/${answered?.toolCallId}`);
print(call.spans.map(({ kind, attributes }) => `${kind} ${toCounts(attributes)}`.trimEnd()));
/** @type {{ findings: Finding[] }} */
const { findings } = await ask('/v1/admin/observability/hygiene?userId=anna');
for (const { kind, message, places, mend } of findings) {
  console.log(`  ${kind}: ${message}`);
  print(places.map(({ path, lines }) => `  ${path}, line ${lines.join(', ')}`));
  console.log(`    ${mend}`);
}
// #endregion

server.close();
server.closeAllConnections();
await service.close();

/** @param {readonly string[]} lines */
function print(lines) {
  for (const line of lines) console.log(`  ${line}`);
}

/** @param {Access} row */
function toAccess({ path, action, tool, rank, revisionId }) {
  const version = revisions.find(({ id }) => id === revisionId)?.version;
  return `${action} of ${path}, version ${version}, by ${tool}${rank === null ? '' : `, rank ${rank}`}`;
}

/** @param {Record<string, unknown>} attributes */
function toCounts({ hits, results, rows, terms }) {
  const counts = Object.entries({ terms, hits, results, rows });
  return counts
    .flatMap(([name, count]) => (count === undefined ? [] : [`${name} ${count}`]))
    .join(', ');
}

/** Ids are another one each time. @param {string} path */
function shorten(path) {
  return path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '<id>');
}
