// An agent calls tools over HTTP; then an operator checks who did what. Uses only fetch.
//
//   npm start                             in one terminal
//   node examples/over-http/main.mjs      in another

import { readFile } from 'node:fs/promises';

// #region connect
const baseUrl = process.env.SERVICE_URL ?? 'http://127.0.0.1:8787';

/**
 * Sends JSON and returns the JSON of the answer. Throws the error of the service.
 *
 * @param {string} method
 * @param {string} path
 * @param {Record<string, string>} headers
 * @param {object} [body]
 */
async function send(method, path, headers, body) {
  const response = await fetch(baseUrl + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = JSON.parse(await response.text());
  if (!response.ok) throw new Error(`${answer.error.code}: ${answer.error.message}`);
  return answer;
}
// #endregion

// #region secrets
// The first start writes this file beside the database. The environment variables come first.
const { apiKey, adminSecret } = process.env.SERVICE_API_KEY
  ? { apiKey: process.env.SERVICE_API_KEY, adminSecret: process.env.SERVICE_ADMIN_SECRET ?? '' }
  : JSON.parse(await readFile('data/secrets.json', 'utf8'));
// #endregion

// #region tools
/**
 * Runs a tool as an agent of alice. Your server authenticates alice; the service trusts it.
 *
 * @param {string} name
 * @param {object} args
 */
function callTool(name, args) {
  const body = { context: { userId: 'alice', actor: 'support-bot' }, arguments: args };
  const path = `/v1/tools/${name}/execute`;
  return send('POST', path, { authorization: `Bearer ${apiKey}` }, body);
}

await callTool('memory_write', {
  path: 'user/profile.md',
  content: '# Profile\n\n- Prefers tea.\n',
  reason: 'The user said so.',
});
const patch = await callTool('memory_patch', {
  path: 'user/profile.md',
  edits: [{ oldText: 'Prefers tea.', newText: 'Prefers coffee.' }],
  reason: 'The user changed their mind.',
});
const list = await callTool('memory_list', { path: 'user/' });
const read = await callTool('memory_read', { path: 'user/profile.md' });
// #endregion
console.log(`${list.result.files.length} file(s); version ${read.result.version} says:`);
console.log(read.result.content);

// #region admin
/**
 * Reads as an operator. Keep the secret on a server; never send it to a browser.
 *
 * @param {string} path
 */
function admin(path) {
  return send('GET', `/v1/admin/${path}`, { 'x-admin-secret': adminSecret });
}

const revisions = await admin('revisions?path=users/alice/profile.md');
for (const { version, actor, reason, at } of revisions.items) {
  console.log(`version ${version} by ${actor} at ${at}: ${reason}`);
}

const change = await admin(`revisions/${patch.result.revisionId}`);
console.log(change.diff);

const accesses = await admin('access-logs?path=users/alice/profile.md');
for (const { action, actor, tool, toolCallId } of accesses.items) {
  console.log(`${action} by ${actor} with ${tool}, tool call ${toolCallId}`);
}

const call = await admin(`observability/tool-calls/${patch.toolCallId}`);
for (const { kind, durationMs } of call.spans) console.log(`${kind}: ${durationMs} ms`);
// #endregion
