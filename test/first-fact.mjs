// `npm run first-fact`: the time from nothing to a fact that is stored and read back over HTTP, step by step, in two
// ways: a clone of this repository with `npm start`, and its packed package in an empty folder. It clones what is
// committed. npm takes from its cache what is there; `npm run first-fact -- --cold` begins with an empty cache, and
// `npm run first-fact -- package` does one of the two.

import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const { compileEnvironment, ensureBuilt, orExplain, root } = createRequire(import.meta.url)(
  '../core/build/prepare.cjs',
);
const execute = promisify(execFile);

const CONTENT = '# Profile\n\n- Drinks tea.\n';
const READY = /^memory-service is ready: (\S+)\/admin$/;

/** The lines with which `npm start` begins its steps on standard error, and the one that ends a build. */
const STAGES = {
  install: /^The first start installs/,
  'build the service': /^Building the service/,
  'build the console': /^Building the console/,
};
const BUILT = /^Built in/;

const directory = await mkdtemp(join(tmpdir(), 'memory-first-fact-'));
const env = cleanEnvironment();

/** Nothing of a service or of the npm that runs this; the compiler finds Node's headers, as for `npm start`. */
function cleanEnvironment() {
  const entries = Object.entries(compileEnvironment()).filter(
    ([name]) => !/^(?:npm_(?!package_config_node_gyp_nodedir$)|SERVICE_)/.test(name),
  );
  const cold = process.argv.includes('--cold') ? { npm_config_cache: join(directory, 'npm') } : {};
  return { ...Object.fromEntries(entries), ...cold };
}

/** Prints steps with their seconds, and then the sum. */
function startStopwatch() {
  const begunAt = performance.now();
  let last = begunAt;
  const print = (/** @type {string} */ step, /** @type {number} */ milliseconds) =>
    console.log(`${(milliseconds / 1_000).toFixed(1).padStart(7)} s  ${step}`);
  return {
    step(/** @type {string} */ name) {
      const now = performance.now();
      print(name, now - last);
      last = now;
    },
    sum: () => print('in all\n', performance.now() - begunAt),
  };
}

/** @typedef {ReturnType<typeof startStopwatch>} Stopwatch */

async function fromClone() {
  console.log('From a clone');
  const cwd = join(directory, 'clone');
  const watch = startStopwatch();
  await execute('git', ['clone', '--quiet', root, cwd], { env });
  watch.step('git clone');
  await storeFact(['npm', 'start', '--', '--port=0'], { cwd, watch });
}

async function fromPackage() {
  console.log('From the packed package');
  await orExplain(ensureBuilt);
  const pack = ['pack', '--ignore-scripts', '--pack-destination', directory];
  const { stdout } = await execute('npm', pack, { cwd: root, env });
  const archive = join(directory, stdout.trim().split('\n').at(-1) ?? '');
  const cwd = join(directory, 'package');
  await mkdir(cwd);
  const watch = startStopwatch();
  await execute('npm', ['init', '--yes'], { cwd, env });
  await execute('npm', ['pkg', 'set', '--json', 'allowScripts.sqlite3=true'], { cwd, env });
  watch.step('npm init');
  await execute('npm', ['install', archive], { cwd, env });
  watch.step('npm install');
  await storeFact(['npx', 'memory-service', 'start', '--port=0'], { cwd, watch });
}

/**
 * Starts the service, writes a fact and reads it back.
 *
 * @param {string[]} command
 * @param {{ cwd: string, watch: Stopwatch }} options
 */
async function storeFact([file = '', ...args], { cwd, watch }) {
  // A process group of its own, because npm starts the service below itself.
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  try {
    const url = await untilReady(child, watch);
    watch.step('serve');
    const { apiKey } = JSON.parse(await readFile(join(cwd, 'data/secrets.json'), 'utf8'));
    const call = async (/** @type {string} */ tool, /** @type {object} */ args) => {
      const response = await fetch(`${url}/v1/tools/${tool}/execute`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ context: { userId: 'alice' }, arguments: args }),
      });
      if (!response.ok) throw new Error(await response.text());
      return /** @type {{ result: { content?: string } }} */ (await response.json()).result;
    };
    await call('memory_write', { path: 'user/profile.md', content: CONTENT });
    watch.step('memory_write');
    const { content } = await call('memory_read', { path: 'user/profile.md' });
    if (content !== CONTENT) throw new Error(`It reads ${JSON.stringify(content)}.`);
    watch.step('memory_read');
    watch.sum();
  } finally {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await ended;
  }
}

/**
 * The address of a service that starts. Counts each stage that it tells of as a step.
 *
 * @param {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, import('node:stream').Readable>} child
 * @param {Stopwatch} watch
 * @returns {Promise<string>}
 */
function untilReady(child, watch) {
  /** @type {string[]} */
  const lines = [];
  let stage = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    const begun = Object.entries(STAGES).find(([, pattern]) => pattern.test(line))?.[0];
    if (begun === undefined && !BUILT.test(line)) return;
    if (stage !== '') watch.step(`npm start: ${stage}`);
    stage = begun ?? '';
  });
  return new Promise((resolve, reject) => {
    child.once('close', (code) => reject(new Error(`It ended with ${code}:\n${lines.join('\n')}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, url] = READY.exec(line) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}

const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
try {
  if (wanted.length === 0 || wanted.includes('clone')) await fromClone();
  if (wanted.length === 0 || wanted.includes('package')) await fromPackage();
} finally {
  await rm(directory, { recursive: true, force: true });
}
