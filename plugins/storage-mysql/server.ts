import { MemoryError, toText } from '../../core/plugin.ts';
import type { Session } from './connections.ts';

/** Settings of every session, because the server's defaults may be anything. */
export const SQL_MODE =
  'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';

/** Lets a session write the binary log as rows. */
export const LOG_ROWS = "set session binlog_format = 'ROW'";

/** The oldest servers that have `json_table` and atomic schema changes. */
const OLDEST = { MariaDB: [10, 6, 0], MySQL: [8, 0, 19] } as const;

/** The message size that the server must accept, in bytes: a large file and its overhead. */
const LEAST_PACKET_BYTES = 4 * 1024 * 1024;

/** Facts about the server, read at the start. */
export interface ServerFacts {
  /** As the server reports it: `10.11.6-MariaDB`. */
  version: string;
  isMariadb: boolean;
  /** Whether its sessions have to be told to write the binary log as rows. */
  logsStatements: boolean;
  /** Whether it belongs to a Galera cluster. */
  isGalera: boolean;
}

/**
 * Reads facts about the server, and refuses one that would lose or change data: too old, not MySQL,
 * not strict, another character set, messages too small. Throws `STORAGE_UNAVAILABLE`.
 */
export async function checkServer(session: Session): Promise<ServerFacts> {
  const [row = {}] = await session.all(
    'select version() as version, @@session.sql_mode as mode,' +
      ' @@session.character_set_client as client, @@session.character_set_connection as connection,' +
      ' @@max_allowed_packet as packet_bytes',
    [],
  );
  const version = toText(row['version']);
  assertSupportedServer(version);
  const modes = toText(row['mode']).split(',');
  const missing = SQL_MODE.split(',').find((mode) => !modes.includes(mode));
  if (missing !== undefined) {
    throw refused(`The database keeps to no sql_mode with ${missing}: a proxy may have lost it.`);
  }
  for (const name of ['client', 'connection']) {
    const found = toText(row[name]);
    if (found === 'utf8mb4') continue;
    throw refused(
      `The database talks ${found}, not utf8mb4: its init_connect may have changed it.`,
    );
  }
  if (Number(row['packet_bytes']) < LEAST_PACKET_BYTES) {
    throw refused(
      `The database takes messages of ${Number(row['packet_bytes'])} bytes: set max_allowed_packet to ${LEAST_PACKET_BYTES} or more.`,
    );
  }
  const [engine] = await session.all(
    "select support from information_schema.engines where engine = 'InnoDB'",
    [],
  );
  if (!/^(?:YES|DEFAULT)$/.test(toText(engine?.['support'] ?? ''))) {
    throw refused('The database has no InnoDB, and without it no transactions.');
  }
  const logsStatements =
    (await readGlobal(session, 'log_bin')) === 'ON' &&
    (await readGlobal(session, 'binlog_format')) === 'STATEMENT';
  if (logsStatements) await assertMayLogRows(session);
  const wsrep = await readGlobal(session, 'wsrep_on');
  return {
    version,
    isMariadb: isMariadb(version),
    logsStatements,
    isGalera: wsrep === 'ON',
  };
}

/** A setting of the server; `null` if it has none of this name. */
async function readGlobal(session: Session, name: string): Promise<string | null> {
  const [row] = await session.all(`show global variables like '${name}'`, []);
  return row === undefined ? null : toText(row['Value']);
}

/**
 * InnoDB refuses to write what a transaction of this isolation does as statements. A session may log it
 * as rows instead, with a privilege.
 */
async function assertMayLogRows(session: Session): Promise<void> {
  try {
    await session.command(LOG_ROWS);
  } catch (error) {
    throw new MemoryError(
      'STORAGE_UNAVAILABLE',
      'The database writes its binary log as statements, and the service needs rows: set' +
        ' binlog_format=ROW (or MIXED) there, or grant BINLOG ADMIN (on MySQL SESSION_VARIABLES_ADMIN)' +
        ' to the user of the service.',
      { cause: error, retryAfterSeconds: 60 },
    );
  }
}

/** Refuses a server by its version. Throws `STORAGE_UNAVAILABLE`. */
export function assertSupportedServer(version: string): void {
  // Some proxies and old clients put 5.5.5- before MariaDB's version.
  const known = /^(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)/.exec(version);
  if (known === null || /TiDB/i.test(version)) {
    throw refused(`The database is ${version}: MariaDB from 10.6 or MySQL from 8.0.19 is needed.`);
  }
  const product = isMariadb(version) ? 'MariaDB' : 'MySQL';
  for (const [place, least] of OLDEST[product].entries()) {
    const part = Number(known[place + 1]);
    if (part > least) return;
    if (part < least) {
      throw refused(`${product} ${version} is too old: ${OLDEST[product].join('.')} is needed.`);
    }
  }
}

function isMariadb(version: string): boolean {
  return /mariadb/i.test(version);
}

function refused(message: string): MemoryError {
  return new MemoryError('STORAGE_UNAVAILABLE', message, { retryAfterSeconds: 60 });
}
