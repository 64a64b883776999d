import { spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { styleText } from 'node:util';

/** The versions of Node that users are on, beside the one that runs this. */
export const OTHER_NODES = [22, 24, 26].filter(
  (major) => process.versions.node.split('.')[0] !== `${major}`,
);

/** better-sqlite3 12 is compiled for one version of Node; 13 runs on all since 22. */
const BETTER_SQLITE3 = 'better-sqlite3@13';

/** What a copy of the repository does not need. */
const LEFT_OUT = new Set(['.git', '.cache', 'coverage', 'data']);

/**
 * Runs the suite on each of these versions of Node, which npm's package `node` brings, in a copy of
 * the repository, and returns a line for each: `Node 24: N passed, N failed`.
 *
 * @param {string} root
 * @param {{ majors: readonly number[], filters: readonly string[] }} what `filters` as for `npm test`
 * @returns {Promise<{ line: string, isPassed: boolean }[]>}
 */
export async function runOnEachNode(root, { majors, filters }) {
  const results = [];
  for (const major of majors) {
    process.stdout.write(`\n${styleText('bold', `Node ${major}`)}\n`);
    const directory = await mkdtemp(join(tmpdir(), `memory-node-${major}-`));
    try {
      // A test runs a command as another user.
      await chmod(directory, 0o755);
      const copy = await copyFor(major, { root, directory });
      const { MEMORY_TEST_RELEASE: _, ...others } = process.env;
      const env = { ...others, PATH: `${join(directory, 'bin')}:${process.env['PATH']}` };
      const node = join(directory, 'bin', 'node');
      const { code, output } = await run(node, ['test/run.mjs', ...filters], { cwd: copy, env });
      const [counts] = output.match(/^\d+ passed, \d+ failed$/m) ?? ['did not end'];
      results.push({ line: `Node ${major}: ${counts}`, isPassed: code === 0 });
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
  return results;
}

/**
 * Copies the repository with its packages, beside `bin/node` of that version.
 *
 * @param {number} major
 * @param {{ root: string, directory: string }} places
 */
async function copyFor(major, { root, directory }) {
  const packages = join(directory, 'packages');
  await mkdir(packages);
  // Its script fetches the executable of this machine.
  await writeFile(join(packages, 'package.json'), '{ "allowScripts": { "node": true } }');
  const install = ['install', '--no-audit', '--no-fund', `node@${major}`, BETTER_SQLITE3];
  const installed = await run('npm', install, { cwd: packages, env: process.env });
  if (installed.code !== 0) throw new Error(`npm could not install node@${major}`);
  await rename(join(packages, 'node_modules/node/bin'), join(directory, 'bin'));

  const copy = join(directory, 'memory-service');
  await cp(root, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => source === root || !LEFT_OUT.has(nameBelow(root, source)),
  });
  const driver = join('node_modules', 'better-sqlite3');
  await rm(join(copy, driver), { recursive: true });
  await rename(join(packages, driver), join(copy, driver));
  return copy;
}

/**
 * The name of an entry of the root; empty for what is deeper.
 *
 * @param {string} root
 * @param {string} source
 */
function nameBelow(root, source) {
  return join(root, basename(source)) === source ? basename(source) : '';
}

/**
 * Shows what the command prints, and returns it too.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function run(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      process.stdout.write(chunk);
    });
    child.on('error', reject).on('close', (code) => resolve({ code, output }));
  });
}
