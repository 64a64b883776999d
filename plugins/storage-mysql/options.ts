import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { MemoryError } from '../../core/errors.ts';

/** How the connection is encrypted, in the words of MySQL's own `ssl-mode`. */
export type TlsMode = 'disabled' | 'required' | 'verify-ca' | 'verify-identity';

/** Where the database is and how it is reached: by `url`, or by its parts. */
export interface MysqlOptions {
  /**
   * `mysql://user:password@host:3306/database`, with special characters percent-encoded. Its query
   * can hold `ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key`, `socket`, `connections`, `lock-timeout-ms`,
   * `statement-timeout-ms`, `start-timeout-ms` and `wsrep-sync-wait`. Options beside it win.
   */
  url?: string;
  /** Default `127.0.0.1`. */
  host?: string;
  /** Default 3306. */
  port?: number;
  /** A local socket, in place of host and port. */
  socketPath?: string;
  user?: string;
  password?: string;
  /** It exists already; the tables in it are made at the start. */
  database?: string;
  /**
   * Default `disabled`. `required` encrypts, `verify-ca` also checks that an authority signed the
   * server's certificate, `verify-identity` also that it is of that host, which is named then.
   */
  tls?: TlsMode;
  /** Files in PEM: authorities in place of the system's own, and the client's certificate and key. */
  tlsFiles?: { ca?: string; cert?: string; key?: string };
  /** Connections of tool calls, 1 to 500. Default 10. */
  connections?: number;
  /** Milliseconds that a write waits for another's lock, a second or more. Default 2,000. */
  lockTimeoutMs?: number;
  /** Milliseconds that a statement, or a free connection, is waited for. Default 5,000. */
  statementTimeoutMs?: number;
  /** Milliseconds that the start waits for a database that can't be reached. Default 30,000. */
  startTimeoutMs?: number;
  /**
   * Galera's `wsrep_sync_wait`: 1 lets each read wait for the writes of other nodes, 0 does not.
   * Default 1 on a node of a cluster.
   */
  wsrepSyncWait?: number;
}

/** Options that are checked and complete. */
export interface MysqlSettings {
  /** What mysql2 connects with. */
  server: {
    host: string;
    port: number;
    socketPath: string | undefined;
    user: string;
    password: string;
    database: string;
    ssl: Ssl | undefined;
  };
  tls: TlsMode;
  connections: number;
  lockTimeoutMs: number;
  statementTimeoutMs: number;
  startTimeoutMs: number;
  wsrepSyncWait: number | null;
}

/** mysql2’s own options of TLS. */
export interface Ssl {
  rejectUnauthorized: boolean;
  verifyIdentity: boolean;
  ca?: string;
  cert?: string;
  key?: string;
}

const TLS_MODES: readonly TlsMode[] = ['disabled', 'required', 'verify-ca', 'verify-identity'];

/**
 * Checks the options of a MySQL database, and reads the files that they name. Throws
 * `INVALID_REQUEST`; its message repeats nothing of the URL, which may hold a password.
 */
export function parseMysqlOptions(given: MysqlOptions): MysqlSettings {
  const options = { ...(given.url === undefined ? {} : parseUrl(given.url)), ...given };
  const { database, tls = 'disabled', wsrepSyncWait } = options;
  if (typeof database !== 'string' || database === '') {
    throw refused('A database is named after the host: mysql://user:password@host:3306/memory.');
  }
  if (!TLS_MODES.includes(tls)) throw refused(`ssl-mode is one of ${TLS_MODES.join(', ')}.`);
  const host = options.host ?? '127.0.0.1';
  // mysql2 compares the certificate of a mere address with `localhost`, whatever the address is.
  if (tls === 'verify-identity' && isIP(host) !== 0) {
    throw refused('ssl-mode=verify-identity takes the name of the host, not its address.');
  }
  return {
    server: {
      host,
      port: within('port', options.port ?? 3306, 1, 65_535),
      socketPath: options.socketPath,
      user: options.user ?? 'root',
      password: options.password ?? '',
      database,
      ssl: tls === 'disabled' ? undefined : toSsl(tls, options.tlsFiles ?? {}),
    },
    tls,
    connections: within('connections', options.connections ?? 10, 1, 500),
    lockTimeoutMs: within('lock-timeout-ms', options.lockTimeoutMs ?? 2_000, 1_000, 600_000),
    statementTimeoutMs: within(
      'statement-timeout-ms',
      options.statementTimeoutMs ?? 5_000,
      1_000,
      600_000,
    ),
    startTimeoutMs: within('start-timeout-ms', options.startTimeoutMs ?? 30_000, 0, 3_600_000),
    wsrepSyncWait:
      wsrepSyncWait === undefined ? null : within('wsrep-sync-wait', wsrepSyncWait, 0, 15),
  };
}

function parseUrl(text: string): MysqlOptions {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refused('The URL of the database is not well-formed: percent-encode its password.');
  }
  if (url.protocol !== 'mysql:') throw refused('The URL of the database begins with mysql://.');
  const options: MysqlOptions = {};
  if (url.hostname !== '') options.host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (url.port !== '') options.port = Number(url.port);
  if (url.username !== '') options.user = decode(url.username);
  if (url.password !== '') options.password = decode(url.password);
  if (url.pathname.length > 1) options.database = decode(url.pathname.slice(1));
  for (const [name, value] of url.searchParams) {
    const read = PARAMETERS.get(name);
    if (read === undefined) {
      throw refused(
        `The URL of the database has an option that is not known; there are ${[...PARAMETERS.keys()].join(', ')}.`,
      );
    }
    Object.assign(options, read(value, options));
  }
  return options;
}

type Parameter = (value: string, options: MysqlOptions) => MysqlOptions;

const PARAMETERS: ReadonlyMap<string, Parameter> = new Map<string, Parameter>([
  // MySQL itself writes the modes in capitals, with _ between.
  ['ssl-mode', (value) => ({ tls: value.toLowerCase().replaceAll('_', '-') as TlsMode })],
  ['ssl-ca', (ca, { tlsFiles }) => ({ tlsFiles: { ...tlsFiles, ca } })],
  ['ssl-cert', (cert, { tlsFiles }) => ({ tlsFiles: { ...tlsFiles, cert } })],
  ['ssl-key', (key, { tlsFiles }) => ({ tlsFiles: { ...tlsFiles, key } })],
  ['socket', (socketPath) => ({ socketPath })],
  ['connections', (value) => ({ connections: Number(value) })],
  ['lock-timeout-ms', (value) => ({ lockTimeoutMs: Number(value) })],
  ['statement-timeout-ms', (value) => ({ statementTimeoutMs: Number(value) })],
  ['start-timeout-ms', (value) => ({ startTimeoutMs: Number(value) })],
  ['wsrep-sync-wait', (value) => ({ wsrepSyncWait: Number(value) })],
]);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('The URL of the database is not well-formed: percent-encode its password.');
  }
}

function toSsl(tls: TlsMode, files: NonNullable<MysqlOptions['tlsFiles']>): Ssl {
  const ssl: Ssl = {
    rejectUnauthorized: tls !== 'required',
    verifyIdentity: tls === 'verify-identity',
  };
  for (const name of ['ca', 'cert', 'key'] as const) {
    const path = files[name];
    if (path === undefined) continue;
    try {
      ssl[name] = readFileSync(path, 'utf8');
    } catch (cause) {
      throw refused(`The file of ssl-${name} can not be read.`, cause);
    }
  }
  return ssl;
}

function within(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw refused(`${name} of the database is a whole number from ${least} to ${most}.`);
}

function refused(message: string, cause?: unknown): MemoryError {
  return new MemoryError('INVALID_REQUEST', message, cause === undefined ? {} : { cause });
}
