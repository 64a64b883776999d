// Four incidents, and how an operator undoes each without losing what others wrote.
//
//   node examples/undo-by-line/main.mjs [users of the fourth incident, default 4000]

import { createMemoryService } from 'memory-service';
import { dreaming } from 'memory-service/plugins/dreaming';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  KEY,
  model,
  playAfterDream,
  playAllergy,
  playDiet,
  playKey,
  playSentence,
  SENTENCE,
} from './story.mjs';

const users = Number(process.argv[2] ?? 4_000);
const adminSecret = randomBytes(24).toString('hex');
const plugin = dreaming();
const service = createMemoryService({
  storage: sqlite({ filename: ':memory:' }),
  adminSecret,
  model,
  plugins: [plugin],
});
await service.ready();
const server = service.app.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());

/**
 * Sends a request of an operator to the service.
 *
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
async function ask(method, path, body) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/admin/${path}`, {
    method,
    headers: { 'x-admin-secret': adminSecret, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

await playAllergy(service);

// #region line
console.log('1. One false line, and a good one after it');
await show('users/anna/health.md');
const line = { path: 'users/anna/health.md', lines: '4' };
for (const dryRun of [true, false]) await undo({ ...line, dryRun });
await show('users/anna/health.md');
// #endregion

await playDiet(service);

// #region dream
console.log('\n2. A dream harmed a line, and somebody wrote since');
const { id: runId } = await ask('POST', 'dream/users/anna/run', {});
await plugin.settle();
await ask('POST', `dream/runs/${runId}/apply`, { operations: [1] });
await playAfterDream(service);
await show('users/anna/diet.md');
const { outcome } = await ask('POST', `dream/runs/${runId}/revert`, {});
console.log(`  the run: ${outcome}`);
await show('users/anna/diet.md');
// #endregion

await playKey(service);

// #region key
console.log('\n3. A key in three versions, which the present content no longer has');
/** @type {{ items: { path: string, fromVersion: number, toVersion: number }[] }} */
const { items } = await ask('POST', 'search', { text: KEY, history: true });
for (const { path, fromVersion, toVersion } of items) {
  console.log(`  ${path}: from version ${fromVersion} to ${toVersion}`);
}
const request = { text: KEY, in: 'everywhere', reason: 'a key was written' };
for (const dryRun of [true, false]) {
  /** @type {{ files: { path: string, versions: number }[], left: object }} */
  const { files } = await ask('POST', 'redact', { ...request, dryRun });
  for (const { path, versions } of files) {
    console.log(`  ${dryRun ? 'would redact' : 'redacted'} ${versions} versions of ${path}`);
  }
}
await show('users/anna/deploy.md?version=4');
const after = await ask('POST', 'search', { text: KEY, history: true });
console.log(`  hits in the history now: ${after.items.length}`);
// #endregion

await playSentence(service, users);

// #region sentence
console.log(`\n4. One sentence in the memories of ${users.toLocaleString('en')} users`);
for (const dryRun of [true, false]) {
  let [files, lines] = [0, 0];
  /** @type {string | null} */
  let cursor = null;
  do {
    /** @type {{ counts: { users: { files: number, lines: number }[] }, nextCursor: string | null }} */
    const page = await ask('POST', 'revert', {
      text: SENTENCE,
      in: 'everywhere',
      dryRun,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const user of page.counts.users) {
      files += user.files;
      lines += user.lines;
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  console.log(`  ${dryRun ? 'would undo' : 'undid'} ${lines} lines of ${files} files`);
}
await show('users/user-0042/support.md');
await show('users/user-0042/support.md?version=1');
// #endregion

server.close();
server.closeAllConnections();
await service.close();

/** Undoes lines, or shows what that would be. @param {object} body */
async function undo(body) {
  /** @type {{ dryRun: boolean, files: { outcome: string, version: number | null, diff: string }[] }} */
  const { dryRun, files } = await ask('POST', 'revert', body);
  for (const { outcome, version, diff } of files) {
    console.log(
      `  ${dryRun ? 'preview' : 'undone'}: ${outcome}${version === null ? '' : ` ${version}`}`,
    );
    if (!dryRun) continue;
    for (const changed of diff.split('\n').filter((text) => /^[-+](?!--|\+\+)/.test(text))) {
      console.log(`    ${changed}`);
    }
  }
}

/** Prints a file. @param {string} path */
async function show(path) {
  /** @type {{ file: { content: string } }} */
  const { file } = await ask('GET', `files/${path}`);
  console.log(`  ${path}`);
  for (const text of file.content.trimEnd().split('\n')) console.log(`    | ${text}`.trimEnd());
}
