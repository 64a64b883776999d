import { expect, it, onTestFinished } from 'vitest';
import { connectAsPostgres, createPostgresDatabase, startPostgres } from './postgres-server.ts';

it('starts a PostgreSQL that keeps what was committed through a kill', async () => {
  const first = await startPostgres();
  onTestFinished(() => first.remove());
  const name = new URL(await createPostgresDatabase(first.port)).pathname.slice(1);
  const before = await connectAsPostgres(first.port, name);
  before.on('error', () => null);
  await before.query('create table kept (id int); insert into kept values (7)');
  await first.end('SIGKILL');
  expect(first.hasEnded).toBe(true);
  const second = await startPostgres({ directory: first.directory, port: first.port });
  onTestFinished(() => second.end());
  const after = await connectAsPostgres(second.port, name);
  expect((await after.query('select id from kept')).rows).toEqual([{ id: 7 }]);
  expect((await after.query('show server_encoding')).rows).toEqual([{ server_encoding: 'UTF8' }]);
  expect((await after.query("select 'a' < 'B' as bytes")).rows).toEqual([{ bytes: false }]);
  await after.end();
});
