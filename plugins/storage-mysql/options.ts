import { isIP } from 'node:net';
import type { ConnectionOptions, SslOptions } from 'mysql2';
import Type from 'typebox';
import {
  ConfigError,
  decodeUrlPart,
  type OptionsOf,
  type OptionTable,
  type ReadOptions,
  readOptions,
  readTlsFiles,
  SERVER_OPTIONS,
} from '../../core/plugin.ts';

/** The options of the MySQL plugin: a `url`, or its parts. */
export const MYSQL_OPTIONS = {
  url: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    isSecret: true,
    description:
      '`mysql://user:password@host:3306/database`, with special characters percent-encoded. Options beside it win. Its query can hold `ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key`, `socket`, `connections`, `lock-timeout-ms`, `statement-timeout-ms`, `start-timeout-ms` and `wsrep-sync-wait`.',
  },
  host: {
    schema: Type.String({ minLength: 1 }),
    default: '127.0.0.1',
    description: 'Name or address of the server.',
  },
  port: {
    schema: Type.Integer({ minimum: 1, maximum: 65_535 }),
    default: 3306,
    description: 'Port of the server.',
  },
  socketPath: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    description: 'A local socket, in place of host and port.',
  },
  user: { schema: Type.String(), default: 'root', description: 'User of the database.' },
  password: {
    schema: Type.String(),
    default: '',
    isSecret: true,
    description: 'Password of that user.',
  },
  database: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    isRequired: true,
    description:
      'Name of an existing database, as in mysql://user:password@host:3306/memory; its tables are made at the start.',
  },
  tls: {
    schema: Type.Enum(['disabled', 'required', 'verify-ca', 'verify-identity']),
    default: 'disabled',
    allowed: 'one of disabled, required, verify-ca, verify-identity (ssl-mode in a URL)',
    description:
      "How the connection is encrypted, in the words of MySQL's `ssl-mode`. `required` encrypts, `verify-ca` also checks that an authority signed the server's certificate, `verify-identity` also that the certificate names the host.",
  },
  ...SERVER_OPTIONS,
  wsrepSyncWait: {
    schema: Type.Integer({ minimum: 0, maximum: 15 }),
    default: null,
    description:
      "Galera's `wsrep_sync_wait`: 1 lets each read wait for the writes of other nodes, 0 does not. Default 1 on a node of a cluster.",
  },
} as const satisfies OptionTable;

/** The options of `mysql()`: a `url`, or at least a `database`. */
export type MysqlOptions = Partial<OptionsOf<typeof MYSQL_OPTIONS>>;

/** How the connection is encrypted, with the names of MySQL's `ssl-mode`. */
export type TlsMode = NonNullable<MysqlOptions['tls']>;

/** Checked and complete options. */
export interface MysqlSettings extends Pick<
  ReadOptions<typeof MYSQL_OPTIONS>,
  | 'tls'
  | 'connections'
  | 'lockTimeoutMs'
  | 'statementTimeoutMs'
  | 'startTimeoutMs'
  | 'wsrepSyncWait'
> {
  /** The connection options for mysql2. */
  server: ConnectionOptions;
}

/**
 * Checks the options of a MySQL database and reads the files that they name. Throws a
 * `ConfigError`, whose message never quotes the URL because it may contain a password.
 */
export function parseMysqlOptions(given: MysqlOptions): MysqlSettings {
  const { url, ...parts } = given;
  const { host, port, socketPath, user, password, database, tlsFiles, ...settings } = readOptions(
    MYSQL_OPTIONS,
    { ...(typeof url === 'string' ? parseUrl(url) : { url }), ...parts },
    { plugin: 'storage-mysql' },
  );
  const { tls } = settings;
  // For an IP address, mysql2 compares the certificate with `localhost`.
  if (tls === 'verify-identity' && isIP(host) !== 0) {
    throw refused('ssl-mode=verify-identity needs the name of the host, not its address.');
  }
  return {
    ...settings,
    server: {
      host,
      port,
      user,
      password,
      database,
      ...(socketPath === null ? {} : { socketPath }),
      ...(tls === 'disabled' ? {} : { ssl: toSsl(tls, tlsFiles) }),
    },
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
  if (url.username !== '') options.user = decodeUrlPart(url.username);
  if (url.password !== '') options.password = decodeUrlPart(url.password);
  if (url.pathname.length > 1) options.database = decodeUrlPart(url.pathname.slice(1));
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
  // MySQL itself writes the modes in capitals with underscores.
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

function toSsl(tls: TlsMode, files: NonNullable<MysqlOptions['tlsFiles']>): SslOptions {
  return {
    rejectUnauthorized: tls !== 'required',
    verifyIdentity: tls === 'verify-identity',
    ...readTlsFiles(files, URL_NAMES),
  };
}

const URL_NAMES = { ca: 'ssl-ca', cert: 'ssl-cert', key: 'ssl-key' } as const;

function refused(message: string): ConfigError {
  return new ConfigError(null, message);
}
