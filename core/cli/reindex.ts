import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, type LoadedConfig } from '../config/index.ts';
import type { MemoryServiceConfig } from '../config/service.ts';
import { createIndexer } from '../search/index/indexer.ts';
import { createSearchCaches } from '../search/search-caches.ts';
import type { Reindexing } from '../contracts/admin.ts';
import type { Command, CommandContext } from './command.ts';
import { awaitVectors, embedHere, readProgress } from './embed-memory.ts';
import { StartError } from './failure.ts';
import { createLog } from './log.ts';
import { withStorage, workOnMemory } from './open-memory.ts';
import { createProgress, type RunningServer } from './running-server.ts';
import { writeOutput } from './streams.ts';

const POLL_MS = 500;

/**
 * `memory-service reindex`: rebuilds the search index, or with `--embeddings` the vectors of all
 * passages, and shows the progress. If a server has the database file open, it does the work;
 * otherwise this process does.
 */
export const reindex: Command = {
  summary: 'Make the search index anew, with progress; asks the server when one is running.',
  flags: {
    embeddings: { value: null, summary: 'Make the vectors of all passages anew instead.' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  if (context.flags.has('embeddings')) {
    const texts = await workOnMemory<number>(loaded, {
      there: reembedThere,
      here: (config) => embedHere(loaded, config, { isAnew: true }),
    });
    writeOutput(`The vectors were made anew: ${texts} texts.\n`);
    return;
  }
  const files = await workOnMemory<number>(loaded, {
    there: reindexThere,
    here: (config) => reindexHere(loaded, config),
  });
  writeOutput(`The search index was made anew: ${files} files.\n`);
}

/** Returns the number of files. */
function reindexHere(loaded: LoadedConfig, config: MemoryServiceConfig): Promise<number> {
  return withStorage(loaded, config, async (storage) => {
    const log = createLog(loaded.values.logLevel);
    const caches = createSearchCaches({ listsPassages: (config.embedder ?? null) !== null });
    const indexer = createIndexer({ store: storage.index, log, caches });
    const show = createProgress('files');
    let total = 0;
    try {
      await indexer.reindex((done, files) => {
        total = files;
        show(done, files);
      });
      // A stopped server may have left files to index.
      await indexer.drain();
    } finally {
      await indexer.stop();
    }
    return total;
  });
}

async function reembedThere(server: RunningServer, address: string): Promise<number> {
  const before = await readProgress(server);
  if (before === null) throw new StartError(`The server at ${address} has no embedder.`);
  await server.ask('POST', 'reembed');
  return await awaitVectors(server, { address, before });
}

async function reindexThere({ ask }: RunningServer, address: string): Promise<number> {
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

/** The job's state after the server was restarted. */
const LOST: Reindexing = { state: 'failed', done: 0, files: 0 };
