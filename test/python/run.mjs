// What `npm run test:python` runs: the examples in examples/python with the real frameworks, each in a virtual
// environment of its own, against a running service and a scripted model. It prints a table and exits with 1 when
// something failed or could not run.
//
//   npm run test:python                      all of them
//   npm run test:python -- crewai httpx      some of them
//   npm run test:python -- schemathesis      cases made from the OpenAPI document instead

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startService } from '../../examples/scripted-model/fill-transcripts.mjs';
import { startScriptedModel } from '../../examples/scripted-model/server.mjs';
import { checkRun } from './check-run.mjs';
import { FRAMEWORKS } from './frameworks.mjs';
import { findMistakes } from './schemathesis.mjs';
import { startUnreliable } from './unreliable-service.mjs';

const { ensureBuilt, ensureInstalled, orExplain } = createRequire(import.meta.url)(
  '../../core/build/prepare.cjs',
);
const root = fileURLToPath(new URL('../../', import.meta.url));
const execute = promisify(execFile);

/** @typedef {import('./frameworks.mjs').Framework} Framework */
/** @typedef {{ name: string, versions: string, checks: Record<string, string> }} Result */

/** All tools: the memory tool of Anthropic deletes and renames. */
const SETTINGS = { SERVICE_TOOLS_DELETE: 'true', SERVICE_TOOLS_MOVE: 'true' };

/** The same scripted model for the service. @param {string} url */
const ofModel = (url) => ({
  SERVICE_MODEL_PROVIDER: 'openai',
  SERVICE_MODEL_BASE_URL: `${url}/v1`,
  SERVICE_MODEL_API_KEY: 'none',
  SERVICE_MODEL_NAME: 'scripted',
});

/** Frameworks that would call home. */
const TELEMETRY_OFF = {
  CREWAI_DISABLE_TELEMETRY: 'true',
  CREWAI_DISABLE_TRACKING: 'true',
  OTEL_SDK_DISABLED: 'true',
};

const wanted = process.argv.slice(2);
const chosen = FRAMEWORKS.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const unknown = wanted.filter(
  (name) => name !== 'schemathesis' && !chosen.some((framework) => framework.name === name),
);

await orExplain(async () => {
  await ensureInstalled();
  await ensureBuilt();
});

/** @type {Result[]} */
const results = [];
/** @type {string[]} */
const problems = unknown.map((name) => `${name}: there is no such framework here`);
for (const framework of chosen) {
  process.stderr.write(`${framework.name}\n`);
  try {
    const { name, requirements = name } = framework;
    const file = `examples/python/requirements/${requirements}.txt`;
    const python = await makeEnvironment(requirements, file);
    const result = await runFramework(framework, python);
    results.push(result);
    for (const [check, outcome] of Object.entries(result.checks)) {
      if (outcome !== 'yes' && outcome !== '–') {
        problems.push(`${framework.name}, ${check}: ${outcome}`);
      }
    }
  } catch (error) {
    const { stderr, message } = /** @type {Error & { stderr?: string }} */ (error);
    problems.push(`${framework.name} was not run: ${(stderr ?? '').trim() || message}`);
  }
}
if (wanted.includes('schemathesis')) {
  process.stderr.write('schemathesis\n');
  try {
    problems.push(...(await runSchemathesis()));
  } catch (error) {
    problems.push(`schemathesis was not run: ${/** @type {Error} */ (error).message}`);
  }
}
if (results.length > 0) process.stdout.write(`${toTable(results)}\n\n`);
process.stdout.write(problems.map((line) => `${line}\n`).join(''));
process.stdout.write(`${chosen.length} frameworks, ${problems.length} problems\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

/**
 * Makes the virtual environment of a framework, or takes the one that is there for the same requirements.
 *
 * @param {string} name
 * @param {string} file with the requirements
 * @returns {Promise<string>} its Python
 */
async function makeEnvironment(name, file) {
  const requirements = join(root, file);
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const folder = join(root, '.cache/python', `${name}-${hash}`);
  const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
  const isReady = join(folder, 'ready');
  if (await readFile(isReady).then(Boolean, () => false)) return python;
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(root, '.cache/python'), { recursive: true });
  await execute('python3', ['-m', 'venv', folder]);
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  await execute(python, [...install, '--requirement', requirements], { maxBuffer: 1e8 });
  await writeFile(isReady, 'ready');
  return python;
}

/** @returns {Promise<string[]>} what nothing in the list of accepted findings explains */
async function runSchemathesis() {
  const python = await makeEnvironment('schemathesis', 'test/python/schemathesis.txt');
  const cwd = await mkdtemp(join(tmpdir(), 'memory-python-'));
  const service = await startService(cwd, SETTINGS);
  try {
    const { url } = service;
    const secrets = JSON.parse(await readFile(join(cwd, 'data/secrets.json'), 'utf8'));
    const { cases, findings, mistakes } = await findMistakes(python, { url, cwd, ...secrets });
    process.stdout.write(`${cases} cases, ${findings.length} findings, `);
    process.stdout.write(`${mistakes.length} of them unexplained\n`);
    if (cases === 0) return ['schemathesis made no case'];
    return mistakes.map(({ operation, text }) => `${operation}: ${text}`);
  } finally {
    service.stop();
    await rm(cwd, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * Runs the example of a framework on an empty service.
 *
 * @param {Framework} framework
 * @param {string} python
 * @returns {Promise<Result>}
 */
async function runFramework(framework, python) {
  const cwd = await mkdtemp(join(tmpdir(), 'memory-python-'));
  const model = await startScriptedModel(framework.turns);
  const service = await startService(cwd, {
    ...SETTINGS,
    ...(framework.keeps ? ofModel(model.url) : {}),
  });
  const unreliable = framework.isUnreliable ? await startUnreliable(service.url) : null;
  try {
    const { apiKey, adminSecret } = JSON.parse(
      await readFile(join(cwd, 'data/secrets.json'), 'utf8'),
    );
    const ended = await runExample(framework, python, cwd, {
      SERVICE_URL: unreliable?.url ?? service.url,
      SERVICE_API_KEY: apiKey,
      OPENAI_BASE_URL: `${model.url}/v1`,
      OPENAI_API_KEY: 'none',
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'none',
    });
    const headers = { authorization: `Bearer ${apiKey}`, 'x-admin-secret': adminSecret };
    const get = async (/** @type {string} */ path) =>
      (await fetch(service.url + path, { headers })).json();
    const checks = await checkRun({ framework, ended, model, get });
    return { name: framework.name, versions: await readVersions(framework), checks };
  } finally {
    unreliable?.close();
    service.stop();
    await model.close();
    await rm(cwd, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * @param {Framework} framework
 * @param {string} python
 * @param {string} cwd
 * @param {Record<string, string>} env
 */
async function runExample({ file }, python, cwd, env) {
  const script = join(root, 'examples/python', file);
  const own = { PATH: process.env.PATH ?? '', HOME: cwd, TMPDIR: cwd, ...TELEMETRY_OFF, ...env };
  try {
    const { stdout, stderr } = await execute(python, ['-B', script], {
      cwd,
      env: own,
      timeout: 300_000,
      maxBuffer: 1e8,
    });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = /** @type {any} */ (error);
    return { code: Number.isInteger(code) ? Number(code) : 1, stdout, stderr };
  }
}

/** @param {Framework} framework @returns {Promise<string>} the pins of its requirements */
async function readVersions({ name, requirements = name }) {
  const file = join(root, `examples/python/requirements/${requirements}.txt`);
  const pins = await readFile(file, 'utf8');
  return pins
    .split('\n')
    .filter((line) => line.includes('=='))
    .map((line) => line.replace(/\[.*\]/, '').replace('==', ' '))
    .join(', ');
}

/** @param {Result[]} all */
function toTable(all) {
  const columns = Object.keys(all[0]?.checks ?? {});
  const rows = [
    ['framework', ...columns, 'versions'],
    ...all.map(({ name, versions, checks }) => [
      name,
      ...columns.map((column) =>
        /^(?:yes|–)$/.test(checks[column] ?? '') ? checks[column] : 'NO',
      ),
      versions,
    ]),
  ];
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => (cell ?? '').padEnd(widths?.[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
