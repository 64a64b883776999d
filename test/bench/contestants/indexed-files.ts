// Writes files once, and waits until they are indexed. Measures where the bytes and the time go.

import { Session } from 'node:inspector/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { OpenContestant } from '../support/contestant.ts';
import { toNote } from '../support/notes.ts';
import { ADMIN_SECRET, fetchFilesBehind, importService } from '../support/service.ts';

const USERS = 2;
const CALLERS = 32;
const NOTES_OF_A_FILE = 4;

/**
 * Facts: `textBytes`, the bytes of each table with its indexes by the table's name, `writtenSeconds`,
 * `indexedSeconds`, and `mergeShare`: the processor time of merges by that of all indexing.
 */
export const open: OpenContestant<{ files: number }> = async ({ files, directory }) => {
  const { createMemoryService, sqlite } = await importService();
  const filename = path.join(directory, 'memory.db');
  const service = createMemoryService({ storage: sqlite({ filename }), adminSecret: ADMIN_SECRET });
  await service.start();
  const server = createServer(service.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  const begin = performance.now();
  let textBytes = 0;
  let next = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      for (let file = next++; file < files; file = next++) {
        const content = Array.from({ length: NOTES_OF_A_FILE }, (_, part) =>
          toNote(file * NOTES_OF_A_FILE + part),
        ).join('\n');
        textBytes += Buffer.byteLength(content);
        await service.tools.execute('memory_write', {
          context: { userId: `u${file % USERS}` },
          arguments: { path: `user/notes/${file}.md`, content },
        });
      }
    }),
  );
  const writtenSeconds = (performance.now() - begin) / 1_000;
  while ((await fetchFilesBehind(port)) > 0) await sleep(20);
  const indexedSeconds = (performance.now() - begin) / 1_000;
  const { profile } = (await session.post('Profiler.stop')) as { profile: Profile };
  server.closeAllConnections();
  server.close();
  await service.close();
  const shares = { merges: timeIn(profile, MERGING), all: timeIn(profile, INDEXING) };
  return {
    facts: {
      textBytes,
      writtenSeconds,
      indexedSeconds,
      mergeShare: shares.merges / shares.all,
      ...weighTables(filename),
    },
    operations: {},
    close: () => Promise.resolve(),
  };
};

interface Profile {
  nodes: { id: number; callFrame: { functionName: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

const MERGING = new Set(['mergeSegments', 'mergeScope', 'replaceSegments']);
const INDEXING = new Set([...MERGING, 'updateIndex', 'indexFile', 'encodeFile', 'packSegment']);

/** The time of samples with one of these functions below them. */
function timeIn({ nodes, samples, timeDeltas }: Profile, names: ReadonlySet<string>): number {
  const inside = new Set<number>();
  // A node comes before its children.
  for (const { id, callFrame, children = [] } of nodes) {
    if (names.has(callFrame.functionName)) inside.add(id);
    if (inside.has(id)) for (const child of children) inside.add(child);
  }
  return samples.reduce((sum, id, at) => sum + (inside.has(id) ? (timeDeltas[at] ?? 0) : 0), 0);
}

/** The bytes of each table with its indexes. */
function weighTables(filename: string): Record<string, number> {
  const database = new Database(filename, { readonly: true });
  const rows = database
    .prepare(
      'select m.tbl_name as name, sum(s.pgsize) as bytes from dbstat s' +
        " join sqlite_master m on m.name = s.name where m.tbl_name like 'svc%' group by m.tbl_name",
    )
    .all() as { name: string; bytes: number }[];
  database.close();
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
}
