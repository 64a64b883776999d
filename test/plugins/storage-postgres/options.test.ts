import { describe, expect, it } from 'vitest';
import { parsePostgresOptions } from '../../../plugins/storage-postgres/options.ts';

const read = (url: string) => parsePostgresOptions({ url });

describe('the URL of a PostgreSQL database', () => {
  it.each(['postgres', 'postgresql'])('%s:// names all parts', (scheme) => {
    const settings = read(
      `${scheme}://me:p%40ss%2Fw@db.internal:6432/memory?schema=agents&sslmode=require&connections=3` +
        '&lock-timeout-ms=1500&statement-timeout-ms=2500&start-timeout-ms=0',
    );
    expect(settings).toMatchObject({
      schema: 'agents',
      tls: 'require',
      connections: 3,
      lockTimeoutMs: 1_500,
      statementTimeoutMs: 2_500,
      startTimeoutMs: 0,
      server: {
        config: {
          host: 'db.internal',
          port: 6_432,
          user: 'me',
          password: 'p@ss/w',
          database: 'memory',
          ssl: { rejectUnauthorized: false },
        },
      },
    });
  });

  it('may name the directory of a local socket', () => {
    const { server } = read('postgres://me@/memory?host=/var/run/postgresql');
    expect(server).toMatchObject({
      config: { host: '/var/run/postgresql', user: 'me', database: 'memory', ssl: false },
    });
  });

  it.each([
    ['mysql://me@db/memory', 'begins with postgres:// or postgresql://'],
    ['postgres://me:can@ary@db:x/memory', 'percent-encode its password'],
    ['postgres://me@db', 'database of storage-postgres is missing'],
    ['postgres://me@db/memory?sslmode=prefer', 'must be one of disable, require'],
    ['postgres://me@db/memory?canary=1', 'has an option that is not known; there are schema,'],
    ['postgres://me@10.0.0.1/memory?sslmode=verify-full', 'the name of the host'],
    ['postgres://me@/memory?host=/tmp&sslmode=require', 'A local socket has no TLS'],
    ['postgres://me@db/memory?sslmode=verify-ca&sslrootcert=/nowhere', 'The file of sslrootcert'],
    ['postgres://me@db/memory?schema=a%22b', 'must be a name without quotes'],
  ])('%s is refused with what is wrong', (url, says) => {
    expect(() => read(url)).toThrow(says);
    expect(() => read(url)).not.toThrow('canary');
  });
});

it('options beside the URL win', () => {
  const url = 'postgres://me:wrong@db/memory?connections=3';
  const settings = parsePostgresOptions({ url, password: 'right', connections: 4 });
  expect(settings).toMatchObject({
    connections: 4,
    server: { config: { password: 'right', host: 'db' } },
  });
});

it('refuses a pool or a password of another kind', () => {
  expect(() => parsePostgresOptions({ pool: {} as never })).toThrow('a Pool of the package pg');
  expect(() => parsePostgresOptions({ database: 'm', password: 7 as never })).toThrow(
    'text, or a function that returns it',
  );
});
