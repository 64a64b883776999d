import { describe, expect, it, onTestFinished } from 'vitest';
import { checkDatabase, databaseCases, type MakeDatabase } from '../../../core/testing/index.ts';
import type { Core } from '../../../core/service.ts';
import { postgres as postgresDatabase } from '../../../plugins/storage-postgres/index.ts';
import { postgres } from '../../support/databases.ts';
import { startPooler } from '../../support/pgbouncer.ts';
import { freshPostgres, sharedPostgres } from '../../support/postgres.ts';
import { connectAsPostgres } from '../../support/postgres-server.ts';
import { call, openCore } from '../../support/service.ts';

/** The same database through a pooler that lends connections for a transaction. */
async function behindPooler(connections: number): Promise<(url: string) => string> {
  const port = await startPooler(await sharedPostgres(), {
    mode: 'transaction',
    connections,
  });
  return (url) => {
    const through = new URL(url);
    through.port = String(port);
    return through.href;
  };
}

describe('behind a pooler in transaction mode', () => {
  const cases = databaseCases.filter(({ fault }) => fault === undefined);
  it.each(cases)('$name', async (databaseCase) => {
    const through = await behindPooler(6);
    const urls = new Map<string, string>();
    const make: MakeDatabase = async (place) => {
      const url = urls.get(place) ?? (await freshPostgres());
      urls.set(place, url);
      return postgresDatabase({ url: through(url) });
    };
    const [result] = await checkDatabase(make, { cases: [databaseCase] });
    expect(result).toEqual({ name: databaseCase.name, status: 'passed', error: null });
  });

  it('serves two instances over two connections, and leaves nothing set on them', async () => {
    const url = await freshPostgres();
    const through = await behindPooler(2);
    const open = () => openCore({ storage: postgres({ url: through(url) }) });
    const cores = [await open(), await open()];
    const users = Array.from({ length: 12 }, (_, at) => `user-${at}`);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(
        users.map((user, at) =>
          call(cores[at % 2] as Core, user, 'memory_write', {
            path: `user/${round}.md`,
            content: `tea of round ${round}\n`,
          }),
        ),
      );
    }
    const found = await Promise.all(
      users.map((user, at) =>
        call<{ results: unknown[] }>(cores[(at + 1) % 2] as Core, user, 'memory_find', {
          query: 'tea',
        }),
      ),
    );
    expect(found.map(({ result }) => result.results.length)).toEqual(users.map(() => 3));
    const { port, pathname } = new URL(through(url));
    const client = await connectAsPostgres(Number(port), pathname.slice(1));
    onTestFinished(() => client.end());
    const { rows } = await client.query(
      "select current_setting('lock_timeout') as lock_timeout," +
        " current_setting('statement_timeout') as statement_timeout," +
        " current_setting('search_path') as search_path," +
        ' (select count(*) from pg_prepared_statements)::int as prepared,' +
        " (select count(*) from pg_locks where locktype = 'advisory')::int as session_locks",
    );
    expect(rows).toEqual([
      {
        lock_timeout: '0',
        statement_timeout: '0',
        search_path: '"$user", public',
        prepared: 0,
        session_locks: 0,
      },
    ]);
    await Promise.all(cores.map((core) => core.close()));
  });
});
