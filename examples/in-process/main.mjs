// The tools in this process: no server, no keys.
//
//   node examples/in-process/main.mjs [database file]

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// #region open
import { createMemoryService, MemoryError } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
// #endregion

const filename = process.argv[2] ?? join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory.db');

// #region open
const service = createMemoryService({ storage: sqlite({ filename }) });
await service.ready();
// #endregion

// #region call
/**
 * Runs a tool. Your code binds the user; a model chooses the tool and its arguments.
 *
 * @param {string} name
 * @param {object} args
 * @returns {Promise<any>}
 */
async function callTool(name, args) {
  const context = { userId: 'alice', actor: 'support-bot' };
  const { result } = await service.tools.execute(name, { context, arguments: args });
  return result;
}

const written = await callTool('memory_write', {
  path: 'user/profile.md',
  content: '# Profile\n\n- Prefers tea.\n',
  reason: 'The user said so.',
});

const patched = await callTool('memory_patch', {
  path: 'user/profile.md',
  edits: [{ oldText: 'Prefers tea.', newText: 'Prefers coffee.' }],
  reason: 'The user changed their mind.',
});
// #endregion
console.log(`${written.path} is at version ${patched.version}, created: ${written.created}`);

// #region conflict
// Version 1 is no longer current, so this write fails.
try {
  await callTool('memory_write', { path: 'user/profile.md', content: 'Mine.\n', ifVersion: 1 });
} catch (error) {
  if (!(error instanceof MemoryError) || error.code !== 'VERSION_CONFLICT') throw error;
  console.log(error.message, error.details);
}
// #endregion

// #region read
const { files } = await callTool('memory_list', { path: 'user/' });
for (const { path } of files) {
  const { content, version } = await callTool('memory_read', { path });
  console.log(`--- ${path}, version ${version}\n${content}`);
}
// #endregion

// #region find
const { results } = await callTool('memory_find', { query: 'Coffee or tea?' });
// #endregion
for (const { path, startLine, snippet } of results) {
  console.log(`found in ${path}, line ${startLine}: ${snippet}`);
}

// #region close
await service.close();
// #endregion
