import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  decideSecrets,
  findKeptSecret,
  findWeakness,
  isLoopback,
} from '../../../core/cli/secrets.ts';
import { ConfigError } from '../../../core/config/index.ts';

const SQLITE = { name: 'sqlite', isEmbedded: true };
const MYSQL = { name: 'mysql', isEmbedded: false };

const strong = () => randomBytes(32).toString('base64url');

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'memory-service-secrets-'));
  file = join(directory, 'secrets.json');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

type Given = Parameters<typeof decideSecrets>[0];

async function refusal(given: Given, host: string, database = SQLITE): Promise<string> {
  const error: unknown = await decideSecrets(given, { host, database, file }).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigError);
  expect(readdirSync(directory)).toEqual([]);
  return (error as ConfigError).message;
}

describe('a public address, or another database', () => {
  const good = strong();
  const bad: [string, Given, RegExp][] = [
    ['no API key', { apiKey: null, adminSecret: good }, /SERVICE_API_KEY is not set/],
    ['no admin secret', { apiKey: [good], adminSecret: null }, /SERVICE_ADMIN_SECRET is not set/],
    ['neither', { apiKey: null, adminSecret: null }, /SERVICE_API_KEY is not set/],
    ['a blank one', { apiKey: [good], adminSecret: ' '.repeat(40) }, /SECRET is blank/],
    ['31 characters', { apiKey: [good.slice(0, 31)], adminSecret: good }, /KEY has 31 characters/],
    [
      'a well-known one',
      { apiKey: [good], adminSecret: 'changeme-changeme-please-change-me-1234' },
      /SECRET is made of words/,
    ],
    ['a repeated one', { apiKey: ['password'.repeat(5)], adminSecret: good }, /KEY repeats itself/],
    ['two that are equal', { apiKey: [good], adminSecret: good }, /are the same/],
    [
      'a weak one among several',
      { apiKey: [strong(), 'x'.repeat(40)], adminSecret: good },
      /SERVICE_API_KEY \(the 2\. of 2\) repeats itself/,
    ],
    [
      'an admin secret among the API keys',
      { apiKey: [strong(), good], adminSecret: good },
      /are the same/,
    ],
  ];
  const hosts = ['0.0.0.0', '::', '::ffff:0.0.0.0', '[::]', '192.168.1.10', 'memory.internal'];
  const cases = [
    ...hosts.flatMap((host) => bad.map((it) => [it[0], host, SQLITE, it[1], it[2]] as const)),
    ...bad.map((it) => [it[0], '127.0.0.1', MYSQL, it[1], it[2]] as const),
  ];

  it.each(cases)('refuses %s on %s with %o', async (_name, host, database, given, reason) => {
    expect(cases.length).toBeGreaterThanOrEqual(40);
    const message = await refusal(given, host, database);
    expect(message).toMatch(reason);
    for (const secret of [...(given.apiKey ?? []), given.adminSecret ?? '']) {
      if (secret.trim() !== '') expect(message).not.toContain(secret);
    }
  });

  it.each([
    ...hosts.map((host) => ({ host, database: SQLITE })),
    { host: '127.0.0.1', database: MYSQL },
  ])(
    'takes good ones on $host with $database.name, and writes no file',
    async ({ host, database }) => {
      const given = { apiKey: [strong(), strong()], adminSecret: strong() };
      const secrets = await decideSecrets(given, { host, database, file });
      expect(secrets).toEqual({
        apiKeys: given.apiKey,
        adminSecret: given.adminSecret,
        file: null,
        warnings: [],
      });
      expect(readdirSync(directory)).toEqual([]);
    },
  );
});

describe('SQLite on a loopback address', () => {
  const local = () => ({ host: '127.0.0.1', database: SQLITE, file });
  const nothing: Given = { apiKey: null, adminSecret: null };

  it('generates what is missing, keeps it in a file of mode 0600, and finds it again', async () => {
    const first = await decideSecrets(nothing, local());
    expect(first.file).toBe(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['secrets.json']);
    const kept = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
    expect(kept).toEqual({ apiKey: first.apiKeys[0], adminSecret: first.adminSecret });
    expect(findWeakness(first.adminSecret)).toBeNull();
    expect(first.apiKeys[0]).not.toBe(first.adminSecret);
    expect(await decideSecrets(nothing, local())).toEqual(first);
  });

  it('makes other secrets for each installation', async () => {
    const first = await decideSecrets(nothing, local());
    rmSync(file);
    const second = await decideSecrets(nothing, local());
    expect(second.adminSecret).not.toBe(first.adminSecret);
    expect(second.apiKeys).not.toEqual(first.apiKeys);
  });

  it('generates only the one that is not given', async () => {
    const apiKey = [strong()];
    const secrets = await decideSecrets({ apiKey, adminSecret: null }, local());
    expect(secrets.apiKeys).toEqual(apiKey);
    expect(findWeakness(secrets.adminSecret)).toBeNull();
    expect(readFileSync(file, 'utf8')).not.toContain(apiKey[0]);
  });

  it('writes nothing when both are given, and warns of a weak one', async () => {
    const secrets = await decideSecrets({ apiKey: ['test'], adminSecret: strong() }, local());
    expect(secrets.apiKeys).toEqual(['test']);
    expect(secrets.file).toBeNull();
    expect(secrets.warnings).toEqual([
      'SERVICE_API_KEY has 4 characters, fewer than 32; that is accepted on a loopback address alone',
    ]);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('reads a file that an editor has saved with a byte order mark', async () => {
    const { adminSecret } = await decideSecrets(nothing, local());
    writeFileSync(file, `\uFEFF${readFileSync(file, 'utf8').replaceAll('\n', '\r\n')}`);
    expect((await decideSecrets(nothing, local())).adminSecret).toBe(adminSecret);
    expect(await findKeptSecret('adminSecret', file)).toBe(adminSecret);
  });

  it('takes back a file that others can read', async () => {
    await decideSecrets(nothing, local());
    chmodSync(file, 0o644);
    await decideSecrets(nothing, local());
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it.each(['', '{', '[]x', '{"apiKey": "short", "adminSecret": "canary-secret"}', '{"apiKey": 7}'])(
    'refuses a spoilt file %j without quoting it, and leaves it alone',
    async (content) => {
      writeFileSync(file, content);
      const error: unknown = await decideSecrets(nothing, local()).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as Error).message).toContain(file);
      expect(`${(error as Error).message}${String((error as Error).cause)}`).not.toContain(
        'canary',
      );
      expect(readFileSync(file, 'utf8')).toBe(content);
    },
  );

  it('says when the file cannot be written', async () => {
    const options = { ...local(), file: join(directory, 'none', 'secrets.json') };
    await expect(decideSecrets(nothing, options)).rejects.toThrow(/cannot be written \(ENOENT\)/);
  });
});

describe('what is a loopback address', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.8.9.10', true],
    ['::1', true],
    ['[::1]', true],
    ['0:0:0:0:0:0:0:1', true],
    ['::ffff:127.0.0.1', true],
    ['localhost', true],
    ['LOCALHOST', true],
    ['0.0.0.0', false],
    ['::', false],
    ['[::]', false],
    ['::ffff:0.0.0.0', false],
    ['::ffff:10.0.0.1', false],
    ['10.0.0.1', false],
    ['128.0.0.1', false],
    ['0', false],
    ['127.1', false],
    ['', false],
    ['localhost.example.com', false],
    ['my-localhost', false],
    ['127.0.0.1.example.com', false],
  ])('%s: %s', (host, expected) => expect(isLoopback(host)).toBe(expected));
});

describe('what is a weak secret', () => {
  it.each([
    'a'.repeat(64),
    'ab'.repeat(20),
    'password'.repeat(4),
    'passwordpasswordpasswordpasswordpa',
    '0123456789'.repeat(4),
    'abcdefghijklmnopqrstuvwxyz012345',
    '98765432109876543210987654321098',
    'your-very-long-secret-key-goes-here-1234',
    'replace-me-with-a-real-secret-please',
    'CHANGE_ME_CHANGE_IT_CHANGE_THIS_NOW',
    'SuperSecretPassword1234567890AdminTest',
    'P@ssw0rd-P@ssw0rd-and-one-more-secret',
    'memory-service-admin-secret-example-1',
  ])('%s', (secret) => expect(findWeakness(secret)).not.toBeNull());

  it('takes every random one', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 24, maxLength: 48 }),
        fc.constantFrom('hex', 'base64url', 'base64'),
        (seed, form) => {
          // fast-check shrinks to zeros: randomness comes from the machine, lengths from fast-check.
          const secret = randomBytes(seed.length).toString(form as BufferEncoding);
          expect(findWeakness(secret)).toBeNull();
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
