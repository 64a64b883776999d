// The service in process, with all that it records: revisions, access log and traces.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, startMariadb } from '../../support/mariadb-server.ts';
import type { OpenContestant } from '../support/contestant.ts';
import {
  listPlaces,
  type NoteSet,
  pickPlace,
  pickQuery,
  pickWritten,
  toNote,
} from '../support/notes.ts';
import { ADMIN_SECRET, fetchFilesBehind, flushLog, importService } from '../support/service.ts';

const FILLERS = 64;

/** What it is measured on, and the checkout whose build it is: default this one. */
export interface ServiceOptions {
  set: NoteSet;
  isOnMariadb?: boolean;
  checkout?: string;
  /** Its policies of screening. */
  screen?: object;
}

/**
 * Notes as memory files of their users, on a SQLite file with the defaults, or on a MariaDB of its
 * own with its defaults: a commit is on the disk there too.
 */
export const open: OpenContestant<ServiceOptions> = async ({
  set,
  isOnMariadb,
  checkout,
  screen,
  directory,
}) => {
  const { createMemoryService, sqlite, mysql } = await importService(checkout);
  const mariadb = isOnMariadb === true ? await startMariadb() : null;
  const service = createMemoryService({
    storage:
      mariadb === null
        ? sqlite({ filename: path.join(directory, 'memory.db') })
        : mysql({ url: await createDatabase(mariadb.port) }),
    adminSecret: ADMIN_SECRET,
    ...(screen !== undefined && { screen }),
    limits: { maxFilesPerUser: 1_000_000 },
  });
  await service.start();

  async function execute<Result>(tool: string, userId: string, args: object): Promise<Result> {
    const answer = await service.tools.execute(tool, { context: { userId }, arguments: args });
    return answer.result as Result;
  }
  const write = (userId: string, file: string, content: string): Promise<{ revisionId: string }> =>
    execute('memory_write', userId, { path: `user/${file}`, content });

  const places = [...listPlaces(set).entries()];
  await Promise.all(
    Array.from({ length: FILLERS }, async () => {
      for (let next = places.pop(); next !== undefined; next = places.pop()) {
        const [seed, { userId, path: file }] = next;
        await write(userId, file, toNote(seed));
      }
    }),
  );
  const server = createServer(service.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await waitForIndex(port);
  const tools = await service.tools.listTools();
  const canFind = tools.some(({ name, available }) => name === 'memory_find' && available);
  return {
    operations: {
      async read(n) {
        const { userId, path: file } = pickPlace(set, n);
        const args = { path: `user/${file}` };
        const { content } = await execute<{ content: string }>('memory_read', userId, args);
        if (content === '') throw new Error('The file is empty.');
      },
      write: (n) => {
        const { userId, path: file } = pickWritten(set, n);
        return write(userId, file, toNote(1_000_000 + n));
      },
      async list(n) {
        const { userId } = pickPlace(set, n);
        const page = await execute<{ files: unknown[] }>('memory_list', userId, { limit: 50 });
        if (page.files.length === 0) throw new Error('The list is empty.');
      },
      settle: () => waitForIndex(port),
      ...(canFind && {
        search: (n: number) =>
          execute('memory_find', pickPlace(set, n).userId, { query: pickQuery(n), limit: 10 }),
      }),
    },
    // A read counts once it is in the log.
    finish: () => flushLog(port),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await service.close();
      await mariadb?.remove();
    },
  };
};

const INDEX_POLL_MS = 250;
// Half an hour: half a million files take a while to be indexed.
const INDEX_POLLS = 7_200;

/** What was filled in is to be indexed before anything is measured, not while. */
async function waitForIndex(port: number): Promise<void> {
  for (let poll = 0; poll < INDEX_POLLS; poll += 1) {
    if ((await fetchFilesBehind(port)) === 0) break;
    await sleep(INDEX_POLL_MS);
  }
}
