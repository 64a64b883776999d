import { randomBytes } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  runCommand,
  startCommand,
  type CommandOptions,
  type RunningCommand,
} from '../../support/command.ts';

const strong = () => randomBytes(32).toString('base64url');

let cwd: string;
let running: RunningCommand[];

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'memory-service-start-'));
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((command) => command.stop('SIGKILL')));
  rmSync(cwd, { recursive: true, force: true });
});

async function start(options: Partial<CommandOptions> = {}): Promise<RunningCommand> {
  const command = await startCommand({ cwd, ...options });
  running.push(command);
  return command;
}

function call(
  { url, apiKey }: RunningCommand,
  tool: string,
  args: unknown,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(`${url}/v1/tools/${tool}/execute`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ context: { userId: 'alice' }, arguments: args }),
    ...init,
  });
}

describe('a first start', () => {
  it('says nothing of search by meaning where an embedder is configured', async () => {
    // That it is said once, and not at the second start, is tried below.
    const configured = await start({
      env: {
        SERVICE_EMBEDDING_PROVIDER: 'openai',
        SERVICE_EMBEDDING_BASE_URL: 'http://127.0.0.1:1/v1',
      },
    });
    expect(configured.stdout()).not.toContain('embedder setup');
  });

  it('makes the database and the secrets, and says where; no secret is printed, and the log is JSON', async () => {
    const command = await start({ env: { SERVICE_LOG_LEVEL: 'debug' } });
    expect(command.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    expect(command.stdout().split('\n')).toEqual([
      `memory-service is ready: ${command.url}/admin`,
      `The API key and the admin secret are in ${join(cwd, 'data/secrets.json')}`,
      expect.stringMatching(/^Search by meaning is off: .*: memory-service embedder setup$/),
      '',
    ]);
    expect(statSync(join(cwd, 'data')).mode & 0o777).toBe(0o700);
    expect(statSync(join(cwd, 'data/secrets.json')).mode & 0o777).toBe(0o600);
    expect(existsSync(join(cwd, 'data/memory.db'))).toBe(true);
    // Also where the directory is open to others.
    for (const name of readdirSync(join(cwd, 'data'))) {
      expect([name, statSync(join(cwd, 'data', name)).mode & 0o077]).toEqual([name, 0]);
    }

    const written = await call(command, 'memory_write', { path: 'user/a.md', content: 'tea' });
    expect(written.status).toBe(200);
    const files = await fetch(`${command.url}/v1/admin/files`, {
      headers: { 'x-admin-secret': command.adminSecret },
    });
    expect(await files.json()).toMatchObject({ items: [{ path: 'users/alice/a.md' }] });

    const configuration = await fetch(`${command.url}/v1/admin/configuration`, {
      headers: { 'x-admin-secret': command.adminSecret },
    });
    const shown = await configuration.text();
    for (const secret of [command.apiKey, command.adminSecret]) expect(shown).not.toContain(secret);
    const { settings } = JSON.parse(shown) as { settings: { key: string }[] };
    const settingOf = (key: string) => settings.find((one) => one.key === key);
    const file = join(cwd, 'data/secrets.json');
    expect(settingOf('adminSecret')).toMatchObject({
      value: '********',
      source: 'file',
      origin: file,
    });
    expect(settingOf('logLevel')).toMatchObject({
      value: 'debug',
      source: 'environment',
      origin: 'SERVICE_LOG_LEVEL',
      default: 'info',
      flag: '--log-level',
    });

    // SQLite has a thread for each of its readers.
    const status = readFileSync(`/proc/${String(command.process.pid)}/status`, 'utf8');
    expect(Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1])).toBeGreaterThanOrEqual(16);

    await call(command, 'memory_read', { path: 'user/none.md' });
    const { stdout, stderr } = await command.stop();
    const lines = stderr.trimEnd().split('\n');
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('msg');
    expect(lines.length).toBeGreaterThan(2);
    for (const secret of [command.apiKey, command.adminSecret]) {
      expect(secret.length).toBeGreaterThanOrEqual(32);
      expect(stdout + stderr).not.toContain(secret);
    }
  });

  it('serves below its base path', async () => {
    const command = await start({ args: ['--base-path=/memory'] });
    expect(command.url).toMatch(/\/memory$/);
    expect((await fetch(`${command.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${command.url.replace('/memory', '')}/readyz`)).status).toBe(404);
  });

  it('works on a database in memory, with its secrets where the default database would be', async () => {
    const command = await start({ env: { SERVICE_DATABASE_URL: 'sqlite::memory:' } });
    expect((await call(command, 'memory_list', {})).status).toBe(200);
    expect(readdirSync(join(cwd, 'data'))).toEqual(['secrets.json']);
  });
});

describe('a second start', () => {
  it('finds the memory and the secrets of the first; SIGTERM and SIGINT end each with 0', async () => {
    const first = await start();
    expect(first.stdout().match(/memory-service embedder setup/g)).toHaveLength(1);
    await call(first, 'memory_write', { path: 'user/a.md', content: 'tea' });
    expect(await first.stop('SIGTERM')).toMatchObject({ code: 0, signal: null });
    const second = await start();
    expect(second.stdout()).not.toContain('embedder');
    expect([second.apiKey, second.adminSecret]).toEqual([first.apiKey, first.adminSecret]);
    const read = (await (await call(second, 'memory_read', { path: 'user/a.md' })).json()) as {
      result: { content: string };
    };
    expect(read.result.content).toBe('tea');
    expect(await second.stop('SIGINT')).toMatchObject({ code: 0, signal: null });
  });

  it('is refused while the first one runs on the same file, by its address', async () => {
    const first = await start();
    const { code, stdout, stderr } = await runCommand({ cwd, args: ['--port=0'] });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `memory-service: Another server has ${join(cwd, 'data/memory.db')} open, at ${first.url}: stop it, or choose another file with SERVICE_DATABASE_URL.\n`,
    );
    expect((await call(first, 'memory_list', {})).status).toBe(200);
  });

  it('is refused by every other name of the file: ln -s of it, of its directory, and ln', async () => {
    mkdirSync(join(cwd, 'data'));
    // Before there is a file: the claim is that of the file to come.
    symlinkSync('data/memory.db', join(cwd, 'link.db'));
    symlinkSync('data', join(cwd, 'directory'));
    const first = await start();
    const names = ['link.db', 'directory/memory.db', join(cwd, 'data', '..', 'link.db')];
    for (const name of names) {
      const args = ['--port=0', `--database-url=sqlite:${name}`];
      const { code, stderr } = await runCommand({ cwd, args });
      expect([name, code]).toEqual([name, 1]);
      expect(stderr).toContain(`open, at ${first.url}: stop it`);
    }
    linkSync(join(cwd, 'data/memory.db'), join(cwd, 'hard.db'));
    const args = ['--port=0', '--database-url=sqlite:hard.db'];
    const { code, stdout, stderr } = await runCommand({ cwd, args });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('The database file has 2 names (hard links).');
    expect(stderr).toContain('remove the other names');
    // None of those who were refused left anything behind that the next start would meet.
    unlinkSync(join(cwd, 'hard.db'));
    expect((await call(first, 'memory_write', { path: 'user/a.md', content: 'tea' })).status).toBe(
      200,
    );
    await first.stop();
    const byLink = await start({ args: ['--database-url=sqlite:link.db'] });
    expect((await call(byLink, 'memory_read', { path: 'user/a.md' })).status).toBe(200);
    const { code: refused } = await runCommand({ cwd, args: ['--port=0'] });
    expect(refused).toBe(1);
  });

  it('works at once after the first was killed', async () => {
    const first = await start();
    await first.stop('SIGKILL');
    const second = await start();
    expect((await call(second, 'memory_list', {})).status).toBe(200);
  });
});

describe('secrets', () => {
  it.each([
    ['0.0.0.0', {}, 'SERVICE_API_KEY is not set'],
    ['::', {}, 'SERVICE_API_KEY is not set'],
    ['::ffff:0.0.0.0', { SERVICE_API_KEY: strong() }, 'SERVICE_ADMIN_SECRET is not set'],
    [
      'memory.internal',
      { SERVICE_API_KEY: strong(), SERVICE_ADMIN_SECRET: 'short' },
      'SERVICE_ADMIN_SECRET has 5 characters',
    ],
    [
      '127.0.0.1',
      { SERVICE_DATABASE_URL: 'mysql://root@127.0.0.1/m' },
      'SERVICE_API_KEY is not set',
    ],
  ])('on %s with %o: exit code 78, and nothing is written', async (host, env, message) => {
    const { code, stdout, stderr } = await runCommand({ cwd, args: [`--host=${host}`], env });
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it.each([
    ['The admin secret is', { SERVICE_API_KEY: strong() }],
    ['The API key is', { SERVICE_ADMIN_SECRET: strong() }],
  ])('of which one is given: %s in the file', async (words, env) => {
    const command = await start({ env });
    expect(command.stdout()).toContain(`\n${words} in ${join(cwd, 'data/secrets.json')}\n`);
    expect((await call(command, 'memory_list', {})).status).toBe(200);
  });

  it('that are good let it listen on every address', async () => {
    const command = await start({
      args: ['--host=0.0.0.0'],
      env: { SERVICE_API_KEY: strong(), SERVICE_ADMIN_SECRET: strong() },
    });
    expect(command.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect((await call(command, 'memory_list', {})).status).toBe(200);
    expect(readdirSync(join(cwd, 'data'))).not.toContain('secrets.json');
    await expect.poll(command.stderr).toContain('set SERVICE_ALLOWED_HOSTS');
  });
});

describe('what cannot be', () => {
  it('a port in use: one line that says what to do', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const { code, stdout, stderr } = await runCommand({ cwd, args: [`--port=${port}`] });
    other.close();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `memory-service: Port ${port} on 127.0.0.1 is in use: choose another with SERVICE_PORT or --port, or stop what listens there.\n`,
    );
  });

  it('a directory that cannot be made', async () => {
    writeFileSync(join(cwd, 'data'), 'a file in its place');
    const { code, stderr } = await runCommand({ cwd, args: ['--port=0'] });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^memory-service: \S+\/data cannot be written \(EEXIST\): .*SERVICE_DATABASE_URL\.\n$/,
    );
  });

  it('a directory where no directory can be', async () => {
    const { code, stderr } = await runCommand({
      cwd,
      args: ['--port=0', '--database-url=sqlite:/proc/none/memory.db'],
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^memory-service: \/proc\/none cannot be written \(ENOENT\): .*\n$/);
  });

  it('a database that is a directory', async () => {
    const { code, stderr } = await runCommand({
      cwd,
      args: ['--port=0', `--database-url=sqlite:${cwd}`],
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^memory-service: \S+ cannot be opened: .*SQLITE_CANTOPEN.* Choose another with --database-url\.\n$/,
    );
    expect(stderr).toContain(cwd);
  });

  it('an address of another machine', async () => {
    const env = { SERVICE_API_KEY: strong(), SERVICE_ADMIN_SECRET: strong() };
    const { code, stderr } = await runCommand({ cwd, args: ['--host=192.0.2.1', '--port=0'], env });
    expect(code).toBe(1);
    expect(stderr).toContain('192.0.2.1 is no address of this machine: mend --host.');
  });

  it('a file that is no database', async () => {
    writeFileSync(join(cwd, 'notes.txt'), 'not a database, but long enough to look at '.repeat(50));
    const { code, stdout, stderr } = await runCommand({
      cwd,
      args: ['--port=0', '--database-url=sqlite:notes.txt'],
    });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toContain(`${join(cwd, 'notes.txt')} cannot be opened: `);
    expect(readFileSync(join(cwd, 'notes.txt'), 'utf8')).toMatch(/^not a database/);
  });

  it('a plugin that fails in setup', async () => {
    writeFileSync(
      join(cwd, 'memory.config.mjs'),
      'export default { plugins: [{ name: "bad", apiVersion: 2, setup() { throw new Error("no luck"); } }] };',
    );
    const { code, stderr } = await runCommand({ cwd, args: ['--port=0'] });
    expect(code).toBe(1);
    expect(stderr).toBe('memory-service: The plugin bad failed in setup. (no luck)\n');
  });
});

// Under load they are tried in test/faults/kill.test.ts.
describe('signals', () => {
  it('finishes the request under way, and takes no new one', async () => {
    const command = await start();
    const body = JSON.stringify({
      context: { userId: 'alice' },
      arguments: { path: 'user/late.md', content: 'late' },
    });
    const request = await openRequest(command, body.length);
    command.process.kill('SIGTERM');
    await until(() => command.stderr().includes('"stopping'));
    await until(() =>
      fetch(`${command.url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    request.write(body);
    expect(await request.answer).toMatch(/^HTTP\/1\.1 200 /);
    expect((await command.ended).code).toBe(0);

    const again = await start();
    expect((await call(again, 'memory_read', { path: 'user/late.md' })).status).toBe(200);
  });

  it('a second one ends it at once, with exit code 1', async () => {
    const command = await start();
    const request = await openRequest(command, 100);
    command.process.kill('SIGTERM');
    await until(() => command.stderr().includes('"stopping'));
    command.process.kill('SIGTERM');
    expect(await command.ended).toMatchObject({ code: 1, signal: null });
    request.end();
  });
});

describe('a hostile plugin', () => {
  it('fails its own calls; the service lives through 20 rejections that nobody handles', async () => {
    writeFileSync(
      join(cwd, 'memory.config.mjs'),
      `const tool = (name, run) => ({
        name, title: name, description: name, readOnly: true, requiresModel: false,
        inputSchema: { type: 'object' }, outputSchema: { type: 'object' }, errorCodes: [],
        example: { arguments: {}, result: {} }, run,
      });
      export default { plugins: [{ name: 'hostile', apiVersion: 2, setup: () => ({
        start() { throw new Error('start'); },
        close: () => Promise.reject(new Error('close')),
        tools: [
          tool('stray', async () => { Promise.reject(new Error('stray')); return {}; }),
          tool('thrower', () => { throw new Error('thrower'); }),
          { ...tool('shy', async () => ({})), unavailable() { throw new Error('shy'); } },
        ],
      }) }] };`,
    );
    const command = await start();
    for (let n = 0; n < 20; n++) expect((await call(command, 'stray', {})).status).toBe(200);
    const thrown = await call(command, 'thrower', {});
    expect(thrown.status).toBe(500);
    expect(await thrown.json()).toMatchObject({ error: { code: 'INTERNAL' } });
    expect((await call(command, 'memory_write', { path: 'user/a.md', content: 'x' })).status).toBe(
      200,
    );
    const tools = await fetch(`${command.url}/v1/tools`, {
      headers: { authorization: `Bearer ${command.apiKey}` },
    });
    const listed = (await tools.json()) as { tools: { name: string; available: boolean }[] };
    expect(listed.tools.find(({ name }) => name === 'shy')?.available).toBe(false);
    const { code, stderr } = await command.stop();
    expect(code).toBe(0);
    expect(stderr.match(/a rejection that nobody handled/g)).toHaveLength(20);
    expect(stderr.match(/a plugin hook failed/g)).toHaveLength(2);
  });
});

/** A request whose header has arrived, and whose body is still to come. */
async function openRequest({ url, apiKey }: RunningCommand, length: number) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('utf8').on('data', (data: string) => (text += data));
  socket.on('error', () => undefined);
  const answer = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  await new Promise<void>((resolve) => {
    const lines = [
      'POST /v1/tools/memory_write/execute HTTP/1.1',
      `Host: ${hostname}:${port}`,
      `Authorization: Bearer ${apiKey}`,
      'Content-Type: application/json',
      `Content-Length: ${length}`,
      'Expect: 100-continue',
      '',
      '',
    ];
    // Node answers 100 once it has taken the request in.
    socket.once('data', () => resolve());
    socket.write(lines.join('\r\n'));
  });
  text = '';
  return { answer, write: (body: string) => socket.write(body), end: () => socket.destroy() };
}

async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 10));
}
