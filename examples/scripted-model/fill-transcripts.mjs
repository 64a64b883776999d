// Writes the output of the examples into their READMEs. The tests compare the two.
//
//   node examples/scripted-model/fill-transcripts.mjs

import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The folders whose READMEs show what their commands print. */
export const TOLD = [
  ...['langchain', 'vercel-ai', 'openai', 'anthropic', 'mcp', 'swap-plugins', 'koa-embedded'],
  ...['in-process', 'search', 'custom-plugin', 'custom-database', 'over-http', 'http-client'],
  'python',
];

/** Those that talk to a service: one that has just been started, with the generated secrets. */
export const NEED_SERVICE = ['over-http', 'http-client', 'python'];

const OUTPUT = /^<!-- output of: (.+) -->\n(?:\n```text\n[\s\S]*?\n```\n)?/gm;

/**
 * The commands whose output a README shows.
 *
 * @param {string} readme
 */
export function commandsIn(readme) {
  return [...readme.matchAll(OUTPUT)].map(([, command = '']) => command);
}

/**
 * A README with new output below each marker. If an output is `null`, the old one stays.
 *
 * @param {string} readme
 * @param {(command: string) => string | null} outputOf
 */
export function fillTranscripts(readme, outputOf) {
  return readme.replaceAll(OUTPUT, (whole, command) => {
    const output = outputOf(command);
    if (output === null) return whole;
    return `<!-- output of: ${command} -->\n\n\`\`\`text\n${steady(output.trimEnd())}\n\`\`\`\n`;
  });
}

/**
 * The output of a README's command, run without this machine's configuration and keys. Rejects if the
 * command fails or prints errors.
 *
 * @param {string} command as it stands in the README, to be run from the root of the repository
 * @param {{ cwd: string, env?: Record<string, string> }} options
 */
export async function outputOf(command, { cwd, env = {} }) {
  const [program = '', ...args] = command
    .split(' ')
    .map((word) => word.replace(/^(?:\.\/)?examples\//, join(root, 'examples/')));
  const file = program === 'node' ? process.execPath : program;
  const own = { PATH: process.env.PATH ?? '', TMPDIR: cwd, ...env };
  const { stdout, stderr } = await promisify(execFile)(file, args, { cwd, env: own });
  if (stderr !== '') throw new Error(`${command} complains: ${stderr}`);
  return stdout;
}

/**
 * Makes the output repeatable: replaces ids, marks, times and durations, and trims the ends of lines, as
 * the formatter does.
 *
 * @param {string} text
 */
function steady(text) {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, ID)
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, `${DAY}T09:30:00.000Z`)
    .replaceAll(/\b\d{4}-\d\d-\d\d\b/g, DAY)
    .replaceAll(/(memory-|## )[0-9a-f]{16}\b/g, `$1${MARK}`)
    .replaceAll(/\b[\d.]+ ms\b/g, '0.5 ms');
}

const ID = '019bc0a6-5e40-7000-8000-52c4a7d1f3b6';
const DAY = '2026-01-15';
const MARK = '5f2c9a01d3b4e678';

/**
 * Starts the built command on a free port, with its data in that folder.
 *
 * @param {string} cwd
 * @param {Record<string, string>} [settings] as environment variables
 * @returns {Promise<{ url: string, stop: () => void }>}
 */
export async function startService(cwd, settings = {}) {
  const args = [join(root, 'dist/core/cli/bin.cjs'), '--port=0'];
  const env = { PATH: process.env.PATH ?? '', ...settings };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', () => reject(new Error('The service did not start.')));
    child.stdout.setEncoding('utf8').once('data', (text) => {
      const [url = ''] = /http:\/\/[\w.:]+/.exec(text) ?? [];
      resolve({ url, stop: () => child.kill() });
    });
  });
}

/** @param {string} folder */
async function fill(folder) {
  const file = join(root, 'examples', folder, 'README.md');
  const readme = await readFile(file, 'utf8');
  /** @type {Map<string, string>} */
  const outputs = new Map();
  for (const command of commandsIn(readme)) {
    // Without such a database the old output stays; the tests have one.
    if (command.includes('mysql') && !process.env.SERVICE_DATABASE_URL) continue;
    const cwd = await mkdtemp(join(tmpdir(), 'memory-transcript-'));
    const service = NEED_SERVICE.includes(folder) ? await startService(cwd) : null;
    const { SERVICE_DATABASE_URL } = process.env;
    const env = {
      ...(service === null ? {} : { SERVICE_URL: service.url }),
      ...(command.includes('mysql') && SERVICE_DATABASE_URL ? { SERVICE_DATABASE_URL } : {}),
    };
    outputs.set(command, await outputOf(command, { cwd, env }));
    service?.stop();
  }
  await writeFile(
    file,
    fillTranscripts(readme, (command) => outputs.get(command) ?? null),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of TOLD) await fill(folder);
}
