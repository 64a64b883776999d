import { expect, it } from 'vitest';
import { readSchema, SCHEMA_VERSION } from '../../../../core/storage/schema/migrate.ts';
import { prepareSchema } from '../../../../core/storage/schema/prepare-schema.ts';
import { sqlite } from '../../../../plugins/storage-sqlite/index.ts';
import { quiet } from '../../../support/quiet-log.ts';

/** An open database without tables, whose write transactions fail as often as `failures` says. */
async function openFailing(failures: number, code: string) {
  const database = sqlite({ filename: ':memory:' });
  const damage = { note: <E>(error: E) => error, confirm: <T>(work: () => Promise<T>) => work() };
  await database.open({ log: quiet, now: Date.now, damage });
  const transact = database.transact.bind(database);
  let left = failures;
  database.transact = async (run, options) => {
    if (left === 0) return await transact(run, options);
    left -= 1;
    const error = Object.assign(new Error(`${code}: disk I/O error`), { code });
    return { status: 'failed', error, isUnknown: false };
  };
  return database;
}

it('makes the tables although the disk fails for a moment', async () => {
  const database = await openFailing(2, 'SQLITE_IOERR_READ');
  await prepareSchema(database, quiet);
  expect(await database.read(readSchema, {})).toEqual({
    version: SCHEMA_VERSION,
    oldest: SCHEMA_VERSION,
  });
  await database.close();
});

it('fails at once where waiting is of no use', async () => {
  const database = await openFailing(1, 'SQLITE_FULL');
  await expect(prepareSchema(database, quiet)).rejects.toThrow('SQLITE_FULL');
  expect(await database.read(readSchema, {})).toEqual({ version: 0, oldest: 0 });
  await database.close();
});
