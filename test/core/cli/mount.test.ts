import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { root } from '../../examples/run-example.ts';
import { type RunningCommand, runCommand, startCommand } from '../../support/command.ts';
import { filledDatabase } from './maintenance.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const FILES = isRelease ? 200 : 40;
const RESTARTS = isRelease ? 20 : 3;
/** Each restart takes some seconds, and more on a busy machine. */
const LONG = 1_200_000;

/** Mounts a folder of a working directory by the built command, until the test ends. */
function startMount(cwd: string, args: string[], env: Record<string, string> = {}) {
  const bin = path.join(root, 'dist/core/cli/bin.cjs');
  const mounting = spawn(process.execPath, [bin, 'mount', ...args], {
    cwd,
    env: { PATH: process.env['PATH'], XDG_STATE_HOME: path.join(cwd, 'state'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = Promise.all([text(mounting.stdout), text(mounting.stderr)]);
  const ended = once(mounting, 'close');
  onTestFinished(() => void mounting.kill('SIGKILL'));
  return {
    async stop(signal: NodeJS.Signals) {
      mounting.kill(signal);
      const [code, by] = (await ended) as [number | null, NodeJS.Signals | null];
      const [stdout, stderr] = await said;
      return { code, by, stdout, stderr };
    },
  };
}

/** The admin API of a service that runs. */
function adminOf({ url, adminSecret }: Pick<RunningCommand, 'url' | 'adminSecret'>) {
  return async (method: string, route: string, body?: object) => {
    const headers = { 'x-admin-secret': adminSecret, 'content-type': 'application/json' };
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${url}/v1/admin/${route}`, { method, headers, ...given });
    if (!answer.ok) throw new Error(`${method} ${route}: ${answer.status} ${await answer.text()}`);
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever the service said
    return (await answer.json()) as any;
  };
}

/** The texts of a mounted folder, by name: its files, and its conflict copies. */
async function readTexts(folder: string) {
  const files: Record<string, string> = {};
  const copies: string[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    if (name.startsWith('.')) continue;
    const content = await readFile(path.join(folder, name), 'utf8').catch(() => null);
    if (content === null) continue;
    if (name.includes(' (conflict ')) copies.push(content);
    else files[name] = content;
  }
  return { files, copies };
}

it(
  'loses no edit of either side while the service is restarted and killed',
  async () => {
    const { cwd } = await filledDatabase({ files: 1 });
    let server = await startCommand({ cwd });
    let admin = adminOf(server);
    const folder = path.join(cwd, 'notes');
    const names = Array.from({ length: FILES }, (_, no) => `${no}.md`);
    const edits: string[] = [];
    const editThere = async (name: string, content: string) => {
      await admin('PUT', `files/users/zoe/${name}`, { content });
      edits.push(content);
    };
    const editHere = async (name: string, content: string) => {
      await writeFile(path.join(folder, name), content);
      edits.push(content);
    };
    const readThere = async () => {
      const { items } = await admin('GET', 'files?userId=zoe&limit=500');
      const files = (items as { path: string }[]).map(async ({ path: at }) => {
        const { file } = await admin('GET', `files/${at}`);
        return [at.slice('users/zoe/'.length), file.content as string] as const;
      });
      return Object.fromEntries(await Promise.all(files)) as Record<string, string>;
    };
    for (const name of names) await editThere(name, `start ${name}\n`);
    const mount = startMount(cwd, ['notes', '--user=zoe']);
    const areInStep = async () => {
      const [here, there] = [await readTexts(folder), await readThere()];
      expect(here.files).toEqual(there);
    };
    const inStep = { timeout: 120_000, interval: 500 };
    await expect.poll(async () => Object.keys((await readTexts(folder)).files).length).toBe(FILES);

    for (let round = 0; round < RESTARTS; round += 1) {
      const some = (part: number) => names.filter((_, no) => (no + round) % 4 === part);
      for (const name of some(0)) await editHere(name, `folder ${round} ${name}\n`);
      for (const name of some(1)) await editThere(name, `service ${round} ${name}\n`);
      // Both sides, at about the same time.
      for (const name of some(2)) {
        await editHere(name, `folder of both ${round} ${name}\n`);
        await editThere(name, `service of both ${round} ${name}\n`);
      }
      await server.stop(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
      for (const name of some(3)) await editHere(name, `alone ${round} ${name}\n`);
      server = await startCommand({ cwd });
      admin = adminOf(server);
      await expect.poll(async () => await areInStep().then(() => true), inStep).toBe(true);
    }

    const { code, by, stderr } = await mount.stop('SIGTERM');
    expect([code, by, stderr]).toEqual([0, null, expect.stringMatching(/answers again/)]);
    const { files, copies } = await readTexts(folder);
    expect(Object.keys(files).sort()).toEqual([...names].sort());
    const kept = new Set(copies);
    for (const name of names) {
      const { file } = await admin('GET', `files/users/zoe/${name}`);
      for (let version = 1; version <= file.version; version += 1) {
        const earlier = await admin('GET', `files/users/zoe/${name}?version=${version}`);
        kept.add(earlier.file.content);
      }
    }
    expect(edits.filter((edit) => !kept.has(edit))).toEqual([]);
    await server.stop();
  },
  LONG,
);

describe('memory-service mount', () => {
  it('brings both sides together once, without a server, over one, and by its address', async () => {
    const { cwd } = await filledDatabase();
    const run = (...args: string[]) =>
      runCommand({
        cwd,
        args: ['mount', 'out', '--user=user0', '--once', ...args],
        env: { XDG_STATE_HOME: path.join(cwd, 'state') },
      });
    const first = await run();
    expect(first.stdout).toMatch(/^Mounted user0 at .*out: 3 files in step; 3 written, 0 sent/m);
    expect(first.stderr).toMatch('No service runs here.');
    expect(first.code).toBe(0);
    await mkdir(path.join(cwd, 'out/sub'));
    await writeFile(path.join(cwd, 'out/sub/new.md'), 'new\n');
    const server = await startCommand({ cwd });
    await expect
      .poll(async () => (await run()).stdout)
      .toMatch(/4 files in step; 0 written, 1 sent, 0 removed, 0 in conflict\.\n$/);
    const { file } = await adminOf(server)('GET', 'files/users/user0/sub/new.md');
    expect(file).toMatchObject({ content: 'new\n', latestActor: 'folder' });
    const env = { SERVICE_ADMIN_SECRET: server.adminSecret, XDG_STATE_HOME: path.join(cwd, 's2') };
    const args = ['mount', 'two', '--user=user0', '--once', `--url=${server.url}`];
    const byUrl = await runCommand({ cwd, args, env });
    expect(byUrl.stdout).toMatch('4 files in step; 4 written, 0 sent');
    expect((await readdir(path.join(cwd, 'two'))).sort()).toEqual([
      '.memory-service.json',
      'notes',
      'sub',
    ]);
    const exported = await runCommand({ cwd, args: ['export', 'two', '--user=user0'] });
    expect(exported.stderr).toMatch('has files that no export wrote');
    await server.stop();
  });

  it('mounts a space, and says which of two users a folder belongs to', async () => {
    const { cwd } = await filledDatabase();
    const env = { XDG_STATE_HOME: path.join(cwd, 'state') };
    const run = (...args: string[]) => runCommand({ cwd, args, env });
    await run('spaces', 'create', 'docs');
    await mkdir(path.join(cwd, 'out'));
    await writeFile(path.join(cwd, 'out/a.md'), 'one\n');
    const mounted = await run('mount', 'out', '--space=docs', '--once');
    expect(mounted.stdout).toMatch(
      /^Mounted spaces\/docs\/ at .* 1 files in step; 0 written, 1 sent/,
    );
    const other = await run('mount', 'out', '--user=user0', '--once');
    expect([other.code, other.stderr]).toEqual([
      1,
      expect.stringMatching(/The folder is in step with spaces\/docs\/ of the database/),
    ]);
  });

  it.each([
    [['out'], /Say whose memory it is/],
    [['out', '--user=a', '--space=b'], /Say whose memory it is/],
    [['out', '--user=a/b'], /user id/i],
    [['out', '--space=none'], /no space none/],
    [['memory.txt', '--user=user0'], /memory\.txt is not a folder/],
    [['exported', '--user=user0'], /was written by memory-service export/],
    [['exported/notes', '--user=user0'], /lies in .*exported/],
    [['out', '--user=user0', '--state=out/state'], /kept outside of the folder/],
    [['out', '--user=user0', '--url=http://127.0.0.1:1'], /--url needs SERVICE_ADMIN_SECRET/],
    [['out', '--user=user0', '--url=memory'], /--url/],
  ])('refuses %j', async (args, message) => {
    const { cwd } = await filledDatabase();
    await writeFile(path.join(cwd, 'memory.txt'), 'text');
    await runCommand({ cwd, args: ['export', 'exported', '--user=user0'] });
    const env = { XDG_STATE_HOME: path.join(cwd, 'state') };
    const { code, stderr } = await runCommand({ cwd, args: ['mount', '--once', ...args], env });
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  });

  it('says that a service at an address does not answer', async () => {
    const { cwd } = await filledDatabase();
    const args = ['mount', 'out', '--user=user0', '--once', '--url=http://127.0.0.1:1'];
    const env = { SERVICE_ADMIN_SECRET: 'x'.repeat(40), XDG_STATE_HOME: path.join(cwd, 'state') };
    const { code, stderr } = await runCommand({ cwd, args, env });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/did not answer/)]);
  });
});
