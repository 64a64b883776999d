import { isIP } from 'node:net';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
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

/** A `Pool` of the package `pg`, as far as its types go here: they are a package of their own. */
export interface PostgresPool {
  connect(): Promise<{ release(): void }>;
}

/** A password, or a function that is asked for it before each new connection. */
type Password = string | (() => string | Promise<string>);

/** The options of the PostgreSQL plugin: a `url`, its parts, or a `pool` of the app. */
export const POSTGRES_OPTIONS = {
  url: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    isSecret: true,
    description:
      '`postgres://user:password@host:5432/database`, with special characters percent-encoded. Options beside it win. Its query can hold `schema`, `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `host`, `connections`, `lock-timeout-ms`, `statement-timeout-ms` and `start-timeout-ms`.',
  },
  pool: {
    schema: Type.Unsafe<PostgresPool>(Type.Object({})),
    default: null,
    allowed: 'a Pool of the package pg',
    description:
      "The app's own `pg.Pool`, in place of the options of a connection. The service never closes it.",
  },
  host: {
    schema: Type.String({ minLength: 1 }),
    default: '127.0.0.1',
    description: 'Name or address of the server, or the directory of its local socket.',
  },
  port: {
    schema: Type.Integer({ minimum: 1, maximum: 65_535 }),
    default: 5432,
    description: 'Port of the server.',
  },
  user: { schema: Type.String(), default: 'postgres', description: 'User of the database.' },
  password: {
    schema: Type.Unsafe<Password>({}),
    default: '',
    allowed: 'text, or a function that returns it',
    isSecret: true,
    description:
      'Password of that user, or a function that is asked for it before each new connection.',
  },
  database: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    description: 'Name of an existing database. Its tables are made at the start.',
  },
  schema: {
    schema: Type.String({ minLength: 1, maxLength: 63 }),
    default: null,
    description:
      "The schema of the tables. Without it, the first schema of the user's search path: mostly `public`.",
  },
  tls: {
    schema: Type.Enum(['disable', 'require', 'verify-ca', 'verify-full']),
    default: 'disable',
    allowed: 'one of disable, require, verify-ca, verify-full (sslmode in a URL)',
    description:
      "How the connection is encrypted, in the words of PostgreSQL's `sslmode`. `require` encrypts, `verify-ca` also checks that an authority signed the server's certificate, `verify-full` also checks the name in it.",
  },
  ...SERVER_OPTIONS,
} as const satisfies OptionTable;

/** The options of `postgres()`: a `url`, at least a `database`, or a `pool`. */
export type PostgresOptions = Partial<OptionsOf<typeof POSTGRES_OPTIONS>>;

/** How the connection is encrypted, with the names of PostgreSQL's `sslmode`. */
export type TlsMode = NonNullable<PostgresOptions['tls']>;

/** Checked and complete options. */
export interface PostgresSettings extends Pick<
  ReadOptions<typeof POSTGRES_OPTIONS>,
  'tls' | 'schema' | 'connections' | 'lockTimeoutMs' | 'statementTimeoutMs' | 'startTimeoutMs'
> {
  /** Where new connections lead, or the app's pool. */
  server: { pool: PostgresPool } | { config: ServerConfig };
}

/** Where `pg` connects to. */
interface ServerConfig {
  host: string;
  port: number;
  user: string;
  password: Password;
  database: string;
  ssl: TlsOptions | false;
}

/**
 * Checks the options of a PostgreSQL database and reads the files that they name. Throws a
 * `ConfigError`, whose message never quotes the URL because it may contain a password.
 */
export function parsePostgresOptions(given: PostgresOptions): PostgresSettings {
  const { url, ...parts } = given;
  const { pool, host, port, user, password, database, tlsFiles, ...settings } = readOptions(
    POSTGRES_OPTIONS,
    { ...(typeof url === 'string' ? parseUrl(url) : { url }), ...parts },
    { plugin: 'storage-postgres' },
  );
  const { tls, schema } = settings;
  if (schema?.includes('"') === true || schema?.includes('\0') === true) {
    throw refused('schema of storage-postgres must be a name without quotes.');
  }
  if (pool !== null) {
    if (typeof pool.connect === 'function') return { ...settings, server: { pool } };
    throw refused('pool of storage-postgres must be a Pool of the package pg.');
  }
  if (typeof password !== 'string' && typeof password !== 'function') {
    throw refused('password of storage-postgres must be text, or a function that returns it.');
  }
  if (database === null) {
    throw refused(
      'database of storage-postgres is missing: the name of an existing database, as in postgres://user:password@host:5432/memory.',
    );
  }
  if (tls !== 'disable' && host.startsWith('/')) {
    throw refused('A local socket has no TLS: leave sslmode out.');
  }
  if (tls === 'verify-full' && isIP(host) !== 0) {
    throw refused('sslmode=verify-full needs the name of the host, not its address.');
  }
  const ssl = tls === 'disable' ? false : toTls(tls, tlsFiles);
  return { ...settings, server: { config: { host, port, user, password, database, ssl } } };
}

function parseUrl(text: string): PostgresOptions {
  let url: URL;
  try {
    // Without a host, a user would not be well-formed: the host may be a socket in the query.
    url = new URL(text.replace(/^(postgres(?:ql)?:\/\/[^@/?#]*@)(?=[/?])/, '$1socket.invalid'));
  } catch {
    throw refused('The URL of the database is not well-formed: percent-encode its password.');
  }
  if (!/^postgres(?:ql)?:$/.test(url.protocol)) {
    throw refused('The URL of the database begins with postgres:// or postgresql://.');
  }
  const options: PostgresOptions = {};
  if (url.hostname !== '' && url.hostname !== 'socket.invalid') {
    options.host = decodeUrlPart(url.hostname).replace(/^\[(.*)\]$/, '$1');
  }
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

type Parameter = (value: string, options: PostgresOptions) => PostgresOptions;

const PARAMETERS: ReadonlyMap<string, Parameter> = new Map<string, Parameter>([
  ['schema', (schema) => ({ schema })],
  ['sslmode', (value) => ({ tls: value as TlsMode })],
  ['sslrootcert', (ca, { tlsFiles }) => ({ tlsFiles: { ...tlsFiles, ca } })],
  ['sslcert', (cert, { tlsFiles }) => ({ tlsFiles: { ...tlsFiles, cert } })],
  ['sslkey', (key, { tlsFiles }) => ({ tlsFiles: { ...tlsFiles, key } })],
  ['host', (host) => ({ host })],
  ['connections', (value) => ({ connections: Number(value) })],
  ['lock-timeout-ms', (value) => ({ lockTimeoutMs: Number(value) })],
  ['statement-timeout-ms', (value) => ({ statementTimeoutMs: Number(value) })],
  ['start-timeout-ms', (value) => ({ startTimeoutMs: Number(value) })],
]);

function toTls(tls: TlsMode, files: NonNullable<PostgresOptions['tlsFiles']>): TlsOptions {
  const options: TlsOptions = {
    rejectUnauthorized: tls !== 'require',
    ...readTlsFiles(files, URL_NAMES),
  };
  if (tls !== 'verify-full') options.checkServerIdentity = () => undefined;
  return options;
}

const URL_NAMES = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' } as const;

function refused(message: string): ConfigError {
  return new ConfigError(null, message);
}
