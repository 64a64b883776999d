import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Connection } from '../../../core/storage/dialect.ts';
import { OpenDatabase } from '../../../core/storage/open-database.ts';
import { readOptions } from '../../../core/config/option.ts';
import { SQLITE_OPTIONS } from '../../../plugins/storage-sqlite/options.ts';
import { SqliteDatabase } from '../../../plugins/storage-sqlite/sqlite-database.ts';
import { quiet } from '../../support/quiet-log.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { rejection } from '../../support/rejection.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { sqliteDrivers } from '../../support/sqlite-drivers.ts';

const KEY = 'readers-test';

describe.each(sqliteDrivers)('with %s', (driver) => {
  async function open(readers: number) {
    const filename = path.join(await temporaryDirectory(), 'memory.db');
    const options = { filename, driver, readers };
    const settings = readOptions(SQLITE_OPTIONS, options, { plugin: 'storage-sqlite' });
    const database = new OpenDatabase(new SqliteDatabase(settings));
    await database.init({ log: quiet, now: Date.now });
    onTestFinished(() => database.close());
    let last = 0;
    const write = async () => {
      last += 1;
      await database.write((connection) =>
        connection.run('insert or replace into svc_meta (key, value) values (?, ?)', [
          KEY,
          String(last),
        ]),
      );
    };
    return { database, filename, write };
  }

  const see = async (connection: Connection): Promise<number> => {
    const [row] = await connection.all('select value from svc_meta where key = ?', [KEY]);
    return Number(row?.['value'] ?? 0);
  };

  it('a snapshot sees one state, that of its first statement', async () => {
    const { database, write } = await open(2);
    await write();
    for (let round = 1; round <= 5; round += 1) {
      const seen = await database.snapshot(async (connection) => {
        const first = await see(connection);
        await write();
        return [first, await see(connection)];
      });
      expect(seen).toEqual([round, round]);
      expect(await database.snapshot(see)).toBe(round + 1);
    }
  });

  it.each([1, 2, 4])(
    'a read sees the newest state after any snapshot, with %i readers',
    async (readers) => {
      const { database, write } = await open(readers);
      for (let round = 1; round <= 20; round += 1) {
        await write();
        const calls = Array.from({ length: 5 }, (_, call) =>
          (call + round) % 2 === 0 ? database.read(see) : database.snapshot(see),
        );
        expect(await Promise.all(calls)).toEqual(Array(5).fill(round));
        // A read's own statements see what is written between them.
        const seen = await database.read(async (connection) => {
          const first = await see(connection);
          if (round === 7) await write();
          return [first, await see(connection)];
        });
        if (round !== 7) expect(seen).toEqual([round, round]);
        else {
          expect(seen).toEqual([7, 8]);
          round += 1;
        }
      }
    },
  );

  it('a connection that rests in a transaction holds up no checkpoint', async () => {
    const { database, filename, write } = await open(3);
    await write();
    await Promise.all([1, 2, 3].map(() => database.snapshot(see)));
    await write();
    const rows = await withRawSql(filename, driver, (raw) =>
      raw.all('pragma wal_checkpoint(truncate)', []),
    );
    expect(rows).toMatchObject([{ busy: 0, log: 0 }]);
  });

  it('what fails in a snapshot, or ends its transaction, is nobody else’s trouble', async () => {
    const { database, write } = await open(1);
    await write();
    for (let round = 1; round <= 3; round += 1) {
      const failing = database.snapshot((connection) =>
        connection.all('select * from nowhere', []),
      );
      expect((await rejection(failing)).code).toBe('INTERNAL');
      // As SQLite itself does it after some errors.
      await database.snapshot((connection) => connection.run('rollback', []));
      expect(await database.read(see)).toBe(round);
      expect(await database.snapshot(see)).toBe(round);
      await write();
    }
  });

  it('a close waits for a snapshot under way, and refuses the next', async () => {
    const { database, write } = await open(1);
    await write();
    let isOver = false;
    const running = database.snapshot(async (connection) => {
      await see(connection);
      await new Promise((resolve) => setTimeout(resolve, 50));
      isOver = true;
      return await see(connection);
    });
    const waiting = database.snapshot(see);
    const closing = database.close();
    expect((await rejection(database.snapshot(see))).code).toBe('SHUTTING_DOWN');
    await closing;
    expect(isOver).toBe(true);
    expect([await running, await waiting]).toEqual([1, 1]);
  });
});
