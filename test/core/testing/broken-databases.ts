import { MemoryError } from '../../../core/errors.ts';
import type { Connection, Dialect, Row, SqlValue } from '../../../core/storage/dialect.ts';
import type { SqlDatabase } from '../../../core/storage/sql-database.ts';

/** A database with one bug, put before a good one. */
export interface BrokenDatabase {
  bug: string;
  /** The name of the rule. */
  breaks: string;
  wrap: (good: SqlDatabase) => SqlDatabase;
}

type Run<T> = (connection: Connection) => Promise<T>;

/** Replaces members of a database. The others stay bound to it. */
function change(good: SqlDatabase, members: Partial<SqlDatabase>): SqlDatabase {
  return new Proxy(good, {
    get(target, key) {
      if (Object.hasOwn(members, key)) return members[key as keyof SqlDatabase];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Puts something before every connection that the database lends. */
function changeConnections(
  good: SqlDatabase,
  toOther: (connection: Connection) => Partial<Connection>,
): SqlDatabase {
  const wrap =
    <T>(run: Run<T>): Run<T> =>
    (connection) => {
      const own = {
        dialect: connection.dialect,
        all: connection.all.bind(connection),
        run: connection.run.bind(connection),
      };
      return run({ ...own, ...toOther(connection) });
    };
  return change(good, {
    read: (run, options) => good.read(wrap(run), options),
    snapshot: (run, options) => good.snapshot(wrap(run), options),
    transact: (run, options) => good.transact(wrap(run), options),
  });
}

function changeDialect(
  good: SqlDatabase,
  toOther: (dialect: Dialect) => Partial<Dialect>,
): SqlDatabase {
  return changeConnections(good, ({ dialect }) => ({
    dialect: { ...dialect, ...toOther(dialect) },
  }));
}

/** Changes the rows that queries return. */
function changeRows(good: SqlDatabase, toOther: (rows: Row[]) => Row[]): SqlDatabase {
  return changeConnections(good, (connection) => ({
    all: async (sql: string, parameters: readonly SqlValue[]) =>
      toOther(await connection.all(sql, parameters)),
  }));
}

const mapTexts = (rows: Row[], map: (text: string) => string): Row[] =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'string' ? map(value) : value,
      ]),
    ),
  );

export const brokenDatabases: readonly BrokenDatabase[] = [
  {
    bug: 'tells its password',
    breaks: 'says its version, its limits and what it is, without secrets',
    wrap: (good) =>
      change(good, {
        describe: async () => ({ ...(await good.describe()), settings: { password: 'x' } }),
      }),
  },
  {
    bug: 'trims what it reads',
    breaks: 'keeps text byte for byte',
    wrap: (good) => changeRows(good, (rows) => mapTexts(rows, (text) => text.trimEnd())),
  },
  {
    bug: 'cuts long texts',
    breaks: 'keeps long content: 2 MB of characters of four bytes',
    wrap: (good) => changeRows(good, (rows) => mapTexts(rows, (text) => text.slice(0, 65_535))),
  },
  {
    bug: 'reads bytes as text',
    breaks: 'keeps bytes as they are, none too',
    wrap: (good) =>
      changeRows(good, (rows) =>
        rows.map((row) =>
          Object.fromEntries(
            Object.entries(row).map(([name, value]) => [
              name,
              value instanceof Uint8Array
                ? Buffer.from(Buffer.from(value).toString('utf8'))
                : value,
            ]),
          ),
        ),
      ),
  },
  {
    bug: 'has numbers of 32 bits',
    breaks: 'keeps whole numbers up to 2^53 - 1 exactly',
    wrap: (good) =>
      changeRows(good, (rows) =>
        rows.map((row) => ('used' in row ? { ...row, used: Number(row['used']) | 0 } : row)),
      ),
  },
  {
    bug: 'sorts by language',
    breaks: 'tells keys apart byte by byte, and orders them so',
    wrap: (good) =>
      changeRows(good, (rows) =>
        rows.toSorted((left, right) =>
          String(left['name']).localeCompare(String(right['name']), 'en'),
        ),
      ),
  },
  {
    bug: 'forgets the last keys of many',
    breaks: 'finds and deletes the rows of many keys, and no others',
    wrap: (good) =>
      changeDialect(good, (dialect) => ({
        keySet: (columns, rows) => dialect.keySet(columns, rows.slice(0, 400)),
      })),
  },
  {
    bug: 'replaces rows in place of adding to them',
    breaks: 'skips, replaces, adds to and keeps the greater of rows that exist',
    wrap: (good) =>
      changeDialect(good, (dialect) => ({
        insertRows: (connection, set) =>
          dialect.insertRows(connection, {
            ...set,
            ...(typeof set.conflict === 'object' && set.conflict.add !== undefined
              ? { conflict: { update: set.conflict.add } }
              : {}),
          }),
      })),
  },
  {
    bug: 'counts no rows',
    breaks: 'counts the rows that a statement changes',
    wrap: (good) =>
      changeConnections(good, (connection) => ({
        run: async (sql: string, parameters: readonly SqlValue[]) => {
          await connection.run(sql, parameters);
          return 0;
        },
      })),
  },
  {
    bug: 'commits what failed',
    breaks: 'writes all of a transaction or none',
    wrap: (good) =>
      change(good, {
        async transact<T>(run: Run<T>) {
          let failure: unknown = null;
          const outcome = await good.transact(async (connection) => {
            try {
              return await run(connection);
            } catch (error) {
              failure = error;
              return undefined as T;
            }
          }, {});
          if (failure === null) return outcome;
          return { status: 'failed', error: failure, isUnknown: false };
        },
      }),
  },
  {
    bug: 'repeats what fails',
    breaks: 'calls the work of a transaction once, and repeats nothing',
    wrap: (good) =>
      change(good, {
        async transact(run, options) {
          const outcome = await good.transact(run, options);
          return outcome.status === 'done' ? outcome : await good.transact(run, options);
        },
      }),
  },
  {
    bug: 'knows no kinds of failure',
    breaks: 'says that a row exists already, and what an error means',
    wrap: (good) => change(good, { classify: () => 'other' }),
  },
  {
    bug: 'explains every error anew',
    breaks: 'says that a row exists already, and what an error means',
    wrap: (good) =>
      change(good, { explain: (error) => new MemoryError('INTERNAL', String(error)) }),
  },
  {
    bug: 'answers reads from a copy',
    breaks: 'shows a read what was committed before it, on every connection',
    wrap: (good) => {
      const answers = new Map<string, Row[]>();
      return change(good, {
        read: (run, options) =>
          good.read(
            (connection) =>
              run({
                dialect: connection.dialect,
                run: connection.run.bind(connection),
                async all(sql, parameters) {
                  const key = JSON.stringify([sql, parameters]);
                  const rows = answers.get(key) ?? (await connection.all(sql, parameters));
                  answers.set(key, rows);
                  return rows;
                },
              }),
            options,
          ),
      });
    },
  },
  {
    bug: 'commits each statement',
    breaks: 'shows no read what is not committed',
    wrap: (good) =>
      change(good, {
        async transact<T>(run: Run<T>) {
          const own = await good.read((connection) => Promise.resolve(connection.dialect), {});
          const alone = async <R>(work: Run<R>) => {
            const outcome = await good.transact(work, {});
            if (outcome.status === 'failed') throw outcome.error;
            return outcome.result;
          };
          try {
            const result = await run({
              dialect: own,
              all: (sql, parameters) => alone((its) => its.all(sql, parameters)),
              run: (sql, parameters) => alone((its) => its.run(sql, parameters)),
            });
            return { status: 'done', result };
          } catch (error) {
            return { status: 'failed', error, isUnknown: false };
          }
        },
      }),
  },
  {
    bug: 'has no snapshots',
    breaks: 'shows a snapshot one state, while others commit',
    wrap: (good) => change(good, { snapshot: (run, options) => good.read(run, options) }),
  },
  {
    bug: 'lets snapshots write',
    breaks: 'lends for reads and lists only connections that can not write',
    wrap: (good) =>
      change(good, {
        async snapshot(run) {
          const outcome = await good.transact(run, {});
          if (outcome.status === 'failed') throw outcome.error;
          return outcome.result;
        },
      }),
  },
  {
    bug: 'has a clock that stands still',
    breaks: 'tells the time of the statement, in milliseconds',
    wrap: (good) => changeDialect(good, () => ({ nowMs: '1700000000000' })),
  },
  {
    bug: 'compares the first column alone',
    breaks: 'compares a key of several columns with another one, in both directions',
    wrap: (good) =>
      changeDialect(good, () => ({
        isBeyond: (columns, operator, values) => ({
          sql: `${columns[0]} ${operator} ?`,
          parameters: values.slice(0, 1),
        }),
      })),
  },
  {
    bug: 'searches with wildcards',
    breaks: 'searches a text without regard to ASCII case, and to nothing else',
    wrap: (good) =>
      changeDialect(good, () => ({ containsText: (text) => `${text} like '%' || ? || '%'` })),
  },
  {
    bug: 'examines nothing',
    breaks: 'lends a connection before it is opened, and makes nothing',
    wrap: (good) => change(good, { examine: (run) => run(null) }),
  },
  {
    bug: 'has each table',
    breaks: 'tells the columns and indexes of a table, and that there is none',
    wrap: (good) =>
      changeDialect(good, ({ tableParts }) => ({
        tableParts: (table) => tableParts(table === 'svc_absent' ? 'svc_meta' : table),
      })),
  },
  {
    bug: 'lists folders in one direction',
    breaks: 'lists the entries of a folder, in both directions',
    wrap: (good) =>
      changeDialect(good, ({ folderEntries }) => ({
        folderEntries: (query) => folderEntries({ ...query, order: 'asc' }),
      })),
  },
  {
    bug: 'calls a full disk a failure of any kind',
    breaks:
      'says that the disk is full, keeps nothing of the write, and writes again when there is room',
    wrap: (good) => change(good, { classify: () => 'other' }),
  },
  {
    bug: 'acknowledges what it could not write',
    breaks: 'says that it takes no writes, answers reads, and writes again when it can',
    wrap: (good) =>
      change(good, {
        transact: async (run, options) => {
          const outcome = await good.transact(run, options);
          return outcome.status === 'done' ? outcome : { status: 'done', result: null as never };
        },
      }),
  },
  {
    bug: 'calls a lost COMMIT a failed one',
    breaks: 'does not know what became of a COMMIT without an answer, and goes on',
    wrap: (good) =>
      change(good, {
        transact: async (run, options) => {
          const outcome = await good.transact(run, options);
          return outcome.status === 'done' ? outcome : { ...outcome, isUnknown: false };
        },
      }),
  },
  {
    bug: 'lists nothing',
    breaks: 'runs the queries of lists',
    wrap: (good) =>
      change(good, {
        read: (run, options) =>
          good.read(
            (connection) =>
              options.isList === true
                ? run({ ...connection, all: () => Promise.resolve([]) })
                : run(connection),
            options,
          ),
      }),
  },
];
