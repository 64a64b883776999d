import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readOwner } from '../../../plugins/storage-sqlite/index.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { temporaryDirectory } from '../../support/service.ts';

const BIN = fileURLToPath(new URL('../../../dist/core/cli/bin.cjs', import.meta.url));

const file = (name: string, content: string) => ({
  name: 'memory_write',
  arguments: { path: name, content },
});
const callOf = (id: number, params: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params,
});
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  },
};
const read = (name: string) => ({ name: 'memory_read', arguments: { path: name } });

interface Attached {
  client: Client;
  pid: number;
  stderr(): string;
  /** Ends the input, as a client does that quits, and waits for the process. */
  quit(): Promise<void>;
}

/** An SDK client that starts the command, as an editor does. */
async function attach(cwd: string, ...flags: string[]): Promise<Attached> {
  const client = new Client({ name: 'editor', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'mcp', ...flags],
    cwd,
    env: { PATH: process.env['PATH'] ?? '' },
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (data: Buffer) => (stderr += data.toString('utf8')));
  await client.connect(transport);
  const quit = () => client.close();
  onTestFinished(quit);
  return { client, quit, pid: transport.pid ?? 0, stderr: () => stderr };
}

/** Pipes lines into the command, and waits until it has ended by itself. */
async function pipe(cwd: string, flags: readonly string[], lines: readonly unknown[]) {
  const child = spawn(process.execPath, [BIN, 'mcp', ...flags], {
    cwd,
    env: { PATH: process.env['PATH'] },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (data: string) => (stdout += data));
  child.stderr.setEncoding('utf8').on('data', (data: string) => (stderr += data));
  child.stdin.end(
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
  );
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

describe('memory-service mcp', () => {
  it('serves one user’s memory to the client that starts it, and keeps it for the next', async () => {
    const cwd = await temporaryDirectory();
    const first = await attach(cwd, '--user=alice', '--actor=editor');
    const { tools } = await first.client.listTools();
    expect(tools.map(({ name }) => name)).toContain('memory_write');
    expect(JSON.stringify(tools)).not.toMatch(/user_?id/i);
    const written = await first.client.callTool(file('user/a.md', 'of alice'));
    expect(written.structuredContent).toMatchObject({ version: 1, created: true });
    const { resources } = await first.client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['memory://user/a.md']);
    const data = path.join(cwd, 'data');
    const kept = JSON.parse(await readFile(path.join(data, 'secrets.json'), 'utf8')) as object;
    expect(Object.keys(kept).toSorted()).toEqual(['adminSecret', 'apiKey']);
    // What is remembered about people is for this user's eyes.
    expect((await stat(path.join(data, 'memory.db'))).mode & 0o077).toBe(0);
    await first.quit();

    const again = await attach(cwd, '--user', 'alice', '--read-only');
    expect((await again.client.callTool(read('user/a.md'))).structuredContent).toMatchObject({
      content: 'of alice',
    });
    const offered = (await again.client.listTools()).tools;
    expect(offered.map(({ annotations }) => annotations?.readOnlyHint)).not.toContain(false);
    const refused = await again.client.callTool(file('user/a.md', 'x'));
    expect(refused).toMatchObject({ isError: true, _meta: { code: 'TOOL_NOT_FOUND' } });
  });

  it('offers the tools that --tools names, and refuses a name that is none', async () => {
    const cwd = await temporaryDirectory();
    const names = 'memory_read, memory_write,memory_list';
    const { client, quit } = await attach(cwd, '--user=alice', `--tools=${names}`);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['memory_list', 'memory_read', 'memory_write']);
    const refused = await client.callTool({ name: 'memory_find', arguments: { query: 'tea' } });
    expect(refused).toMatchObject({ isError: true, _meta: { code: 'TOOL_NOT_FOUND' } });
    await quit();

    const args = ['mcp', '--user=alice', '--tools=memory_read,memory_wirte'];
    const { code, stdout, stderr } = await runCommand({ cwd, args });
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toContain('there is no tool memory_wirte. Did you mean memory_write?');
  });

  it('names its tools with --tool-prefix, and refuses a prefix that providers take in no name', async () => {
    const cwd = await temporaryDirectory();
    const { client, quit } = await attach(cwd, '--user=team', '--tool-prefix=team_');
    const { tools } = await client.listTools();
    expect(tools.every(({ name }) => name.startsWith('team_memory_'))).toBe(true);
    const written = await client.callTool({
      name: 'team_memory_write',
      arguments: { path: 'user/a.md', content: 'x' },
    });
    expect(written.structuredContent).toMatchObject({ created: true });
    const plain = await client.callTool(read('user/a.md'));
    expect(plain).toMatchObject({ isError: true, _meta: { code: 'TOOL_NOT_FOUND' } });
    await quit();

    const args = ['mcp', '--user=team', '--tool-prefix=te am'];
    const { code, stdout, stderr } = await runCommand({ cwd, args });
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toContain('--tool-prefix is not valid: it must be 1 to 32 letters');
  });

  it('answers what was piped in, says nothing else on standard output, and ends with 0', async () => {
    const cwd = await temporaryDirectory();
    const { code, stdout, stderr } = await pipe(
      cwd,
      ['--user=alice'],
      [
        INITIALIZE,
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        'this is no message',
        callOf(2, file('user/a.md', 'x')),
        callOf(3, file('user/b.md', 'y')),
      ],
    );
    expect(code).toBe(0);
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { jsonrpc: string; id: number; result: object });
    expect(answers.map(({ jsonrpc, id }) => [jsonrpc, id]).toSorted()).toEqual([
      ['2.0', 1],
      ['2.0', 2],
      ['2.0', 3],
    ]);
    expect(answers.find(({ id }) => id === 1)?.result).toMatchObject({
      protocolVersion: '2025-06-18',
    });
    // JSON lines alone, and the one about the line that was no message.
    const logs = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string });
    expect(logs.map(({ msg }) => msg)).toContain('a message went wrong');
  });

  it('talks to the server that has the database open', async () => {
    const cwd = await temporaryDirectory();
    const server = await startCommand({ cwd });
    onTestFinished(async () => void (await server.stop()));
    const { client } = await attach(cwd, '--user=alice', '--actor=editor');
    await client.callTool(file('user/a.md', 'x'));
    const missing = await client.callTool(read('user/b.md'));
    expect(missing).toMatchObject({ isError: true, _meta: { code: 'FILE_NOT_FOUND' } });
    const answer = await fetch(`${server.url}/v1/admin/files`, {
      headers: { 'x-admin-secret': server.adminSecret },
    });
    const { items } = (await answer.json()) as { items: object[] };
    expect(items).toMatchObject([{ path: 'users/alice/a.md', latestActor: 'editor' }]);
    // The same over HTTP: the plugin comes with the command.
    const mcp = await fetch(`${server.url}/v1/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.apiKey}`,
        'x-user-id': 'alice',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/list' }),
    });
    expect(await mcp.json()).toMatchObject({ result: { resources: [{ name: 'user/a.md' }] } });
  });

  it('lets several clients write at once, and loses nothing when the one that serves is killed', async () => {
    const cwd = await temporaryDirectory();
    const clients = await Promise.all([1, 2, 3].map(() => attach(cwd, '--user=alice')));
    const [first] = clients;
    await first?.client.callTool(file('user/log.md', '# Log\n'));
    const append = async (index: number, line: number) =>
      clients[index]?.client.callTool({
        name: 'memory_patch',
        arguments: { path: 'user/log.md', append: { text: `- ${index}/${line}\n` } },
      });
    const lines = Array.from({ length: 10 }, (_, line) => line);
    await Promise.all(lines.flatMap((line) => [0, 1, 2].map((index) => append(index, line))));

    // Whoever serves it is killed while the others write: one of them serves it from then on.
    const findServing = () =>
      clients.findIndex(({ stderr }) => stderr().includes('serving the database'));
    await expect.poll(findServing).toBeGreaterThanOrEqual(0);
    const serving = findServing();
    const left = [0, 1, 2].filter((index) => index !== serving);
    const writing = lines.flatMap((line) => left.map((index) => append(index, 10 + line)));
    await writing[0];
    const owner = await readOwner(path.join(cwd, 'data/memory.db'));
    process.kill(owner?.pid ?? 0, 'SIGKILL');
    const later = await Promise.all(writing);
    expect(later.filter((result) => result?.isError === true)).toEqual([]);
    const reader = clients[left[0] as number] as Attached;
    const { structuredContent } = await reader.client.callTool(read('user/log.md'));
    const { content } = structuredContent as { content: string };
    const expected = [
      ...lines.flatMap((line) => [0, 1, 2].map((index) => `- ${index}/${line}`)),
      ...lines.flatMap((line) => left.map((index) => `- ${index}/${10 + line}`)),
    ];
    expect(content.trim().split('\n').slice(1).toSorted()).toEqual(expected.toSorted());
  });

  it('goes on in process when the server it talked to has stopped', async () => {
    const cwd = await temporaryDirectory();
    const server = await startCommand({ cwd });
    const { client, stderr } = await attach(cwd, '--user=alice');
    await client.callTool(file('user/a.md', 'before'));
    await server.stop();
    const result = await client.callTool(read('user/a.md'));
    expect(result.structuredContent).toMatchObject({ content: 'before' });
    await expect.poll(stderr).toContain('the server that has the database is gone');
    // A server that starts now is told who has the file.
    const refused = await runCommand({ cwd, args: ['start', '--port=0'] });
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/has .*memory\.db open, at http:\/\/127\.0\.0\.1:\d+/);
  });

  it('ends on SIGTERM and leaves the file free', async () => {
    const cwd = await temporaryDirectory();
    const child = spawn(process.execPath, [BIN, 'mcp', '--user=alice'], {
      cwd,
      env: { PATH: process.env['PATH'] },
    });
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
    await once(child.stdout, 'data');
    expect(await readOwner(path.join(cwd, 'data/memory.db'))).not.toBeNull();
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(await readOwner(path.join(cwd, 'data/memory.db'))).toBeNull();
  });

  it('says what is wrong with its flags, with exit code 78 and nothing on the disk', async () => {
    const cwd = await temporaryDirectory();
    for (const [args, message] of [
      [['mcp'], /mcp needs --user=<id>/],
      [['mcp', '--user=../bob'], /--user is not valid: A user id has 1 to 128/],
      [['mcp', '--user=a', '--tools'], /--tools needs a value/],
      [['mcp', '--user=a', '--actor=admin'], /--actor is not valid: it must not be one of admin/],
      [['start', '--user=alice'], /--user is not known/],
    ] as const) {
      const result = await runCommand({ cwd, args });
      expect([result.code, result.stdout], String(message)).toEqual([78, '']);
      expect(result.stderr).toMatch(message);
    }
    expect(existsSync(path.join(cwd, 'data'))).toBe(false);
  });

  it('says what to install where the SDK is missing, and over HTTP nothing else fails', async () => {
    const cwd = await temporaryDirectory();
    const env = { NODE_OPTIONS: `--import=${withoutSdk()}` };
    const { code, stdout, stderr } = await runCommand({ cwd, args: ['mcp', '--user=alice'], env });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/not installed: npm install @modelcontextprotocol\/sdk/);

    const server = await startCommand({ cwd, env });
    onTestFinished(async () => void (await server.stop()));
    const headers = {
      authorization: `Bearer ${server.apiKey}`,
      'x-user-id': 'alice',
      'content-type': 'application/json',
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const answer = await fetch(`${server.url}/v1/mcp`, { method: 'POST', headers, body });
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('npm install @modelcontextprotocol/sdk');
    expect((await fetch(`${server.url}/v1/tools`, { headers })).status).toBe(200);
  });
});

/** A module that makes Node look for the SDK where there is none. */
function withoutSdk(): string {
  const toModule = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
  const hooks = toModule(
    "export const resolve = (name, context, next) => next(name.startsWith('@modelcontextprotocol/') ? 'not-installed' : name, context);",
  );
  // Its version is read, too, for the message.
  const isRead = "String(file).includes('/@modelcontextprotocol/')";
  return toModule(
    `import fs from 'node:fs'; import { register } from 'node:module'; register(${JSON.stringify(hooks)});
    const { readFileSync } = fs; fs.readFileSync = (file, ...rest) => readFileSync(${isRead} ? '/not-installed' : file, ...rest);`,
  );
}

/** A configuration that prints in every way, when it is loaded and later. */
const PRINTING = [
  "import { spawn, spawnSync } from 'node:child_process';",
  "import { writeSync } from 'node:fs';",
  "import { Worker } from 'node:worker_threads';",
  "console.log('PRINTED 1');",
  "process.stdout.write('PRINTED 2\\n');",
  'new Worker(\'console.log("PRINTED 3")\', { eval: true });',
  "setTimeout(() => process.stdout.write('PRINTED 4\\n'), 50).unref();",
].join('\n');
/** What no stream of Node's is asked for: native code, and children with inherited streams. */
const PRINTING_BELOW = [
  "writeSync(1, 'PRINTED 5\\n');",
  "const print = (n) => [process.execPath, ['-e', `console.log('PRINTED ${n}')`]];",
  "spawnSync(...print(6), { stdio: 'inherit' });",
  "spawn(...print(7), { stdio: ['inherit', 1, 'ignore'] });",
  'const eat = \'process.stdin.on("data", (data) => console.log("ATE " + data)).on("end", () => console.log("PRINTED 8"))\';',
  "spawn(process.execPath, ['-e', eat], { stdio: 'inherit' });",
].join('\n');

async function printingConfig(...parts: string[]): Promise<string> {
  const cwd = await temporaryDirectory();
  const lines = [...parts, 'export default {};'];
  await writeFile(path.join(cwd, 'memory.config.mjs'), lines.join('\n'));
  return cwd;
}

describe('what plugins print', () => {
  it('comes not among the messages, nor does a child read them', async () => {
    const cwd = await printingConfig(PRINTING, PRINTING_BELOW);
    const { client, stderr } = await attach(cwd, '--user=alice');
    await client.listTools();
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) await expect.poll(stderr).toContain(`PRINTED ${n}`);
    await client.callTool(file('user/a.md', 'x'));
    expect(stderr()).not.toContain('ATE');

    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    // Also where a flag is before the command, and into a file.
    const output = path.join(cwd, 'answers.jsonl');
    const input = path.join(cwd, 'messages.jsonl');
    await writeFile(input, `${JSON.stringify(ping)}\n`);
    const stdio = [openSync(input, 'r'), openSync(output, 'w'), 'ignore'] as const;
    const args = [BIN, '--log-level=silent', 'mcp', '--user=alice'];
    const env = { PATH: process.env['PATH'] };
    const child = spawn(process.execPath, args, { cwd, env, stdio: [...stdio] });
    stdio.forEach((each) => each === 'ignore' || closeSync(each));
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(JSON.parse(await readFile(output, 'utf8'))).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {},
    });
  });

  it('comes not among the data that other commands print', async () => {
    const cwd = await printingConfig(PRINTING);
    await pipe(cwd, ['--user=alice'], [INITIALIZE, callOf(2, file('user/a.md', 'x\n'))]);
    const show = await runCommand({ cwd, args: ['show', 'users/alice/a.md'] });
    expect([show.code, show.stdout]).toEqual([0, 'x\n']);
    expect(show.stderr).toContain('PRINTED 2');
    for (const args of [
      ['log', 'users/alice/a.md', '--json'],
      ['verify', '--json'],
      ['erase', 'alice', '--json'],
    ]) {
      const { code, stdout, stderr } = await runCommand({ cwd, args });
      expect([code, typeof JSON.parse(stdout)], stderr).toEqual([0, 'object']);
    }
    const settings = await runCommand({ cwd, args: ['start', '--print-config'] });
    expect(settings.stdout).toMatch(/^port +/m);
    expect(settings.stdout).not.toContain('PRINTED');
    expect(settings.stderr).toContain('PRINTED 1');
  });
});

describe('the process that the client starts', () => {
  /** Starts the command, and waits until it serves. */
  async function serve(cwd: string) {
    const child = spawn(process.execPath, [BIN, 'mcp', '--user=alice'], {
      cwd,
      env: { PATH: process.env['PATH'] },
    });
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
    await once(child.stdout, 'data');
    const owner = await readOwner(path.join(cwd, 'data/memory.db'));
    return { child, serving: owner?.pid ?? 0 };
  }
  const isGone = (pid: number) => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  };

  it('leaves nobody behind when it is killed, though the input stays open', async () => {
    const cwd = await temporaryDirectory();
    const { child, serving } = await serve(cwd);
    expect(serving).not.toBe(child.pid);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await expect.poll(() => isGone(serving)).toBe(true);
    expect(await readOwner(path.join(cwd, 'data/memory.db'))).toBeNull();
  });

  it('ends as the one that serves does, also when that is killed', async () => {
    const cwd = await temporaryDirectory();
    const { child, serving } = await serve(cwd);
    process.kill(serving, 'SIGKILL');
    expect(await once(child, 'exit')).toEqual([137, null]);
  });

  it.each(['SIGINT', 'SIGHUP'] as const)(
    'ends in order on %s, also when the whole group gets it',
    async (signal) => {
      const cwd = await temporaryDirectory();
      const { child, serving } = await serve(cwd);
      if (signal !== 'SIGHUP') process.kill(serving, signal);
      child.kill(signal);
      expect(await once(child, 'exit')).toEqual([0, null]);
      expect(await readOwner(path.join(cwd, 'data/memory.db'))).toBeNull();
    },
  );

  it('ends quietly when nobody reads its answers, and keeps what was written', async () => {
    const cwd = await temporaryDirectory();
    const { child } = await serve(cwd);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (data: string) => (stderr += data));
    child.stdout.destroy();
    const lines = [INITIALIZE, callOf(2, file('user/a.md', 'x\n'))];
    child.stdin.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/EPIPE|exception|rejection/);
    const shown = await runCommand({ cwd, args: ['show', 'users/alice/a.md'] });
    expect(shown.stdout).toBe('x\n');
  });

  it('goes on without standard error', async () => {
    const cwd = await temporaryDirectory();
    const { child } = await serve(cwd);
    child.stderr.destroy();
    child.stdin.write('this is no message\n'.repeat(20));
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'ping' })}\n`);
    const [answer] = (await once(child.stdout, 'data')) as [Buffer];
    expect(JSON.parse(answer.toString('utf8'))).toMatchObject({ id: 9 });
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
