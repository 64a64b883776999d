import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseRequestedChecks } from '../checks/check.ts';
import { readCheckFile } from '../checks/read-check-file.ts';
import { compareRuns, sayChanges, sayWhy, toJunit, toPlain } from '../checks/reports.ts';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import { type LoadedConfig, loadConfig, openConfig } from '../config/index.ts';
import type { AdminCheckProgress, CheckChange, CheckResult, CheckRun } from '../schemas/checks.ts';
import type { Core } from '../service.ts';
import type { Command, CommandContext } from './command.ts';
import { explainFailure, StartError } from './failure.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { callUrl, createProgress, type RunningServer } from './running-server.ts';
import { writeOutput } from './streams.ts';

const FILES = ['memory.checks.yaml', 'memory.checks.yml', 'memory.checks.json'];
/** The exit code where checks could not run. */
const EXIT_NOT_RUN = 2;
const POLL_MS = 1_000;

/** `memory-service check`: tests for memory, for people and for CI. */
export const check: Command = {
  summary: 'Run the checks of memory.checks.yaml on memory, or on an archive of the export.',
  argument: 'archive.tar.gz',
  isArgumentOptional: true,
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
  const answer = await runOn(context, file);
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
      `${name} has mistakes:\n${mistakes
        .map(({ line, message }) => `  ${name}:${line}: ${message}`)
        .join('\n')}`,
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

/** Runs checks where the command says: on an archive, at an address, or on the own database. */
async function runOn(context: CommandContext, file: object): Promise<CheckRun> {
  const { argument } = context;
  const url = context.flags.get('url');
  const loaded = await loadConfig(context);
  if (argument !== null) {
    if (url !== undefined) throw new StartError('Give an archive or --url, not both.');
    return await runOnArchive(loaded, { archive: argument, file });
  }
  const ask = (api: RunningServer) => runThere(api, file);
  if (url === undefined) {
    return await workOnMemory<CheckRun>(loaded, {
      there: ask,
      here: (config) => onCore(loaded, config, (core) => runHere(core, file)),
    });
  }
  return await ask(callUrl(url, loaded));
}

/** Runs checks on a server, which says meanwhile how far it is. */
async function runThere(api: RunningServer, file: object): Promise<CheckRun> {
  const progressId = randomUUID();
  const ended = new AbortController();
  const files = createProgress('files');
  const checks = createProgress('checks');
  const follow = async () => {
    while (!ended.signal.aborted) {
      await sleep(POLL_MS, undefined, { signal: ended.signal }).catch(() => undefined);
      if (ended.signal.aborted) return;
      // Another instance may answer, which does not know: then there is no progress.
      const path = `checks/progress/${progressId}`;
      const state = await api.ask<AdminCheckProgress | null>('GET', path).catch(() => null);
      if (state === null) continue;
      if (state.done > 0) checks(state.done, state.total);
      else files(state.files, null);
    }
  };
  void follow();
  try {
    return await api.ask<CheckRun>('POST', 'checks/run', { ...file, progressId });
  } finally {
    ended.abort();
  }
}

function runHere(core: Core, file: object): Promise<CheckRun> {
  const files = createProgress('files');
  const checks = createProgress('checks');
  const progress = { files: (done: number) => files(done, null), checks };
  return core.checks.run(parseRequestedChecks(file), { progress });
}

/** Imports an archive into a service in memory, without a model, and runs the checks there. */
async function runOnArchive(
  loaded: LoadedConfig,
  { archive, file }: { archive: string; file: object },
): Promise<CheckRun> {
  const path = resolve(loaded.cwd, archive);
  const found = await stat(path).catch(() => null);
  if (found?.isFile() !== true) throw new StartError(`There is no file ${archive}.`);
  // Whatever the configuration says, its own database is not touched.
  const { service } = await openConfig({
    ...loaded,
    values: { ...loaded.values, databaseUrl: 'sqlite::memory:' },
    origins: { ...loaded.origins, databaseUrl: { source: 'flag', name: 'check' } },
  });
  const none = { model: null, verifier: null, embedder: null, exporters: [], plugins: [] };
  return await onCore(loaded, { ...service, ...none }, async (core) => {
    const options = { from: 'archive', onExisting: 'refuse', dryRun: false, caller: null } as const;
    const imported = await core.archive.import(() => createReadStream(path), options);
    const progress = createProgress('files');
    let files = 0;
    for await (const one of imported) {
      if ('reason' in one) throw new StartError(`${toPlain(one.item)}: ${toPlain(one.reason)}`);
      progress((files += 1), null);
    }
    return await runHere(core, file);
  });
}

function toLines({ passed, failed, results }: CheckRun, changes: readonly CheckChange[]): string[] {
  const lines = results.flatMap((result) => [toLine(result), ...toPlaces(result)]);
  lines.push(`${passed} passed, ${failed} failed.`);
  return [...lines, ...sayChanges(changes)];
}

function toLine(result: CheckResult): string {
  const { name, passed, rank } = result;
  if (!passed) return `FAIL  ${toPlain(name)}: ${toPlain(sayWhy(result))}`;
  return `ok    ${toPlain(name)}${rank === undefined || rank === null ? '' : ` (rank ${rank})`}`;
}

function toPlaces({ places = [], more = 0 }: CheckResult): string[] {
  const lines = places.map(({ path, lines: at }) =>
    toPlain(at.length === 0 ? `        ${path}` : `        ${path}: line ${at.join(', ')}`),
  );
  return more === 0 ? lines : [...lines, `        and ${more} more`];
}
