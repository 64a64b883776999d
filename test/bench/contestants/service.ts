// The service in process, with all that it records: revisions, access log and traces.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NamedSpace, ToolContext } from '../../../core/schemas/tools.ts';
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
  /** How many spaces there are beside the users, each with the notes of one user. */
  spaces?: number;
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
  spaces = 0,
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

  async function execute<Result>(
    tool: string,
    userId: string,
    args: object,
    named: NamedSpace[] = [],
  ): Promise<Result> {
    const context: ToolContext = { userId };
    if (named.length > 0) context.spaces = named;
    const answer = await service.tools.execute(tool, { context, arguments: args });
    return answer.result as Result;
  }
  const write = (userId: string, file: string, content: string): Promise<{ revisionId: string }> =>
    execute('memory_write', userId, { path: `user/${file}`, content });

  const all = Array.from({ length: spaces }, (_, at) => ({
    id: `space-${at}`,
    access: 'write' as const,
  }));
  const places = listPlaces(set).map(
    ({ userId, path: file }, seed) =>
      () =>
        write(userId, file, toNote(seed)),
  );
  const inSpaces = all.flatMap((space, at) =>
    listPlaces({ users: 1, notes: set.notes }).map(({ userId, path: file }, seed) => () => {
      const content = toNote((at + 1) * 100_000 + seed);
      return execute('memory_write', userId, { path: `spaces/${space.id}/${file}`, content }, [
        space,
      ]);
    }),
  );
  const fills: (() => Promise<unknown>)[] = [...places, ...inSpaces];
  await Promise.all(
    Array.from({ length: FILLERS }, async () => {
      for (let next = fills.pop(); next !== undefined; next = fills.pop()) await next();
    }),
  );
  const server = createServer(service.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await waitForIndex(port);
  const tools = await service.tools.listTools();
  const canFind = tools.some(({ name, available }) => name === 'memory_find' && available);
  /** Finds in a user's memory together with so many spaces. */
  const find = (count: number) => {
    const some = all.slice(0, count);
    return (n: number) => {
      const args = { query: pickQuery(n), limit: 10 };
      return execute('memory_find', pickPlace(set, n).userId, args, some);
    };
  };
  const findsInSpaces = Object.fromEntries(
    all.map((_, at) => [`search${at + 1}`, find(at + 1)] as const),
  );
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
      ...(canFind && { search: find(0), ...findsInSpaces }),
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
