import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../errors.ts';
import type { Connection, FolderQuery, RowSet, SqlValue } from '../storage/dialect.ts';
import { prepareSchema } from '../storage/schema/prepare-schema.ts';
import { deleteRows, findRows } from '../storage/schema/row-sets.ts';
import { toInteger, toText } from '../storage/schema/rows.ts';
import { tableOf } from '../storage/schema/tables.ts';
import type { Outcome, SqlDatabase } from '../storage/sql-database.ts';
import type { CaseResult } from './report.ts';
import { runCase } from './run-case.ts';
import { type PendingCalls, show, toError, watchCalls } from './watch-calls.ts';

/**
 * Makes a database that is not opened yet. `place` (of `a-z 0-9 _`, at most 32) names where its data
 * is: the same name is the same data, a new name is an empty database.
 */
export type MakeDatabase = (place: string) => SqlDatabase | Promise<SqlDatabase>;

/** Brings about a fault of the open database of this place. Resolves with what ends the fault. */
export type Fault = (place: string) => Promise<() => void | Promise<void>>;

/** Ways to bring about what a suite can't. The rules of those that are absent are not checked. */
export interface DatabaseFaults {
  /** There is no room for 1 MB any more. */
  fullDisk?: Fault;
  /** Nothing can be written, as after a failover. */
  readOnly?: Fault;
  /** The next COMMIT is carried out, and its answer is lost. */
  lostCommit?: Fault;
}

/** One rule of a database. */
export interface DatabaseCase {
  /** The rule, as a sentence about the database. */
  name: string;
  /** The fault without which it can't be checked. */
  fault?: keyof DatabaseFaults;
  /** Rejects with what is wrong when the database breaks the rule. */
  run: (bench: DatabaseBench) => Promise<void>;
}

/** What a case works with. */
export interface DatabaseBench {
  /** An open database, empty at first. */
  database: SqlDatabase;
  /** Runs a write transaction until it is committed. Rejects with what `run` throws. */
  write<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
  /** Opens one more on the same data. */
  openAgain(): Promise<SqlDatabase>;
  /** Makes one more on the same data, and does not open it. */
  makeAgain(): Promise<SqlDatabase>;
  /** Runs work while the fault of the case lasts. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** Options of {@link checkDatabase}. */
export interface CheckDatabaseOptions {
  /** A case fails when it takes longer. Default 60,000. */
  timeLimitMs?: number;
  /** Default all. */
  cases?: readonly DatabaseCase[];
  faults?: DatabaseFaults;
  /** Called after each case. */
  onResult?: (result: CaseResult) => void;
}

const TIME_LIMIT_MS = 60_000;
/** Members that a database may leave out. */
const OPTIONAL_MEMBERS: readonly (keyof SqlDatabase)[] = [
  'filename',
  'driver',
  'backUp',
  'inspect',
  'commits',
  'file',
  'mayRemain',
];

/** Texts that a careless database changes. */
const TEXTS = [
  '',
  ' ',
  'trailing space \r\n\tand tabs\n\n',
  '\'quotes\' "double" `back` \\ %s ?1 :name @x $y $1',
  'żółw 漢字 😀 é e\u0301 \u{10ffff} \u0001\u007f\u2028\ufeff',
  '[1,{"json":null}]',
  '0123',
  'null',
];

/** Keys in the order of the bytes of their UTF-8. */
const KEYS = [
  '0',
  '00',
  'A',
  'B',
  'a',
  'a ',
  'a!',
  'a/b',
  'a_',
  'ab',
  'á',
  '\ud7ff',
  '\ue000',
  '😀',
];

/** Every rule of a database, as named cases for any test runner. */
export const databaseCases: readonly DatabaseCase[] = [
  on('says its version, its limits and what it is, without secrets', async ({ database }) => {
    const { limits } = database;
    assert.equal(database.apiVersion, 1);
    assert.ok(['one', 'many'].includes(limits.writers), `limits.writers: ${show(limits.writers)}`);
    for (const limit of ['groupSize', 'groupedReads', 'lockTimeoutMs'] as const) {
      assert.ok(limits[limit] >= 1, `limits.${limit}: ${limits[limit]}`);
    }
    await database.ping();
    const described = await database.describe();
    assert.equal(described.name, database.name);
    assert.match(described.version, /^\d+\.\d+/);
    assert.doesNotMatch(JSON.stringify(described), /\/tmp|password/);
  }),

  on('keeps text byte for byte', async ({ database, write }) => {
    await write((connection) =>
      insertSettings(
        connection,
        TEXTS.map((text, at) => [`k${at}`, text]),
      ),
    );
    assert.deepEqual(
      (await readSettings(database)).map(([, value]) => value),
      TEXTS,
    );
  }),

  on('keeps long content: 2 MB of characters of four bytes', async ({ database, write }) => {
    const content = '😀'.repeat(512 * 1024);
    await write((connection) => insertContents(connection, [[1, 1, 1, content]]));
    const [row] = await database.read(
      (connection) => connection.all('select content from svc_content', []),
      {},
    );
    assert.ok(toText(row?.['content']) === content, 'The content is another one.');
  }),

  on('keeps bytes as they are, none too', async ({ database, write }) => {
    const values = [Buffer.alloc(0), Buffer.from([0]), Buffer.from([0xff, 0, 0x80, 0x27, 0x5c])];
    await write((connection) =>
      connection.dialect.insertRows(connection, {
        table: tableOf('svc_posting'),
        columns: ['scope_id', 'term', 'bucket', 'postings'],
        rows: values.map((bytes, at) => [1, 't', at, bytes]),
      }),
    );
    const rows = await database.read(
      (connection) => connection.all('select postings from svc_posting order by bucket', []),
      {},
    );
    assert.deepEqual(
      rows.map(({ postings }) => Buffer.from(postings as Uint8Array).toString('hex')),
      values.map((bytes) => bytes.toString('hex')),
    );
  }),

  on('keeps whole numbers up to 2^53 - 1 exactly', async ({ database, write }) => {
    const numbers = [0, 1, -1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    await write((connection) =>
      insertBudgets(
        connection,
        numbers.map((used, at) => [`n${at}`, used]),
      ),
    );
    assert.deepEqual(
      (await readBudgets(database)).map(([, used]) => used),
      numbers,
    );
  }),

  on(
    'stores half of a surrogate pair as the replacement character',
    async ({ database, write }) => {
      await write((connection) => insertSettings(connection, [['k', 'a\ud800b']]));
      assert.deepEqual(await readSettings(database), [['k', 'a\ufffdb']]);
    },
  ),

  on('tells keys apart byte by byte, and orders them so', async ({ database, write }) => {
    const shuffled = KEYS.map((_, at) => KEYS[(at * 5) % KEYS.length] as string);
    await write((connection) =>
      insertBudgets(
        connection,
        shuffled.map((key) => [key, 1]),
      ),
    );
    assert.deepEqual(
      (await readBudgets(database)).map(([name]) => name),
      KEYS,
    );
  }),

  on('finds and deletes the rows of many keys, and no others', async ({ database, write }) => {
    const names = Array.from({ length: 1_500 }, (_, at) => `n ${String(at).padStart(4, '0')}`);
    await write((connection) =>
      insertBudgets(
        connection,
        names.map((name, at) => [name, at]),
      ),
    );
    const wanted = names.filter((_, at) => at % 3 === 0);
    const rows = [...wanted.map((name) => [name]), ['absent'], ['N 0000'], ['n 0000 ']];
    const keys = { columns: ['name'], rows };
    const found = await database.read(
      (connection) => findRows(connection, 'svc_budget', { ...keys, select: ['t.name'] }),
      {},
    );
    assert.deepEqual(found.map(({ name }) => toText(name)).sort(), wanted);
    assert.equal(await write((connection) => deleteRows(connection, 'svc_budget', keys)), 500);
    assert.equal((await readBudgets(database)).length, 1_000);
  }),

  on(
    'skips, replaces, adds to and keeps the greater of rows that exist',
    async ({ database, write }) => {
      const insert = (rows: [string, number][], conflict?: RowSet['conflict']) =>
        write((connection) => insertBudgets(connection, rows, conflict));
      await insert([
        ['a', 5],
        ['b', 5],
        ['c', 5],
        ['d', 5],
      ]);
      await insert(
        [
          ['a', 7],
          ['new', 1],
        ],
        'skip',
      );
      await insert([['b', 7]], { update: ['used'] });
      await insert([['c', 7]], { add: ['used'] });
      await insert([['d', 3]], { greatest: ['used'] });
      assert.deepEqual(await readBudgets(database), [
        ['a', 5],
        ['b', 7],
        ['c', 12],
        ['d', 5],
        ['new', 1],
      ]);
    },
  ),

  on('counts the rows that a statement changes', async ({ write }) => {
    await write((connection) =>
      insertBudgets(connection, [
        ['a', 1],
        ['b', 1],
        ['c', 2],
      ]),
    );
    const change = (value: number) =>
      write((connection) => connection.run('delete from svc_budget where used = ?', [value]));
    assert.deepEqual([await change(9), await change(1)], [0, 2]);
  }),

  on('writes all of a transaction or none', async ({ database }) => {
    const cause = new MemoryError('INVALID_REQUEST', 'On purpose.');
    const outcome = await database.transact(async (connection) => {
      await insertBudgets(connection, [['a', 1]]);
      await insertSettings(connection, [['a', 'b']]);
      throw cause;
    }, {});
    assert.equal(outcome.status, 'failed');
    assert.ok(outcome.error === cause, `Another error: ${show(outcome.error)}`);
    assert.equal(outcome.isUnknown, false);
    assert.deepEqual(await readBudgets(database), []);
    assert.deepEqual(await readSettings(database), []);
  }),

  on('calls the work of a transaction once, and repeats nothing', async ({ database }) => {
    let calls = 0;
    await database.transact(async (connection) => {
      calls += 1;
      await insertBudgets(connection, [
        ['a', 1],
        ['b', 1],
      ]);
      await insertBudgets(connection, [['b', 1]]);
    }, {});
    assert.equal(calls, 1);
    assert.deepEqual(await readBudgets(database), []);
  }),

  on('says that a row exists already, and what an error means', async ({ database, write }) => {
    await write((connection) => insertBudgets(connection, [['a', 1]]));
    const outcome = await database.transact(
      (connection) => insertBudgets(connection, [['a', 2]]),
      {},
    );
    assert.equal(outcome.status, 'failed');
    assert.equal(database.classify(outcome.error), 'duplicate');
    const explained = await database.explain(outcome.error);
    assert.ok(explained instanceof MemoryError, show(explained));
    assert.equal(explained.code, 'INTERNAL');
    const own = new MemoryError('FILE_NOT_FOUND');
    assert.equal(database.classify(own), 'other');
    assert.ok((await database.explain(own)) === own, 'A MemoryError is returned as it is.');
    assert.equal(database.classify(new Error('Not of the database.')), 'other');
  }),

  on(
    'shows a read what was committed before it, on every connection',
    async ({ database, write }) => {
      for (let n = 1; n <= 20; n += 1) {
        await write((connection) => insertBudgets(connection, [['a', n]], { update: ['used'] }));
        const seen = await Promise.all(Array.from({ length: 8 }, () => readBudgets(database)));
        for (const rows of seen) assert.deepEqual(rows, [['a', n]]);
      }
    },
  ),

  on('shows no read what is not committed', async ({ database }) => {
    let seen: unknown = null;
    await commit(database, async (connection) => {
      await insertBudgets(connection, [['a', 1]]);
      seen = await readBudgets(database);
    });
    assert.deepEqual(seen, []);
  }),

  on('shows a snapshot one state, while others commit', async ({ database, write }) => {
    const all = 'select name, used from svc_budget order by name';
    await write((connection) => insertBudgets(connection, [['a', 1]]));
    const seen = await database.snapshot(async (connection) => {
      const before = await connection.all(all, []);
      await write((other) => insertBudgets(other, [['b', 2]]));
      return [before.length, (await connection.all(all, [])).length];
    }, {});
    assert.deepEqual(seen, [1, 1]);
    const later = await database.snapshot((connection) => connection.all(all, []), {});
    assert.equal(later.length, 2);
  }),

  on('lends for reads and lists only connections that can not write', async ({ database }) => {
    const insert = (connection: Connection) => insertBudgets(connection, [['a', 1]]);
    await assert.rejects(async () => await database.snapshot(insert, {}), 'A snapshot can write.');
    const list = { isList: true };
    await assert.rejects(async () => await database.read(insert, list), 'A list can write.');
    assert.deepEqual(await readBudgets(database), []);
  }),

  on('loses no change of transactions that lock the same row', async ({ database, write }) => {
    await write((connection) => insertBudgets(connection, [['a', 0]]));
    const raise = (by: SqlDatabase) =>
      commit(by, async (connection) => {
        const [row] = await connection.all(
          'select used from svc_budget t where name = ? for update of t',
          ['a'],
        );
        await connection.run('update svc_budget set used = ? where name = ?', [
          toInteger(row?.['used']) + 1,
          'a',
        ]);
      });
    for (let round = 0; round < 10; round += 1) {
      if (database.limits.writers === 'many') {
        await Promise.all(Array.from({ length: 5 }, () => raise(database)));
      } else {
        for (let n = 0; n < 5; n += 1) await raise(database);
      }
    }
    assert.deepEqual(await readBudgets(database), [['a', 50]]);
  }),

  on('locks out another opener of the same data', async ({ database, write, openAgain }) => {
    await write((connection) => insertBudgets(connection, [['a', 0]]));
    const other = await openAgain();
    const order: string[] = [];
    const waiting: Promise<void>[] = [];
    const lock = async (connection: Connection, name: string) => {
      await connection.all('select used from svc_budget t where name = ? for update of t', ['a']);
      order.push(name);
    };
    await commit(database, async (connection) => {
      await lock(connection, 'first');
      waiting.push(commit(other, (its) => lock(its, 'second')));
      await sleep(200);
      order.push('commit');
    });
    await Promise.all(waiting);
    assert.deepEqual(order, ['first', 'commit', 'second']);
  }),

  on(
    'leaves out rows that others have locked, where it is told to',
    async ({ database, write }) => {
      if (database.limits.writers === 'one') return;
      await write((connection) =>
        insertBudgets(connection, [
          ['a', 0],
          ['b', 0],
        ]),
      );
      const free = await commit(database, async (connection) => {
        const lock = 'select name from svc_budget t where name = ? for update of t';
        await connection.all(lock, ['a']);
        return await commit(database, async (other) => {
          const rows = [
            ...(await other.all(`${lock} skip locked`, ['a'])),
            ...(await other.all(`${lock} skip locked`, ['b'])),
          ];
          return rows.map(({ name }) => toText(name));
        });
      });
      assert.deepEqual(free, ['b']);
    },
  ),

  on('tells the time of the statement, in milliseconds', async ({ database }) => {
    const times = await commit(database, async (connection) => {
      const read = async () => {
        const [row] = await connection.all(`select ${connection.dialect.nowMs} as now_ms`, []);
        return toInteger(row?.['now_ms']);
      };
      const first = await read();
      await sleep(30);
      return [first, await read()];
    });
    const [first = 0, second = 0] = times;
    assert.ok(Number.isSafeInteger(first) && first > 1e12, `The time is ${first}.`);
    assert.ok(second - first >= 20, 'The time stood still within a transaction.');
  }),

  on(
    'compares a key of several columns with another one, in both directions',
    async ({ database, write }) => {
      const rows: [number, number][] = [
        [1, 1],
        [1, 2],
        [2, 1],
        [2, 2],
        [3, 1],
      ];
      await write((connection) =>
        insertContents(
          connection,
          rows.map(([scope, file]) => [scope, file, 1, '']),
        ),
      );
      for (const operator of ['<', '<=', '>', '>='] as const) {
        const found = await database.read(async (connection) => {
          const beyond = connection.dialect.isBeyond(['scope_id', 'file_no'], operator, [2, 1]);
          const sql = `select scope_id, file_no from svc_content where ${beyond.sql} order by scope_id, file_no`;
          return await connection.all(sql, beyond.parameters);
        }, {});
        const expected = rows.filter(([scope, file]) => {
          const order = scope - 2 || file - 1;
          return order === 0 ? operator.endsWith('=') : order < 0 === operator.startsWith('<');
        });
        assert.deepEqual(
          found.map((row) => [toInteger(row['scope_id']), toInteger(row['file_no'])]),
          expected,
        );
      }
    },
  ),

  on(
    'searches a text without regard to ASCII case, and to nothing else',
    async ({ database, write }) => {
      await write((connection) =>
        insertBudgets(
          connection,
          KEYS.map((key) => [`x${key}Y`, 1]),
        ),
      );
      const count = (text: string) =>
        database.read(async (connection) => {
          const condition = connection.dialect.containsText("concat(name, '-')");
          const sql = `select name from svc_budget where ${condition}`;
          return (await connection.all(sql, [text])).length;
        }, {});
      // `containsText` expects the text in lower case.
      assert.deepEqual(
        [
          await count('xay-'),
          await count('xáy'),
          await count('x_'),
          await count('%'),
          await count('y-'),
        ],
        [2, 1, 0, 0, KEYS.length],
      );
    },
  ),

  on('runs the queries of lists', async ({ database, write }) => {
    await write((connection) =>
      insertBudgets(
        connection,
        KEYS.map((key, at) => [key, at]),
      ),
    );
    const sql =
      'select `k`.* from (select `name` as `key` from svc_budget where `used` >= ?' +
      ' order by `name` desc limit ?) as `k` order by `k`.`key` desc limit ? offset ?';
    const rows = await database.read((connection) => connection.all(sql, [3, 5, 2, 1]), {
      isList: true,
    });
    assert.deepEqual(
      rows.map(({ key }) => toText(key)),
      [...KEYS].reverse().slice(1, 3),
    );
  }),

  on('answers many reads at once, each with its own rows', async ({ database, write }) => {
    await write((connection) =>
      insertBudgets(
        connection,
        Array.from({ length: 50 }, (_, at) => [`n${at}`, at]),
      ),
    );
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        database.read(
          (connection) =>
            connection.all('select used from svc_budget where name = ?', [`n${at % 50}`]),
          {},
        ),
      ),
    );
    answers.forEach(([row], at) => assert.equal(toInteger(row?.['used']), at % 50));
  }),

  on(
    'has everything again after it was closed, and opens what is up to date',
    async ({ database, write, openAgain }) => {
      await write((connection) =>
        insertSettings(
          connection,
          TEXTS.map((text, at) => [`k${at}`, text]),
        ),
      );
      await database.close();
      const again = await openAgain();
      assert.deepEqual(
        (await readSettings(again)).map(([, value]) => value),
        TEXTS,
      );
      await again.ping();
    },
  ),

  on('lends a connection before it is opened, and makes nothing', async ({ write, makeAgain }) => {
    await write((connection) => insertBudgets(connection, [['a', 1]]));
    const closed = await makeAgain();
    const found = await closed.examine(async (examined) => {
      if (examined === null) return null;
      const { version, connection } = examined;
      return { version, rows: await connection.all('select name from svc_budget', []) };
    });
    assert.match(found?.version ?? 'no database', /^\d+\.\d+/);
    assert.equal(found?.rows.length, 1);
  }),

  on('tells the columns and indexes of a table, and that there is none', async ({ database }) => {
    const partsOf = async (table: string) => {
      const rows = await database.read(async (connection) => {
        const { sql, parameters } = connection.dialect.tableParts(table);
        return await connection.all(sql, parameters);
      }, {});
      return rows.map(({ kind, name }) => `${toText(kind)} ${toText(name)}`);
    };
    const { columns } = tableOf('svc_revision');
    const found = await partsOf('svc_revision');
    for (const { name } of columns) assert.ok(found.includes(`column ${name}`), `column ${name}`);
    assert.ok(found.includes('index svc_revision_id'), found.join(', '));
    assert.deepEqual(await partsOf('svc_absent'), []);
  }),

  on('lists the entries of a folder, in both directions', async ({ database, write }) => {
    const paths = ['a.md', 'b/1.md', 'b/c/2.md', 'b0.md', 'd/ż.md', 'é.md'];
    await write((connection) => insertFiles(connection, paths));
    const list = async (query: Pick<FolderQuery, 'folder' | 'after' | 'order' | 'limit'>) => {
      const rows = await database.read(async (connection) => {
        const entries = connection.dialect.folderEntries({ scopeId: 1, ...query });
        return await connection.all(entries.sql, entries.parameters);
      }, {});
      const found = rows.map((row): [string, number, number] => [
        toText(row['entry']),
        toInteger(row['files']),
        toInteger(row['bytes']),
      ]);
      return found.sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
    };
    const all = [
      ['a.md', 1, 1],
      ['b/', 2, 5],
      ['b0.md', 1, 4],
      ['d/', 1, 5],
      ['é.md', 1, 6],
    ];
    const whole = { folder: '', after: null, limit: 9 };
    assert.deepEqual(await list({ ...whole, order: 'asc' }), all);
    assert.deepEqual(await list({ ...whole, order: 'desc', limit: 2 }), all.slice(3));
    assert.deepEqual(
      await list({ ...whole, order: 'asc', after: 'b/', limit: 2 }),
      all.slice(2, 4),
    );
    assert.deepEqual(await list({ ...whole, order: 'desc', after: 'b0.md' }), all.slice(0, 2));
    assert.deepEqual(await list({ ...whole, folder: 'b/', order: 'asc' }), [
      ['1.md', 1, 2],
      ['c/', 1, 3],
    ]);
  }),

  during(
    'fullDisk',
    'says that the disk is full, keeps nothing of the write, and writes again when there is room',
    async ({ database, write, during: whileFull }) => {
      await write((connection) => insertBudgets(connection, [['a', 1]]));
      const long = 'x'.repeat(1_024 * 1_024);
      await whileFull(async () => {
        const outcome = await database.transact(async (connection) => {
          await insertBudgets(connection, [['b', 1]]);
          await insertContents(connection, [[1, 1, 1, long]]);
        }, {});
        assert.equal(outcome.status, 'failed');
        assert.equal(outcome.isUnknown, false);
        assert.equal(database.classify(outcome.error), 'full');
        assert.equal((await database.explain(outcome.error)).code, 'STORAGE_FULL');
        assert.deepEqual(await readBudgets(database), [['a', 1]]);
      });
      await write((connection) => insertContents(connection, [[1, 1, 1, long]]));
    },
  ),

  during(
    'readOnly',
    'says that it takes no writes, answers reads, and writes again when it can',
    async ({ database, write, during: whileReadOnly }) => {
      await write((connection) => insertBudgets(connection, [['a', 1]]));
      await whileReadOnly(async () => {
        const outcome = await database.transact(
          (connection) => insertBudgets(connection, [['b', 1]]),
          {},
        );
        assert.equal(outcome.status, 'failed');
        assert.equal(outcome.isUnknown, false);
        // A file that can't be written counts as a full disk: no other server takes over.
        const failure = database.classify(outcome.error);
        assert.ok(['read-only', 'full'].includes(failure), `classify: ${failure}`);
        const { code } = await database.explain(outcome.error);
        assert.equal(code, failure === 'full' ? 'STORAGE_FULL' : 'STORAGE_UNAVAILABLE');
        assert.deepEqual(await readBudgets(database), [['a', 1]]);
      });
      await write((connection) => insertBudgets(connection, [['b', 1]]));
    },
  ),

  during(
    'lostCommit',
    'does not know what became of a COMMIT without an answer, and goes on',
    async ({ database, write, during: whileLost }) => {
      await whileLost(async () => {
        const outcome = await database.transact(
          (connection) => insertBudgets(connection, [['a', 1]]),
          {},
        );
        assert.equal(outcome.status, 'failed');
        assert.equal(outcome.isUnknown, true);
        assert.equal(database.classify(outcome.error), 'lost');
      });
      assert.deepEqual(await readBudgets(database), [['a', 1]]);
      await write((connection) => insertBudgets(connection, [['b', 1]]));
    },
  ),
];

/**
 * Checks a database against every rule, one case after the other, each on an empty database of its
 * own. Never rejects for a broken database.
 *
 * @example
 * import { checkDatabase, formatResults } from 'memory-service/testing';
 *
 * const results = await checkDatabase((place) => myDatabase({ filename: `/tmp/${place}.db` }));
 * console.log(formatResults(results));
 */
export async function checkDatabase(
  make: MakeDatabase,
  {
    cases = databaseCases,
    faults = {},
    onResult,
    timeLimitMs = TIME_LIMIT_MS,
  }: CheckDatabaseOptions = {},
): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const { name, fault, run } of cases) {
    let result: CaseResult = { name, status: 'passed', error: null };
    const bringAbout = fault === undefined ? noFault : faults[fault];
    if (bringAbout === undefined) {
      result = { name, status: 'skipped', error: null };
    } else {
      try {
        await runDatabaseCase(run, { make, bringAbout, timeLimitMs });
      } catch (thrown) {
        result = { name, status: 'failed', error: toError(thrown) };
      }
    }
    results.push(result);
    onResult?.(result);
  }
  return results;
}

async function runDatabaseCase(
  run: DatabaseCase['run'],
  { make, bringAbout, timeLimitMs }: { make: MakeDatabase; bringAbout: Fault; timeLimitMs: number },
): Promise<void> {
  const pending: PendingCalls = new Map();
  const place = `case_${randomBytes(8).toString('hex')}`;
  const opened: SqlDatabase[] = [];
  const makeAgain = async () => {
    const made: unknown = await make(place);
    assert.ok(typeof made === 'object' && made !== null, `There is no database: ${show(made)}.`);
    return watchDatabase(made as SqlDatabase, pending);
  };
  const open = async () => {
    const database = await makeAgain();
    opened.push(database);
    await database.open({
      log: SILENT,
      now: Date.now,
      damage: { note: (error) => error, confirm: (work) => work() },
    });
    await prepareSchema(database, SILENT);
    return database;
  };
  try {
    await runCase(
      async () => {
        const database = await open();
        await run({
          database,
          write: (work) => commit(database, work),
          openAgain: open,
          makeAgain,
          async during(work) {
            const end = await bringAbout(place);
            try {
              return await work();
            } finally {
              await end();
            }
          },
        });
      },
      { timeLimitMs, pending },
    );
  } finally {
    await Promise.allSettled(opened.map((database) => database.close()));
  }
}

/** Names methods that are missing or give no promise. */
function watchDatabase(database: SqlDatabase, pending: PendingCalls): SqlDatabase {
  const watched = watchCalls(database, { pending, optional: OPTIONAL_MEMBERS });
  return new Proxy(watched, {
    get(target, key) {
      // These two may answer at once.
      if (key !== 'classify' && key !== 'explain') return Reflect.get(target, key) as unknown;
      const method: unknown = database[key];
      assert.equal(typeof method, 'function', `${key} is missing.`);
      return (error: unknown): unknown =>
        (method as (error: unknown) => unknown).call(database, error);
    },
  });
}

/** Repeats a transaction while others are in its way. */
async function commit<T>(
  database: SqlDatabase,
  run: (connection: Connection) => Promise<T>,
): Promise<T> {
  for (;;) {
    const outcome: Outcome<T> = await database.transact(run, {});
    if (outcome.status === 'done') return outcome.result;
    const failure = database.classify(outcome.error);
    if (failure !== 'conflict' && failure !== 'locked') throw outcome.error;
    await sleep(5);
  }
}

function on(name: string, run: DatabaseCase['run']): DatabaseCase {
  return { name, run };
}

function during(fault: keyof DatabaseFaults, name: string, run: DatabaseCase['run']): DatabaseCase {
  return { name, fault, run };
}

function noFault(): ReturnType<Fault> {
  return Promise.resolve(() => undefined);
}

function insertSettings(connection: Connection, rows: readonly [string, string][]): Promise<void> {
  return connection.dialect.insertRows(connection, {
    table: tableOf('svc_config'),
    columns: ['key', 'value'],
    rows,
  });
}

function insertBudgets(
  connection: Connection,
  rows: readonly [string, number][],
  conflict?: RowSet['conflict'],
): Promise<void> {
  return connection.dialect.insertRows(connection, {
    table: tableOf('svc_budget'),
    columns: ['name', 'used'],
    rows,
    ...(conflict === undefined ? {} : { conflict }),
  });
}

function insertContents(
  connection: Connection,
  rows: readonly [number, number, number, string][],
): Promise<void> {
  return connection.dialect.insertRows(connection, {
    table: tableOf('svc_content'),
    columns: ['scope_id', 'file_no', 'version', 'content'],
    rows,
  });
}

/** Files of one scope, each with its place among them as its size. */
function insertFiles(connection: Connection, paths: readonly string[]): Promise<void> {
  const values = (path: string, at: number): Record<string, string | number> => ({
    scope_id: 1,
    path,
    file_no: at + 1,
    size: at + 1,
    version: 1,
    latest_revision_id: '0'.repeat(32),
    hash: '0'.repeat(64),
  });
  const table = tableOf('svc_file');
  const columns = table.columns.filter(
    ({ name, nullable }) => nullable !== true || name in values('', 0),
  );
  return connection.dialect.insertRows(connection, {
    table,
    columns: columns.map(({ name }) => name),
    rows: paths.map((path, at) => columns.map(({ name }) => values(path, at)[name] ?? 0)),
  });
}

async function readSettings(database: SqlDatabase): Promise<[string, string][]> {
  const sql = 'select `key`, value from svc_config order by `key`';
  const rows = await read(database, sql);
  return rows.map(({ key, value }) => [toText(key), toText(value)]);
}

async function readBudgets(database: SqlDatabase): Promise<[string, number][]> {
  const rows = await read(database, 'select name, used from svc_budget order by name');
  return rows.map(({ name, used }) => [toText(name), toInteger(used)]);
}

function read(database: SqlDatabase, sql: string, parameters: readonly SqlValue[] = []) {
  return database.read((connection) => connection.all(sql, parameters), {});
}

const ignore = () => undefined;
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };
