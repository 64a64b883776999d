import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Current, Decision } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import {
  classifySqliteError,
  createSqliteDialect,
} from '../../../plugins/storage-sqlite/dialect.ts';
import type { Connection } from '../../../core/storage/dialect.ts';
import type { Mutation, MutationOutcome } from '../../../core/storage/write/mutation.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import type {
  BoundConnection,
  SqliteConnection,
} from '../../../plugins/storage-sqlite/connection.ts';
import { SerialWrites } from '../../../core/storage/write/serial-writes.ts';
import { WriteConnection } from '../../../plugins/storage-sqlite/write-connection.ts';

let directory: string;
let connection: SqliteConnection;
let statements: string[];
let writer: SerialWrites;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'memory-service-'));
  const native = await loadSqliteModule('better-sqlite3');
  connection = await native.open(join(directory, 'memory.db'), { busyTimeoutMs: 0 });
  await connection.exec('create table note (text text not null unique)');
  statements = [];
  const database = new WriteConnection({
    connection: recording(connection),
    open: () => Promise.reject(new Error('The first connection is kept.')),
    confirm: () => Promise.resolve(),
  });
  writer = new SerialWrites({
    database: {
      transact: (run, options) => database.transact(run, options),
      classify: classifySqliteError,
      limits: { writers: 'one', groupSize: 64, groupedReads: 2, lockTimeoutMs: 2_000 },
    },
    apply,
    contents: null,
  });
});

afterEach(async () => {
  vi.restoreAllMocks();
  await writer.drain();
  await connection.close();
  await rm(directory, { recursive: true, force: true });
});

describe('a round of the writer', () => {
  it('commits mutations and other work that wait together once', async () => {
    // A round ends after 50 ms of work, which a busy machine takes for one insert.
    vi.spyOn(performance, 'now').mockReturnValue(0);
    const answers = await Promise.all([
      writer.mutate(note('one')),
      writer.write((connection) => insert(connection, 'two')),
      writer.mutate(note('three')),
      writer.write((connection) => insert(connection, 'four')),
    ]);
    expect(answers).toEqual(['one', 1, 'three', 1]);
    expect(await texts()).toEqual(['one', 'three', 'two', 'four']);
    expect(statements.filter((sql) => sql === 'commit')).toHaveLength(1);
  });

  it('takes nothing from others when one piece of work fails', async () => {
    const answers = await Promise.allSettled([
      writer.mutate(note('one')),
      writer.write((connection) => insert(connection, 'two')),
      writer.write(async (connection) => {
        await insert(connection, 'half');
        throw new MemoryError('STORAGE_FULL');
      }),
      writer.write((connection) => insert(connection, 'three')),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(answers[2]).toMatchObject({ reason: { code: 'STORAGE_FULL' } });
    expect(await texts()).toEqual(['one', 'two', 'three']);
  });

  it('answers a mutation that can not be written alone, beside others and other work', async () => {
    await writer.mutate(note('taken'));
    const answers = await Promise.allSettled([
      writer.mutate(note('one')),
      writer.mutate(note('taken')),
      writer.write((connection) => insert(connection, 'two')),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await texts()).toEqual(['taken', 'one', 'two']);
  });

  it('commits long work once while no mutation waits, and else lets mutations go first', async () => {
    const clock = vi.spyOn(performance, 'now');
    const long = (text: string, meanwhile?: () => void) =>
      writer.write(async (connection) => {
        await insert(connection, text);
        clock.mockReturnValue(performance.now() + 20);
        meanwhile?.();
      });
    clock.mockReturnValue(0);
    await Promise.all([long('one'), long('two'), long('three')]);
    expect(statements.filter((sql) => sql === 'commit')).toHaveLength(1);

    const answered: string[] = [];
    const first = long('four', () => {
      void writer.mutate(note('mutation')).then(() => answered.push('mutation'));
    });
    const second = long('five').then(() => answered.push('work'));
    await Promise.all([first, second]);
    expect(answered).toEqual(['mutation', 'work']);
    expect(await texts()).toEqual(['one', 'two', 'three', 'four', 'mutation', 'five']);
  });

  it('begins another transaction after work that took long, so that all are answered', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    await Promise.all(
      ['one', 'two', 'three'].map((text) =>
        writer.write(async (connection) => {
          await insert(connection, text);
          clock.mockReturnValue(performance.now() + 51);
        }),
      ),
    );
    expect(statements.filter((sql) => sql === 'commit')).toHaveLength(3);
  });

  it('answers nobody before the commit', async () => {
    const order: string[] = [];
    const original = connection.run.bind(connection);
    connection.run = async (sql, parameters) => {
      const changes = await original(sql, parameters);
      if (sql === 'commit') order.push('commit');
      return changes;
    };
    await Promise.all([
      writer.mutate(note('one')).then(() => order.push('mutation')),
      writer.write((connection) => insert(connection, 'two')).then(() => order.push('work')),
    ]);
    expect(order).toEqual(['commit', 'mutation', 'work']);
  });
});

function recording(inner: SqliteConnection): BoundConnection {
  return {
    dialect: createSqliteDialect('3.51.3'),
    all: (sql, parameters) => inner.all(sql, parameters),
    get: (sql, parameters) => inner.get(sql, parameters),
    run: (sql, parameters) => {
      statements.push(sql);
      return inner.run(sql, parameters);
    },
    exec: (sql) => inner.exec(sql),
    close: () => inner.close(),
  };
}

/** A mutation whose result is the text that it writes. */
function note(text: string): Mutation {
  const decide = (_current: Current): Decision<unknown> => ({ result: text }) as Decision<unknown>;
  return { request: { scopes: [], files: [] }, decide };
}

async function apply(
  connection: Connection,
  mutations: readonly Mutation[],
): Promise<MutationOutcome[]> {
  const outcomes: MutationOutcome[] = [];
  for (const { decide } of mutations) {
    const { result } = decide({} as Current);
    await insert(connection, String(result));
    outcomes.push({ status: 'applied', result, proof: null });
  }
  return outcomes;
}

function insert(connection: Connection, text: string): Promise<number> {
  return connection.run('insert into note (text) values (?)', [text]);
}

async function texts(): Promise<unknown[]> {
  return (await connection.all('select text from note order by rowid', [])).map(({ text }) => text);
}
