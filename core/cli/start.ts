import { constants, existsSync } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import {
  describeDatabase,
  loadConfig,
  openConfig,
  type Database,
  type LoadedConfig,
} from '../config/index.ts';
import { describeConfig } from '../config/print.ts';
import { settingOf } from '../config/settings.ts';
import { MASK, type ShownConfiguration, type ShownSetting } from '../config/shown.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { SqlDatabase } from '../storage/sql-database.ts';
import { toStorage } from '../storage/storage.ts';
import { describeError } from '../describe-error.ts';
import { MemoryError } from '../errors.ts';
import { listen, type ListeningServer } from '../http/server.ts';
import { createMemoryService, type MemoryService } from '../index.ts';
import { EXIT_FAILED, explainFailure, StartError } from './failure.ts';
import { isEveryAddress } from './hosts.ts';
import { createLog } from './log.ts';
import type { Command, CommandContext } from './command.ts';
import { claimDatabase, type Claim } from './owner.ts';
import { decideSecrets, isLoopback, placeOfSecrets } from './secrets.ts';

/** The time limit of a shutdown, and the part of it for requests in progress. */
const SHUTDOWN_MS = 25_000;
const REQUESTS_MS = 20_000;

/** Said once, at the first start on a database. */
const SEARCH_BY_MEANING =
  'Search by meaning is off: with it, “What should I avoid eating?” finds “Allergic to peanuts”. Set it up: memory-service embedder setup';

/**
 * How much the heap may grow, in percent of what is in use, before V8 collects garbage. By default
 * it grows several times as much: with 50,000 files and 1,000 active users the process held 440 MB,
 * with a heap of 330 MB of which 84 MB were in use.
 */
const HEAP_GROWTH_PERCENT = 40;

/** `memory-service start`: serves until SIGTERM or SIGINT. Resolves when the service is ready. */
export const start: Command = {
  summary: 'Serve the tools API, the admin API and the console. The default.',
  flags: {
    demo: { value: null, summary: 'Fill a fresh database of its own with a team’s memory.' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context.flags.has('demo') ? forDemo(context) : context);
  const { values } = loaded;
  const log = createLog(values.logLevel);
  for (const warning of loaded.warnings) log.warn({}, warning);
  surviveStrayErrors(log);
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  // Memory about people is private: the database, its -wal and the secrets are readable by this
  // user only.
  process.umask(0o077);

  const database = describeDatabase(loaded);
  const secretsFile = placeOfSecrets(database.filename, loaded.cwd);
  const decide = () => decideSecrets(values, { host: values.host, database, file: secretsFile });
  // Refuses before it writes anything, and writes only under the claim.
  const isLocal = database.isEmbedded && isLoopback(values.host);
  const given = isLocal ? null : await decide();
  if (isLocal || database.filename !== null) await makeDirectory(dirname(secretsFile), loaded);
  const isFirst = database.filename !== null && !existsSync(database.filename);
  const claim = await claimDatabase(database);
  const secrets = given ?? (await decide());
  for (const warning of secrets.warnings) log.warn({}, warning);
  if (database.isEmbedded && database.filename === null && !isInMemory(loaded)) {
    log.warn({}, 'this storage does not say its file: a second server on it will not be refused');
  }

  if (context.flags.has('demo')) await fill(loaded);
  const { service: config, warnings } = await openConfig(loaded);
  for (const warning of warnings) log.warn({}, warning);
  warnOfHosts(loaded, log);
  const service = createMemoryService({
    ...config,
    apiKey: secrets.apiKeys,
    adminSecret: secrets.adminSecret,
    configuration: await describeStart(context, { loaded, secretsFile: secrets.file }),
    log,
  });
  // A file tells by being there. In memory, each start would be the first.
  const isEmptyServer = !database.isEmbedded && (await isEmpty(config.storage));
  await startOrExplain(service, database, loaded);
  const server = await listenOrExplain(service, loaded, log);
  const url = toUrl(server, loaded);
  await claim.announce(url);
  stopOnSignals({ service, server, claim, log });

  const lines = [`memory-service is ready: ${url}/admin`];
  if (secrets.file !== null) lines.push(`${namesOfKept(values)} in ${secrets.file}`);
  if (config.embedder === null && (isFirst || isEmptyServer)) lines.push(SEARCH_BY_MEANING);
  process.stdout.write(`${lines.join('\n')}\n`);
  const { driver } = await config.storage.describe();
  log.info({ url, database: database.name, driver }, 'ready');
}

/** Whether a database has no tables yet. One that does not answer now is waited for later. */
async function isEmpty(database: SqlDatabase): Promise<boolean> {
  const plan = await toStorage(database)
    .planMigration()
    .catch(() => null);
  return plan?.from === 0;
}

/**
 * Uses a separate database unless one is named, so that made-up memory never mixes with real
 * memory.
 */
function forDemo(context: CommandContext): CommandContext {
  return {
    ...context,
    env: { SERVICE_DATABASE_URL: 'sqlite:./data/demo.db', ...context.env },
  };
}

async function fill(loaded: LoadedConfig): Promise<void> {
  const { fillDemo } = await import('../demo/fill-demo.ts');
  const { DemoDataError } = await import('../demo/demo-data.ts');
  const { service: config } = await openConfig(loaded);
  const calls = await fillDemo(config, Date.now()).catch((error: unknown) => {
    throw error instanceof DemoDataError ? new StartError(error.message, { cause: error }) : error;
  });
  if (calls > 0) process.stderr.write(`The demo is there: ${calls} tool calls of a team.\n`);
}

function isInMemory({ values, file }: LoadedConfig): boolean {
  return file?.parts.storage === undefined && values.databaseUrl === 'sqlite::memory:';
}

/** The configuration, with what this start adds: generated secrets, and the database of the demo. */
async function describeStart(
  { env, flags }: CommandContext,
  { loaded, secretsFile }: { loaded: LoadedConfig; secretsFile: string | null },
): Promise<ShownConfiguration> {
  const { settings, ...shown } = await describeConfig(loaded);
  const { env: variable } = settingOf('databaseUrl');
  const isOfDemo = flags.has('demo') && env[variable] === undefined;
  const adapt = (one: ShownSetting): ShownSetting => {
    const isSecret = one.key === 'apiKey' || one.key === 'adminSecret';
    if (isSecret && one.value === null && secretsFile !== null) {
      return { key: one.key, value: MASK, source: 'file', origin: secretsFile };
    }
    return isOfDemo && one.origin === variable ? { ...one, source: 'flag', origin: '--demo' } : one;
  };
  return { ...shown, settings: settings.map(adapt) };
}

/** The secrets that come from the file and not from the configuration. */
function namesOfKept({ apiKey, adminSecret }: LoadedConfig['values']): string {
  if (apiKey !== null) return 'The admin secret is';
  return adminSecret === null ? 'The API key and the admin secret are' : 'The API key is';
}

/** Creates the folder for the database and its secrets, or says why it can't be written. */
export async function makeDirectory(directory: string, { origins }: LoadedConfig): Promise<void> {
  try {
    await makeFolders(directory);
    await access(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const setting = origins.databaseUrl.name || 'SERVICE_DATABASE_URL';
    throw new StartError(
      `${directory} cannot be written (${String(code)}): give this user the right to, or choose another place with ${setting}.`,
      { cause: error },
    );
  }
}

// Not with `recursive: true`, which never returns on Node 20 below /proc and the like.
async function makeFolders(directory: string, isSecondTry = false): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(directory)).isDirectory()) return;
    if (code !== 'ENOENT' || isSecondTry) throw error;
    await makeFolders(dirname(directory));
    await makeFolders(directory, true);
  }
}

/** Starts the service. If a file can't be opened, the error names the setting that chose it. */
export async function startOrExplain(
  service: MemoryService,
  { filename }: Database,
  { origins }: LoadedConfig,
): Promise<void> {
  try {
    // A server is told in its log and status that a model is down before somebody needs it.
    await service.start({ checkModels: true });
  } catch (error) {
    const isStorage = error instanceof MemoryError && error.code.startsWith('STORAGE_');
    if (!isStorage || filename === null) throw error;
    const setting = origins.databaseUrl.name || 'SERVICE_DATABASE_URL';
    throw new StartError(
      `${filename} cannot be opened: ${explainFailure(error)} Choose another with ${setting}.`,
      { cause: error },
    );
  }
}

async function listenOrExplain(
  service: MemoryService,
  { values, origins }: LoadedConfig,
  log: Logger,
): Promise<ListeningServer> {
  const { host, port } = values;
  try {
    return await listen(service, { host, port, log });
  } catch (error) {
    await service.close().catch(() => undefined);
    const { code } = error as NodeJS.ErrnoException;
    const reason = LISTEN_FAILURES[code ?? '']?.(host, port, origins.host.name || 'SERVICE_HOST');
    if (reason === undefined) throw error;
    throw new StartError(reason, { cause: error });
  }
}

const LISTEN_FAILURES: Readonly<
  Record<string, (host: string, port: number, setting: string) => string>
> = {
  EADDRINUSE: (host, port) =>
    `Port ${port} on ${host} is in use: choose another with SERVICE_PORT or --port, or stop what listens there.`,
  EACCES: (_host, port) =>
    `This user may not listen on port ${port}: choose one above 1023 with SERVICE_PORT or --port.`,
  EADDRNOTAVAIL: (host, _port, setting) =>
    `${host} is no address of this machine: mend ${setting}.`,
  ENOTFOUND: (host, _port, setting) => `${host} is no host name that resolves: mend ${setting}.`,
  EAI_AGAIN: (host, _port, setting) => `${host} is no host name that resolves: mend ${setting}.`,
};

function toUrl({ address }: ListeningServer, { values }: LoadedConfig): string {
  const host = isEveryAddress(address.address) ? '127.0.0.1' : values.host.replace(/^\[|\]$/g, '');
  const name = host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${address.port}${values.basePath}`;
}

function warnOfHosts({ values }: LoadedConfig, log: Logger): void {
  if (isEveryAddress(values.host) && values.allowedHosts === null) {
    log.warn(
      { host: values.host },
      'only loopback names are accepted as Host: set SERVICE_ALLOWED_HOSTS to the names that clients use',
    );
  }
}

interface Running {
  service: MemoryService;
  server: ListeningServer;
  claim: Claim;
  log: Logger;
}

/** The first signal finishes requests in progress and stops; the second one exits at once. */
function stopOnSignals(running: Running): void {
  const { log } = running;
  let firstAt: number | null = null;
  const onSignal = (signal: NodeJS.Signals) => {
    if (firstAt === null) {
      firstAt = performance.now();
      log.info({ signal }, 'stopping: requests under way may finish; a second signal ends them');
      void stop(running);
      return;
    }
    if (isEchoOfNpm(performance.now() - firstAt)) return;
    log.warn({ signal }, 'ended by a second signal');
    process.exit(EXIT_FAILED);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

// In a terminal both npm and this process get Ctrl-C, and npm passes it on, so one key press gives
// two signals.
function isEchoOfNpm(elapsedMs: number): boolean {
  return process.env['npm_lifecycle_event'] !== undefined && elapsedMs < 500;
}

async function stop({ service, server, claim, log }: Running): Promise<void> {
  const overdue = setTimeout(() => {
    log.error({}, 'stopping took too long');
    process.exit(EXIT_FAILED);
  }, SHUTDOWN_MS);
  try {
    const { isClean } = await server.close({ graceMs: REQUESTS_MS });
    if (!isClean) log.warn({}, 'requests that did not finish in time were cut off');
    await service.close();
    await claim.release();
    clearTimeout(overdue);
    log.info({}, 'stopped');
    process.exit(0);
  } catch (error) {
    log.error({ error: describeError(error) }, 'stopping failed');
    process.exit(EXIT_FAILED);
  }
}

/**
 * Logs a rejection that nobody handled and goes on, because it belongs to one request or plugin.
 * After an uncaught exception the state is unknown, so the process exits: committed data is safe,
 * and a new process is better than this one.
 */
export function surviveStrayErrors(log: Logger): void {
  process.on('unhandledRejection', (reason) => {
    log.error({ error: describeError(reason) }, 'a rejection that nobody handled');
  });
  process.on('uncaughtException', (error) => {
    log.error({ error: describeError(error) }, 'an exception that nobody caught: ending');
    process.exit(EXIT_FAILED);
  });
}
