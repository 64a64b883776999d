import type { Connection, RowDataPacket } from 'mysql2/promise';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { write } from '../../support/rows.ts';
import { toScopeId } from '../../../core/storage/schema/scope-id.ts';
import {
  connectAsRoot,
  createDatabase,
  type Mariadb,
  startMariadb,
} from '../../support/mariadb-server.ts';
import { quiet } from '../../support/quiet-log.ts';
import { mysql } from '../../support/databases.ts';

const USERS = Array.from({ length: 24 }, (_, at) => `u:user${at}` as const);

/** Of this file's own: it counts the commits of the whole server. */
let server: Mariadb;
beforeAll(async () => {
  server = await startMariadb();
  return () => server.remove();
});

/** A storage on a database of its own, with a file of each user, and a connection beside it. */
async function openWithFiles() {
  const url = await createDatabase(server.port);
  const storage = mysql({ url });
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  const root = await connectAsRoot(server.port, new URL(url).pathname.slice(1));
  onTestFinished(() => root.end());
  for (const scope of USERS) await write(storage, { scope, path: 'f' }, 'first\n');
  const append = async (scope: (typeof USERS)[number], text: string) =>
    await write(storage, { scope, path: 'f' }, (before) => `${before ?? ''}${text}\n`);
  return { storage, root, append };
}

async function countCommits(root: Connection): Promise<number> {
  const [[row]] = await root.query<RowDataPacket[]>("show global status like 'Com_commit'");
  return Number(row?.['Value']);
}

it('lets writes that wait at the same time share a commit, each with its own result', async () => {
  const { storage, root, append } = await openWithFiles();
  const before = await countCommits(root);
  const results = await Promise.all(
    [1, 2].flatMap((nth) => USERS.map((scope) => append(scope, `line ${nth}`))),
  );
  expect((await countCommits(root)) - before).toBeLessThan(USERS.length / 2);
  expect(new Set(results.map(({ revisionId }) => revisionId)).size).toBe(2 * USERS.length);
  for (const scope of USERS) {
    const file = await storage.files.get({ scope, path: 'f' });
    expect(file).toMatchObject({ version: 3, content: 'first\nline 1\nline 2\n' });
  }
});

it('holds up no other user while the memory of one is locked from elsewhere', async () => {
  const { storage, root, append } = await openWithFiles();
  const [locked, ...free] = USERS as [(typeof USERS)[0], ...typeof USERS];
  await root.beginTransaction();
  await root.query('select 1 from svc_scope where scope_id = ? for update', [toScopeId(locked)]);

  let isDone = false;
  const waiting = USERS.map((scope) => append(scope, 'meanwhile'));
  const last = waiting.shift()?.then((result) => {
    isDone = true;
    return result;
  });
  await Promise.all(waiting);
  await Promise.all(free.map((scope) => append(scope, 'again')));
  expect(isDone).toBe(false);

  await root.rollback();
  expect(await last).toMatchObject({ version: 2 });
  expect(await storage.files.get({ scope: locked, path: 'f' })).toMatchObject({
    content: 'first\nmeanwhile\n',
  });
});

it('goes on with the waiting writes of a user once the one that held their lock is done', async () => {
  const { storage, root, append } = await openWithFiles();
  const [scope] = USERS as [(typeof USERS)[0], ...typeof USERS];
  await root.beginTransaction();
  await root.query('select 1 from svc_scope where scope_id = ? for update', [toScopeId(scope)]);
  const writes = Array.from({ length: 8 }, (_, nth) => append(scope, `line ${nth}`));
  await append(USERS[1] ?? scope, 'beside it');
  await root.rollback();
  await Promise.all(writes);
  expect(await storage.files.get({ scope, path: 'f' })).toMatchObject({ version: 9 });
});

it('ends what waits when it is closed, also what another transaction has locked', async () => {
  const { storage, root, append } = await openWithFiles();
  await root.beginTransaction();
  const [locked] = USERS as [(typeof USERS)[0]];
  await root.query('select 1 from svc_scope where scope_id = ? for update', [toScopeId(locked)]);
  const writes = [...USERS].reverse().map((scope) => append(scope, 'last'));
  const closed = storage.close();
  await Promise.all(writes.slice(0, -1));
  await root.rollback();
  expect((await Promise.all(writes)).map(({ version }) => version)).toEqual(USERS.map(() => 2));
  await closed;
});
