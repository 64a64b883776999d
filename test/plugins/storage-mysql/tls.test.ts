import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { write } from '../../support/rows.ts';
import {
  connectAsRoot,
  createDatabase,
  type Mariadb,
  startMariadb,
} from '../../support/mariadb-server.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { mysql } from '../../support/databases.ts';

const alice = { scope: 'u:alice', path: 'notes.md' } as const;
const PASSWORD = 'p@ss:wörd';

let directory: string;
let server: Mariadb;
let plainUrl: string;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'memory-tls-'));
  makeAuthority('authority');
  makeAuthority('stranger');
  makeCertificate('localhost', 'DNS:localhost');
  makeCertificate('client', 'DNS:client');
  server = await startMariadb({
    flags: [
      `--ssl-ca=${file('authority.crt')}`,
      `--ssl-cert=${file('localhost.crt')}`,
      `--ssl-key=${file('localhost.key')}`,
    ],
  });
  plainUrl = await createDatabase(server.port);
  const root = await connectAsRoot(server.port);
  const database = new URL(plainUrl).pathname.slice(1);
  for (const [user, required] of [
    ['any', ''],
    ['encrypted', ' require ssl'],
    ['known', ' require x509'],
  ] as const) {
    for (const host of ['127.0.0.1', 'localhost']) {
      await root.query(`create user ?@? identified by ?${required}`, [user, host, PASSWORD]);
      await root.query('grant all on ??.* to ?@?', [database, user, host]);
    }
  }
  await root.end();
});

afterAll(async () => {
  await server?.remove();
  await rm(directory, { recursive: true, force: true });
});

const file = (name: string) => path.join(directory, name);

/** The URL of a user, with these options. */
function urlOf(user: string, options: Record<string, string>, host = 'localhost'): string {
  const url = new URL(plainUrl);
  url.hostname = host;
  url.username = user;
  url.password = PASSWORD;
  for (const [name, value] of Object.entries(options)) url.searchParams.set(name, value);
  return url.href;
}

async function open(url: string): Promise<Storage> {
  const storage = mysql({ url });
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return storage;
}

/** A start that ends at once, with a message that says why and tells no password. */
async function expectRefused(options: Record<string, string>): Promise<void> {
  const storage = mysql({ url: urlOf('any', options) });
  const error = await rejection(storage.init({ log: quiet, now: Date.now }));
  expect([error.code, error.retryAfterSeconds]).toEqual(['STORAGE_UNAVAILABLE', 60]);
  expect(error.message).toContain('certificate');
  expect(error.message).not.toContain(PASSWORD);
}

const authority = () => file('authority.crt');

describe('TLS to MariaDB', () => {
  it.each([
    ['required', 'localhost', () => ({})],
    ['verify-ca', 'localhost', () => ({ 'ssl-ca': authority() })],
    ['verify-ca', '127.0.0.1', () => ({ 'ssl-ca': authority() })],
    ['verify-identity', 'localhost', () => ({ 'ssl-ca': authority() })],
  ])('%s at %s encrypts reads, writes and lists', async (mode, host, files) => {
    const storage = await open(urlOf('encrypted', { 'ssl-mode': mode, ...files() }, host));
    await write(storage, alice, 'over the wire');
    expect((await storage.files.read(alice))?.content).toBe('over the wire');
    const page = { limit: 5, order: 'asc', after: null, sort: 'path' } as const;
    expect((await storage.files.listAll({}, page)).items).toHaveLength(1);
    expect((await storage.describe()).settings).toMatchObject({ tls: mode });
  });

  it.each([
    ['an authority that did not sign the certificate', 'verify-ca', 'stranger.crt'],
    ['the same, with the name checked', 'verify-identity', 'stranger.crt'],
    ['the system’s own authorities', 'verify-ca', null],
  ])('refuses %s', async (_, mode, ca) => {
    const files = ca === null ? {} : { 'ssl-ca': file(ca) };
    await expectRefused({ 'ssl-mode': mode, ...files });
  });

  it('refuses the certificate of another host, where the identity is verified', async () => {
    const own = [file('localhost.crt'), file('localhost.key')] as const;
    const kept = await Promise.all(own.map((name) => readFile(name)));
    makeCertificate('elsewhere', 'DNS:elsewhere');
    const serve = async (contents: readonly Buffer[]) => {
      for (const [at, name] of own.entries()) await writeFile(name, contents[at] as Buffer);
      const root = await connectAsRoot(server.port);
      await root.query('flush ssl');
      await root.end();
    };
    await serve(
      await Promise.all(['elsewhere.crt', 'elsewhere.key'].map((name) => readFile(file(name)))),
    );
    onTestFinished(() => serve(kept));
    await expectRefused({ 'ssl-mode': 'verify-identity', 'ssl-ca': authority() });
    await open(urlOf('any', { 'ssl-mode': 'verify-ca', 'ssl-ca': authority() }));
  });

  it.each(['127.0.0.1', '[::1]', '10.0.0.1'])('verifies no identity by the address %s', (host) => {
    const url = urlOf('any', { 'ssl-mode': 'verify-identity', 'ssl-ca': authority() }, host);
    expect(() => mysql({ url })).toThrow('the name of the host');
    const parts = { host: host.replace(/[[\]]/g, ''), database: 'memory' };
    expect(() => mysql({ ...parts, tls: 'verify-identity' })).toThrow('the name of the host');
  });

  it('refuses a plain connection where the database asks for TLS', async () => {
    const error = await rejection(
      mysql({ url: urlOf('encrypted', {}) }).init({ log: quiet, now: Date.now }),
    );
    expect([error.code, error.message]).toEqual([
      'STORAGE_UNAVAILABLE',
      expect.stringContaining('refuses the user'),
    ]);
  });

  it('shows the certificate of the client to a database that asks for it', async () => {
    const url = urlOf('known', {
      'ssl-mode': 'verify-identity',
      'ssl-ca': authority(),
      'ssl-cert': file('client.crt'),
      'ssl-key': file('client.key'),
    });
    const storage = await open(url);
    expect(await storage.files.get(alice)).toBeDefined();
    const without = urlOf('known', { 'ssl-mode': 'required' });
    const error = await rejection(mysql({ url: without }).init({ log: quiet, now: Date.now }));
    expect(error.message).toContain('refuses the user');
  });

  it('is not asked of a server that has none', async () => {
    const plain = await startMariadb({ flags: ['--skip-ssl'] });
    onTestFinished(() => plain.remove());
    const url = `${await createDatabase(plain.port)}&ssl-mode=required&start-timeout-ms=0`;
    const error = await rejection(mysql({ url }).init({ log: quiet, now: Date.now }));
    expect([error.code, error.message]).toEqual([
      'STORAGE_UNAVAILABLE',
      expect.stringContaining('has no TLS'),
    ]);
    const root = await connectAsRoot(plain.port, new URL(url).pathname.slice(1));
    const [tables] = await root.query('show tables');
    await root.end();
    expect(tables).toEqual([]);
  });
});

/** An authority of its own, that nobody else knows. */
function makeAuthority(name: string): void {
  openssl(
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`],
    ...['-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)],
  );
}

/** A certificate that the authority signed. */
function makeCertificate(name: string, alternative: string): void {
  openssl(
    ...['req', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`],
    ...['-addext', `subjectAltName=${alternative}`],
    ...['-keyout', file(`${name}.key`), '-out', file(`${name}.csr`)],
  );
  openssl(
    ...['x509', '-req', '-days', '2', '-copy_extensions', 'copy', '-CAcreateserial'],
    ...['-CA', file('authority.crt'), '-CAkey', file('authority.key')],
    ...['-in', file(`${name}.csr`), '-out', file(`${name}.crt`)],
  );
}

function openssl(...args: string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl ${args.join(' ')}: ${stderr}`);
}
