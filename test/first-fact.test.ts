import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startCommand } from './support/command.ts';
import { packPackage } from './support/packed-package.ts';

// What a newcomer waits for who has nothing but a page in hand: real installs, each in an empty
// folder, so in the release samples alone. Prints what each took, the compiler's time included.

const root = fileURLToPath(new URL('../', import.meta.url));
const execute = promisify(execFile);
/** With the driver's compilation, on a machine that does other things, too. */
const INSTALL_MS = 1_800_000;
const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;

let directory: string;
let archive: string;

/** Runs lines of a shell, which end with what they and all that they started took. */
async function run(title: string, cwd: string, lines: readonly string[]): Promise<string> {
  const startedAt = performance.now();
  const { stdout } = await execute('sh', ['-ec', [...lines, 'echo; times'].join('\n')], { cwd });
  const seconds = (performance.now() - startedAt) / 1_000;
  const [user = 0, system = 0] = (stdout.trim().split('\n').at(-1) ?? '')
    .split(' ')
    .map((time) => /^(\d+)m([\d.]+)s$/.exec(time))
    .map((parts) => Number(parts?.[1]) * 60 + Number(parts?.[2]));
  const cpu = (user + system).toFixed(0);
  console.log(`${title}: ${seconds.toFixed(0)} s, ${cpu} s of processor time`);
  return stdout;
}

async function emptyFolder(name: string): Promise<string> {
  const folder = join(directory, name);
  await mkdir(folder);
  return folder;
}

const readPage = (name: string) => readFile(join(root, 'docs/guides', `${name}.md`), 'utf8');

/** The commands of a block, with the packed package in the place of the published one. */
function commandsOf(page: string, first: string, packed = archive): string[] {
  const start = page.indexOf(`\`\`\`sh\n${first}`) + '```sh\n'.length;
  const lines = page.slice(start, page.indexOf('\n```', start)).split('\n');
  return lines.map((line) =>
    packed === '' ? line : line.replace(' memory-service', ` ${packed}`),
  );
}

describe('from npm install to a first remembered fact', () => {
  it.each(['in-process', 'langchain', 'vercel-ai', 'openai', 'anthropic'])(
    'the page %s says all that is to be typed in an empty folder',
    async (name) => {
      const [init, allow, install = ''] = commandsOf(await readPage(name), 'npm init', '');
      expect([init, allow]).toEqual([
        'npm init --yes',
        'npm pkg set --json allowScripts.sqlite3=true',
      ]);
      expect(install).toMatch(/^npm install memory-service\b/);
    },
  );

  if (!isRelease) return;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'memory-first-fact-'));
    archive = await packPackage();
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it(
    'the page on a framework is all that it takes',
    async () => {
      const page = await readPage('openai');
      const [, code = ''] = /first-fact\.mjs#whole -->\n\n```js\n([^]*?)```/.exec(page) ?? [];
      const cwd = await emptyFolder('by-the-page');
      await writeFile(join(cwd, 'first-fact.mjs'), code);
      const noKey = join(root, 'examples/scripted-model/no-key.mjs');
      const commands = commandsOf(page, 'npm init');
      const told = await run('In process, by the page', cwd, [
        ...commands,
        `node --import ${noKey} first-fact.mjs`,
        `node --import ${noKey} first-fact.mjs 'Drinks?'`,
      ]);
      expect(told).toContain('I will remember that you drink tea.\n');
      expect(told).toContain('"- Drinks tea." (user/profile.md)\n');
    },
    INSTALL_MS,
  );

  it(
    'with the client of a service that runs, nothing is compiled',
    async () => {
      const cwd = await emptyFolder('by-the-client');
      const service = await startCommand({ cwd: await emptyFolder('service') });
      onTestFinished(async () => void (await service.stop()));
      const commands = commandsOf(await readPage('http-client'), 'npm init');
      const script = await readFile(join(root, 'examples/http-client/main.mjs'), 'utf8');
      await writeFile(join(cwd, 'main.mjs'), script);
      const told = await run('With the client', cwd, [
        ...commands,
        `SERVICE_URL=${service.url} SERVICE_API_KEY=${service.apiKey} node main.mjs`,
      ]);
      expect(told).toContain('user/profile.md is at version 1\n');
      for (const driver of ['sqlite3', 'better-sqlite3']) {
        expect(existsSync(join(cwd, 'node_modules', driver))).toBe(false);
      }
    },
    INSTALL_MS,
  );
});
