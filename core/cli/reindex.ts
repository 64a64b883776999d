import { setTimeout as sleep } from 'node:timers/promises';
import { describeDatabase, loadConfig, openConfig, type Database } from '../config.ts';
import type { LoadedConfig } from '../config.ts';
import { createIndexer } from '../memory/indexer.ts';
import type { Reindexing } from '../memory/reindex.ts';
import { StartError } from './failure.ts';
import { createLog } from './log.ts';
import type { CommandContext } from './main.ts';
import { claimDatabase, findServer } from './owner.ts';
import { findKeptSecret, placeOfSecrets } from './secrets.ts';

const POLL_MS = 500;

/**
 * `memory-service reindex`: makes the search index anew, and shows how far it is. With a server on
 * the database file it is the server that does it; without one, this process, under the claim that
 * keeps a server out meanwhile.
 */
export async function reindex(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const database = describeDatabase(loaded);
  const address = await findServer(database);
  const files =
    address === null
      ? await reindexHere(loaded, database)
      : await reindexThere(address, loaded, database);
  process.stdout.write(`The search index was made anew: ${files} files.\n`);
}

/** How many files it was of. */
async function reindexHere(loaded: LoadedConfig, database: Database): Promise<number> {
  const log = createLog(loaded.values.logLevel);
  const claim = await claimDatabase(database);
  try {
    const { storage } = (await openConfig(loaded)).service;
    await storage.init({ log, now: Date.now });
    try {
      const indexer = createIndexer({ store: storage.index, log });
      const show = createProgress();
      let total = 0;
      await indexer.reindex((done, files) => {
        total = files;
        show(done, files);
      });
      // What a server left behind when it was stopped is not in the way of a command either.
      await indexer.drain();
      await indexer.stop();
      return total;
    } finally {
      await storage.close();
    }
  } finally {
    await claim.release();
  }
}

async function reindexThere(
  address: string,
  loaded: LoadedConfig,
  database: Database,
): Promise<number> {
  const secret =
    loaded.values.adminSecret ??
    (await findKeptSecret('adminSecret', placeOfSecrets(database.filename, loaded.cwd)));
  const ask = async <T>(method: 'GET' | 'POST', path: string): Promise<T> => {
    const answer = await fetch(`${address}/v1/admin/${path}`, {
      method,
      headers: { 'x-admin-secret': secret },
    });
    if (answer.ok) return (await answer.json()) as T;
    throw new StartError(
      `The server at ${address} answered ${answer.status} to ${method} /v1/admin/${path}: is SERVICE_ADMIN_SECRET the one that it was started with?`,
    );
  };
  await ask<Reindexing>('POST', 'reindex');
  const show = createProgress();
  for (;;) {
    const { index } = await ask<{ index: { reindex: Reindexing | null } }>('GET', 'status');
    const { state, done, files } = index.reindex ?? LOST;
    if (state === 'completed') return files;
    if (state === 'failed') {
      throw new StartError(`The server at ${address} could not finish: its log says why.`);
    }
    show(done, files);
    await sleep(POLL_MS);
  }
}

/** What a server says that was restarted meanwhile. */
const LOST: Reindexing = { state: 'failed', done: 0, files: 0 };

const STEP_MS = 1_000;

/** Says on standard error how far it is, at most once a second. */
function createProgress(): (done: number, files: number) => void {
  let last = performance.now();
  return (done, files) => {
    if (performance.now() - last < STEP_MS) return;
    last = performance.now();
    process.stderr.write(`  ${done} of ${files} files\n`);
  };
}
