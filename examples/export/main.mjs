// Carries a memory from one service to another over HTTP. Uses only fetch.
//
//   FROM_URL=… FROM_ADMIN_SECRET=… TO_URL=… TO_ADMIN_SECRET=… node examples/export/main.mjs

import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const { FROM_URL = '', FROM_ADMIN_SECRET = '', TO_URL = '', TO_ADMIN_SECRET = '' } = process.env;
const directory = await mkdtemp(join(tmpdir(), 'memory-'));
const file = join(directory, 'memory.tar.gz');

// #region export
const exported = await fetch(`${FROM_URL}/v1/admin/export`, {
  headers: { 'x-admin-secret': FROM_ADMIN_SECRET },
});
if (!exported.ok || exported.body === null) throw new Error(await exported.text());
await pipeline(Readable.fromWeb(exported.body), createWriteStream(file));
// #endregion

// #region import
/**
 * Sends the archive and prints what became of each file.
 *
 * @param {string} query
 */
async function importArchive(query) {
  const answer = await fetch(`${TO_URL}/v1/admin/import?${query}`, {
    method: 'POST',
    headers: { 'x-admin-secret': TO_ADMIN_SECRET, 'content-type': 'application/gzip' },
    body: Readable.toWeb(createReadStream(file)),
    duplex: 'half',
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(JSON.parse(text).error.message);
  for (const line of text.trimEnd().split('\n')) {
    const { path, outcome, summary, error } = JSON.parse(line);
    if (error !== undefined) throw new Error(error.message);
    if (summary === undefined) console.log(`${outcome}: ${path}`);
    else console.log(`${summary.dryRun ? 'would restore' : 'restored'} ${summary.restored} files`);
  }
}

await importArchive('dryRun=true');
await importArchive('onExisting=refuse');
// #endregion

await rm(directory, { recursive: true });
