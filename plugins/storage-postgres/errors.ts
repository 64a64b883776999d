import { type Failure, MemoryError } from '../../core/plugin.ts';

/** Kinds of failure by SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const FAILURES: Readonly<Record<string, Failure>> = {
  '23505': 'duplicate',
  '25006': 'read-only', // a transaction that may only read, as on a replica
  '25P03': 'lost', // the transaction rested too long, and its connection was closed
  '25P04': 'lost', // the transaction took too long
  '40001': 'conflict',
  '40P01': 'conflict', // deadlock
  '53100': 'full',
  '53200': 'disk', // out of memory
  '53300': 'lost', // too many connections
  '53400': 'lost', // a limit of the configuration
  '42701': 'duplicate', // a column of this name
  '42710': 'duplicate', // its row type, which two that make the table at once both make
  '42P07': 'duplicate', // a table or an index of this name
  '55P03': 'locked',
  '57014': 'lost', // cancelled, by a limit on its time too
  '57P01': 'lost', // the server shuts down
  '57P02': 'lost', // another process of the server crashed
  '57P03': 'lost', // the server starts
  '57P05': 'lost', // the connection rested too long
  '58000': 'disk',
  '58030': 'disk',
  '58P01': 'damaged', // a file of a table is missing
  XX001: 'damaged', // a damaged page
  XX002: 'damaged', // a damaged index
};

/** Classes of failures by the first two characters. */
const CLASSES: Readonly<Record<string, Failure>> = {
  '08': 'lost',
};

const LOST_CODES =
  /^(?:ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|ENOENT|ERR_SSL|ERR_TLS)/;
const LOST_MESSAGES =
  /Connection terminated|not queryable|timeout exceeded when trying to connect|after calling end on the pool/;
/** What a standby server says of a transaction that wants to write. */
const IN_RECOVERY = /during recovery/;
/** A disk that is full, in a failure of another kind. */
const NO_SPACE = /No space left on device|Disk quota exceeded/;

/** Classifies failures by PostgreSQL's codes and the system's error codes. */
export function classifyPostgresError(error: unknown): Failure {
  if (error instanceof MemoryError) return 'other';
  const { code, message } = asNative(error);
  if (NO_SPACE.test(message)) return 'full';
  if (IN_RECOVERY.test(message)) return 'read-only';
  const known = FAILURES[code] ?? CLASSES[code.slice(0, 2)];
  if (known !== undefined && code.length === 5) return known;
  return LOST_CODES.test(code) || LOST_MESSAGES.test(message) ? 'lost' : 'other';
}

/** Failures that only the operator can fix, by code, with what to do. */
const MISTAKES: Readonly<Record<string, (message: string) => string>> = {
  '28000': (message) =>
    `The database refuses the connection: ${message}. Look at its pg_hba.conf; if it takes only` +
    ' connections with TLS, set sslmode=require or stricter here.',
  '28P01': () => 'The database refuses the user or the password.',
  '3D000': () => 'There is no such database: create it first.',
  '3F000': () =>
    'There is no such schema: create it, or give the user of the service the right to create it.',
  '42501': (message) =>
    `The user of the database lacks a privilege that the service needs: ${message}. It needs USAGE` +
    ' and CREATE on the schema, and must own its tables.',
};

/** The same by a message, of poolers and of the package `pg`, which have no codes of their own. */
const MISTAKE_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [
    /statement pooling mode/,
    'The pooler before the database pools statements, and the service needs transactions: set' +
      ' pool_mode = transaction there.',
  ],
  [
    /does not support SSL connections/,
    'The database has no TLS: set it up there, or sslmode=disable here.',
  ],
  [
    /SSL required|no encryption|SSL connection is required/,
    'The database takes only connections with TLS: set sslmode=require or stricter here.',
  ],
  [
    /password must be a string|SASL authentication failed|password authentication failed|no such user|authentication failed/,
    'The database refuses the user or the password.',
  ],
  [/no such database/, 'There is no such database: create it first.'],
];

/** Codes of Node for a certificate that is not trusted, or of another host. */
const TLS_CODES =
  /^(?:ERR_TLS_CERT|ERR_SSL|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH)/;

/** What to do about failures that may also pass by themselves. */
const HINTS: Readonly<Record<string, string>> = {
  '53300':
    'The database takes no more connections: raise its max_connections, or lower connections here.',
  '57014':
    'The database ended a statement: it took longer than statement-timeout-ms, or somebody cancelled it.',
  '57P03': 'The database is starting, or ends.',
};

/** Whether only the operator can fix the error, in the configuration or in the database. */
export function isPostgresMistake(error: unknown): boolean {
  return mistakeOf(error) !== undefined;
}

function mistakeOf(error: unknown): string | undefined {
  if (error instanceof MemoryError) return undefined;
  const { code, message } = asNative(error);
  const known = MISTAKE_MESSAGES.find(([pattern]) => pattern.test(message));
  if (known !== undefined) return known[1];
  if (TLS_CODES.test(code)) {
    return 'There is no TLS with the database: its certificate is not trusted, or is of another host.';
  }
  return MISTAKES[code]?.(message);
}

/** Translates PostgreSQL's own errors; the only place that does. */
export function translatePostgresError(error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const { code } = asNative(error);
  const mistake = mistakeOf(error);
  if (mistake !== undefined) {
    return new MemoryError('STORAGE_UNAVAILABLE', mistake, { cause: error, retryAfterSeconds: 60 });
  }
  switch (classifyPostgresError(error)) {
    case 'conflict':
      return unavailable('Others wrote the same rows again and again.', error);
    case 'locked':
      return unavailable('The database stayed locked.', error);
    case 'read-only':
      return unavailable('The database is read-only: another server may be taking over.', error);
    case 'lost':
      return unavailable(HINTS[code], error);
    case 'disk':
      return unavailable(
        `The database could not read or write its files, or has no memory: its error ${code}.`,
        error,
      );
    case 'damaged':
      return new MemoryError(
        'STORAGE_DAMAGED',
        `The database finds a table or an index damaged: its error ${code}.`,
        { cause: error },
      );
    case 'full':
      return new MemoryError('STORAGE_FULL', undefined, { cause: error, retryAfterSeconds: 5 });
    case 'duplicate':
    case 'other':
      return new MemoryError('INTERNAL', undefined, { cause: error });
  }
}

function unavailable(message: string | undefined, cause: unknown): MemoryError {
  return new MemoryError('STORAGE_UNAVAILABLE', message, { cause, retryAfterSeconds: 1 });
}

function asNative(error: unknown): { code: string; message: string } {
  const native = (error ?? {}) as Record<string, unknown>;
  return {
    code: typeof native['code'] === 'string' ? native['code'] : '',
    message: typeof native['message'] === 'string' ? native['message'] : '',
  };
}
