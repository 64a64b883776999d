import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readCheckFile } from '../checks/read-check-file.ts';
import { type CheckChange, compareRuns, toJunit } from '../checks/reports.ts';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import { loadConfig } from '../config/index.ts';
import type { CheckResult, CheckRun } from '../schemas/checks.ts';
import { withAdminApi } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { explainFailure, StartError } from './failure.ts';
import { callAdminApi, type RunningServer } from './running-server.ts';
import { writeOutput } from './streams.ts';

const FILES = ['memory.checks.yaml', 'memory.checks.yml', 'memory.checks.json'];
/** The exit code where checks could not run. */
const EXIT_NOT_RUN = 2;

/** `memory-service check`: tests for memory, for people and for CI. */
export const check: Command = {
  summary: 'Run the checks of memory.checks.yaml on memory.',
  flags: {
    checks: { value: 'file', summary: 'Another file of checks, YAML or JSON.' },
    url: {
      value: 'address',
      summary: 'The service at this address, with SERVICE_ADMIN_SECRET; else the own database.',
    },
    baseline: {
      value: 'file',
      summary: 'Compare with the --json output of an earlier run: what got better and worse.',
    },
    junit: { value: 'file', summary: 'Write the results as JUnit XML, too.' },
    json: { value: null, summary: 'Print the results as JSON.' },
  },
  exitCodes: '0 all pass, 1 a check fails, 2 could not run',
  run,
};

async function run(context: CommandContext): Promise<void> {
  try {
    await runChecks(context);
  } catch (error) {
    process.stderr.write(`memory-service: ${explainFailure(error)}\n`);
    process.exitCode = EXIT_NOT_RUN;
  }
}

async function runChecks(context: CommandContext): Promise<void> {
  const { flags, cwd } = context;
  const file = await readChecks(context);
  const baseline = flags.get('baseline');
  const before = baseline === undefined ? null : await readBaseline(resolve(cwd, baseline));
  const answer = await withServer(context, (api) => api.ask<CheckRun>('POST', 'checks/run', file));
  const changes = before === null ? [] : compareRuns(before, answer);
  const junit = flags.get('junit');
  if (junit !== undefined) await writeFile(resolve(cwd, junit), toJunit(answer));
  writeOutput(
    flags.has('json')
      ? `${JSON.stringify(before === null ? answer : { ...answer, changes }, null, 2)}\n`
      : `${toLines(answer, changes).join('\n')}\n`,
  );
  if (answer.failed > 0) process.exitCode = 1;
}

async function readChecks({ flags, cwd }: CommandContext): Promise<object> {
  const named = flags.get('checks');
  for (const name of named === undefined ? FILES : [named]) {
    const text = await readFile(resolve(cwd, name), 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw new StartError(`${name} can't be read: ${(error as Error).message}`);
    });
    if (text === null) continue;
    const { value, mistakes } = readCheckFile(text);
    if (mistakes.length === 0) return value;
    throw new StartError(
      `${name} has mistakes:\n${mistakes.map((one) => `  ${name}:${one}`).join('\n')}`,
    );
  }
  throw new StartError(
    named === undefined
      ? `There is no ${FILES[0]} here; --checks names another file.`
      : `There is no file ${named}.`,
  );
}

async function readBaseline(path: string): Promise<Pick<CheckRun, 'results'>> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new StartError(`The baseline can't be read: ${(error as Error).message}`);
  });
  try {
    const value = parseForeignJson(text) as Partial<CheckRun> | null;
    const { results } = value ?? {};
    if (Array.isArray(results) && results.every((one) => typeof one?.name === 'string')) {
      return { results };
    }
  } catch {
    // The same message.
  }
  throw new StartError(`${path} is not the output of memory-service check --json.`);
}

async function withServer<T>(
  context: CommandContext,
  work: (api: RunningServer) => Promise<T>,
): Promise<T> {
  const url = context.flags.get('url');
  const loaded = await loadConfig(context);
  if (url === undefined) return await withAdminApi(loaded, work);
  const secret = loaded.values.adminSecret;
  if (secret === null) throw new StartError('--url needs SERVICE_ADMIN_SECRET.');
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new StartError(`--url is an address like https://memory.example.com, not ${url}.`);
  }
  return await work(callAdminApi(url.endsWith('/') ? url.slice(0, -1) : url, secret));
}

function toLines({ passed, failed, results }: CheckRun, changes: readonly CheckChange[]): string[] {
  const lines = results.flatMap((result) => [toLine(result), ...toPlaces(result)]);
  lines.push(`${passed} passed, ${failed} failed.`);
  for (const { name, isBetter, what } of changes) {
    lines.push(`${isBetter ? 'better' : 'worse '}  ${toPlain(name)}: ${what}`);
  }
  return lines;
}

function toLine({ name, passed, why, rank }: CheckResult): string {
  if (!passed) return `FAIL  ${toPlain(name)}: ${toPlain(why ?? '')}`;
  return `ok    ${toPlain(name)}${rank === undefined || rank === null ? '' : ` (rank ${rank})`}`;
}

function toPlaces({ places = [], more = 0 }: CheckResult): string[] {
  const lines = places.map(({ path, lines: at }) =>
    toPlain(at.length === 0 ? `        ${path}` : `        ${path}: line ${at.join(', ')}`),
  );
  return more === 0 ? lines : [...lines, `        and ${more} more`];
}

/** Without what a terminal obeys. */
const toPlain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
