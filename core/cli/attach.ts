import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, describeDatabase, type LoadedConfig, openConfig } from '../config/index.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { ToolRunner } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { listen } from '../http/server.ts';
import { createMemoryService } from '../index.ts';
import { explainFailure, StartError } from './failure.ts';
import { claimDatabase, type Claim, findServer } from './owner.ts';
import { decideSecrets, findKeptSecret, placeOfSecrets } from './secrets.ts';
import { makeDirectory, startOrExplain } from './start.ts';

/** An open connection to a configuration's memory, in this process or in another. */
interface Attached {
  readonly tools: ToolRunner;
  /** Stops serving. A server in another process goes on. */
  close(): Promise<void>;
}

/** How long to wait for another process that is opening the file to publish its address. */
const START_LIMIT_MS = 15_000;
const RETRY_MS = 100;
const LOOPBACK = { host: '127.0.0.1', port: 0 };
const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '::1'];
/** How long requests of other processes may still run when this one closes. */
const CLOSE_GRACE_MS = 2_000;

/**
 * Connects to the memory that a configuration names. If a server has the database file open, that
 * server does the work; otherwise this process opens the file and serves it on loopback to
 * processes that come later. When the server goes away, the next call finds another one or takes
 * its place.
 */
export async function attach(loaded: LoadedConfig, log: Logger): Promise<Attached> {
  let current: Promise<Attached> | null = reach(loaded, log);
  await current;

  async function attempt<T>(work: (tools: ToolRunner) => Promise<T>): Promise<T> {
    for (let waited = 0; ; waited += RETRY_MS) {
      const used = (current ??= reach(loaded, log));
      try {
        return await work((await used).tools);
      } catch (error) {
        const isServerGone = isGone(error);
        if (current === used && (isServerGone || !(error instanceof MemoryError))) current = null;
        if (!isServerGone || waited >= START_LIMIT_MS) throw toMemoryError(error);
        if (waited === 0) {
          log.info({}, 'the server that has the database is gone: looking for another');
        }
      }
      // While other processes also look for a server, the address of the old one may still be
      // found.
      if (waited > 0) await sleep(RETRY_MS);
    }
  }

  return {
    tools: {
      listTools: () => attempt((tools) => tools.listTools()),
      execute(name, request) {
        // All attempts use the same key, because an earlier one may have been executed.
        const { idempotencyKey = randomUUID() } = request;
        return attempt((tools) => tools.execute(name, { ...request, idempotencyKey }));
      },
    },
    async close() {
      await (await current)?.close();
    },
  };
}

async function reach(loaded: LoadedConfig, log: Logger): Promise<Attached> {
  const database = describeDatabase(loaded);
  if (database.filename !== null) {
    await makeDirectory(dirname(database.filename), loaded);
  }
  const found = await findOrClaim(database);
  if (typeof found === 'string') {
    log.info({ url: found }, 'talking to the server that has the database open');
    return talkTo(found, loaded, database);
  }
  try {
    return await openHere(found, loaded, database, log);
  } catch (error) {
    await found.release();
    if (!(error instanceof ClaimLost)) throw error;
    return await reach(loaded, log);
  }
}

/** Another process claimed the database while this one was opening it. */
class ClaimLost extends Error {}

/** Finds the server's address, or claims the database. */
async function findOrClaim(database: Database): Promise<string | Claim> {
  for (let waited = 0; ; waited += RETRY_MS) {
    try {
      return (await findServer(database)) ?? (await claimDatabase(database));
    } catch (error) {
      // Another process was quicker and will serve the file soon.
      if (!(error instanceof StartError) || waited >= START_LIMIT_MS) throw error;
    }
    await sleep(RETRY_MS);
  }
}

async function openHere(
  claim: Claim,
  loaded: LoadedConfig,
  database: Database,
  log: Logger,
): Promise<Attached> {
  const { values, cwd } = loaded;
  const isShared = database.filename !== null;
  const secrets = isShared
    ? await decideSecrets(values, {
        host: LOOPBACK.host,
        database,
        file: placeOfSecrets(database.filename, cwd),
      })
    : null;
  const { service: config, warnings } = await openConfig(loaded);
  for (const warning of warnings) log.warn({}, warning);
  const service = createMemoryService({
    ...config,
    ...(secrets === null ? {} : { apiKey: secrets.apiKeys, adminSecret: secrets.adminSecret }),
    allowedHosts: LOOPBACK_NAMES,
    log,
  });
  await startOrExplain(service, database, loaded);
  const server = isShared ? await listen(service, { ...LOOPBACK, log }) : null;
  if (server !== null) {
    const url = `http://${LOOPBACK.host}:${server.address.port}${values.basePath}`;
    try {
      await claim.announce(url);
    } catch (error) {
      await server.close({ graceMs: 0 });
      await service.close();
      // Any other error is final, here as in `claimDatabase`.
      if (!(error instanceof StartError)) throw error;
      throw new ClaimLost('Another process serves the database by now.', { cause: error });
    }
    log.info({ url }, 'serving the database until the client ends');
  }
  return {
    tools: service.tools,
    async close() {
      await server?.close({ graceMs: CLOSE_GRACE_MS });
      await service.close();
      await claim.release();
    },
  };
}

async function talkTo(
  address: string,
  loaded: LoadedConfig,
  database: Database,
): Promise<Attached> {
  const apiKey =
    loaded.values.apiKey?.[0] ??
    (await findKeptSecret('apiKey', placeOfSecrets(database.filename, loaded.cwd)));
  const { MemoryClient } = await importClient();
  return {
    tools: new MemoryClient({ baseUrl: address, apiKey, maxRetries: 0 }),
    close: () => Promise.resolve(),
  };
}

/** The exports of the package's client, imported by path because core may not import adapters. */
interface ClientModule {
  MemoryClient: new (options: {
    baseUrl: string;
    apiKey: string;
    maxRetries: number;
  }) => ToolRunner;
}

async function importClient(): Promise<ClientModule> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const url = new URL(`../../adapters/client.${extension}`, import.meta.url);
  return (await import(url.href)) as ClientModule;
}

/** Whether the error means that the server has ended. */
function isGone(error: unknown): boolean {
  const { code, details } = Object(error) as Partial<MemoryError>;
  if (code === 'SHUTTING_DOWN') return true;
  return code === 'SERVICE_UNREACHABLE' && details?.['reason'] === 'network';
}

/** Clients are on this machine, so they may see why the database can't be opened. */
function toMemoryError(error: unknown): unknown {
  if (!(error instanceof StartError)) return error;
  return new MemoryError('STORAGE_UNAVAILABLE', explainFailure(error), { cause: error });
}
