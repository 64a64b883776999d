import { setTimeout as sleep } from 'node:timers/promises';
import { describeDatabase, loadConfig, openConfig, type Database } from '../config/index.ts';
import type { LoadedConfig } from '../config/index.ts';
import type { EmbeddingProgress } from '../contracts/admin.ts';
import { createEmbedding } from '../search/embedding/embedding.ts';
import { createEmbeddingWorker } from '../search/embedding/embedding-worker.ts';
import { createIndexer } from '../search/index/indexer.ts';
import type { Reindexing } from '../maintenance/reindex.ts';
import { StartError } from './failure.ts';
import { createLog } from './log.ts';
import type { CommandContext } from './main.ts';
import { claimDatabase, findServer } from './owner.ts';
import { createProgress, talkToServer } from './running-server.ts';
import { checkStorageContract } from '../storage-contract.ts';

const POLL_MS = 500;

/**
 * `memory-service reindex`: makes the search index anew, or with `--embeddings` the vectors of all
 * passages, and shows how far it is. With a server on the database file it is the server that does
 * it; without one, this process, under the claim that keeps a server out meanwhile.
 */
export async function reindex(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const database = describeDatabase(loaded);
  const address = await findServer(database);
  if (context.flags.has('embeddings')) {
    const texts =
      address === null
        ? await reembedHere(loaded, database)
        : await reembedThere(address, loaded, database);
    process.stdout.write(`The vectors were made anew: ${texts} texts.\n`);
    return;
  }
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
    const { storage, embedder = null } = (await openConfig(loaded)).service;
    checkStorageContract(storage);
    await storage.init({ log, now: Date.now });
    try {
      const listsPassages = embedder !== null;
      const indexer = createIndexer({ store: storage.index, log, listsPassages });
      const show = createProgress('files');
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

/** How many texts there are. */
async function reembedHere(loaded: LoadedConfig, database: Database): Promise<number> {
  const log = createLog(loaded.values.logLevel);
  const claim = await claimDatabase(database);
  try {
    const { storage, embedder = null } = (await openConfig(loaded)).service;
    if (embedder === null) throw new StartError(NO_EMBEDDER);
    checkStorageContract(storage);
    await storage.init({ log, now: Date.now });
    try {
      const { vectors } = storage;
      if (vectors === undefined) throw new StartError(`${storage.name} keeps no vectors.`);
      const indexer = createIndexer({ store: storage.index, log, listsPassages: true });
      const embedding = createEmbedding(embedder, { questionMs: 1_000 });
      const deps = { embedding, vectors, index: storage.index, indexer, log };
      const worker = createEmbeddingWorker(deps);
      const show = createProgress('texts');
      await worker.reembed();
      await worker.drain((done) => show(done, null));
      const { textsEmbedded } = await worker.progress();
      await worker.stop();
      await indexer.stop();
      return textsEmbedded;
    } finally {
      await storage.close();
    }
  } finally {
    await claim.release();
  }
}

const NO_EMBEDDER = 'No embedder is configured: set SERVICE_EMBEDDING_PROVIDER and its settings.';

async function reembedThere(
  address: string,
  loaded: LoadedConfig,
  database: Database,
): Promise<number> {
  const { ask } = await talkToServer(address, loaded, database);
  interface Status {
    embedder: { progress: EmbeddingProgress | null };
  }
  const before = (await ask<Status>('GET', 'status')).embedder.progress;
  if (before === null) throw new StartError(`The server at ${address} has no embedder.`);
  await ask('POST', 'reembed');
  const show = createProgress('texts');
  for (;;) {
    const { progress } = (await ask<Status>('GET', 'status')).embedder;
    const { state, textsEmbedded, textsWaiting, lastFailureReason } = progress ?? before;
    const done = Math.max(0, textsEmbedded - before.textsEmbedded);
    if (state === 'idle') return done;
    if (state === 'paused') {
      throw new StartError(
        `The embedder of the server at ${address} fails (${lastFailureReason ?? 'no reason'}): the server goes on by itself once it answers.`,
      );
    }
    show(done, done + textsWaiting);
    await sleep(POLL_MS);
  }
}

async function reindexThere(
  address: string,
  loaded: LoadedConfig,
  database: Database,
): Promise<number> {
  const { ask } = await talkToServer(address, loaded, database);
  await ask<Reindexing>('POST', 'reindex');
  const show = createProgress('files');
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
