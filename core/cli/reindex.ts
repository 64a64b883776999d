import { setTimeout as sleep } from 'node:timers/promises';
import { readDocument } from '../checks/check-document.ts';
import { sayChanges } from '../checks/reports.ts';
import { loadConfig, type LoadedConfig, openConfig } from '../config/index.ts';
import type { MemoryServiceConfig } from '../config/service.ts';
import { createIndexer } from '../search/index/indexer.ts';
import { createSearchCaches } from '../search/search-caches.ts';
import type { AdminCheckRun, AdminCheckRuns, Reindexing } from '../contracts/admin.ts';
import type { Command, CommandContext } from './command.ts';
import { awaitVectors, embedHere, readProgress } from './embed-memory.ts';
import { StartError } from './failure.ts';
import { createLog } from './log.ts';
import { onCore } from './on-core.ts';
import { withStorage, workOnMemory } from './open-memory.ts';
import { createProgress, type RunningServer } from './running-server.ts';
import { writeOutput } from './streams.ts';

const POLL_MS = 500;
/** How long the run of the stored checks after it is waited for. */
const RUN_LIMIT_MS = 180_000;

/**
 * `memory-service reindex`: rebuilds the search index, or with `--embeddings` the vectors of all
 * passages, and shows the progress. If a server has the database file open, it does the work;
 * otherwise this process does.
 */
export const reindex: Command = {
  summary: 'Make the search index anew, with progress; asks the server when one is running.',
  flags: {
    embeddings: {
      value: null,
      summary:
        'Make the vectors of all passages anew instead, between two runs of the stored checks.',
    },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  if (context.flags.has('embeddings')) {
    const { texts, checks } = await workOnMemory<Reembedded>(loaded, {
      there: reembedThere,
      here: (config) => reembedHere(loaded, config),
    });
    writeOutput(`The vectors were made anew: ${texts} texts.\n${sayRun(checks)}`);
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

/** How many texts were embedded, and the run of the stored checks after it, if there are any. */
interface Reembedded {
  texts: number;
  checks: AdminCheckRun | null;
}

async function reembedHere(loaded: LoadedConfig, config: MemoryServiceConfig): Promise<Reembedded> {
  const runChecks = async () => {
    const { service } = await openConfig(loaded);
    return await onCore(loaded, service, (core) => core.checks.stored.run('embedder'));
  };
  const { service } = await openConfig(loaded);
  // A core would begin to embed.
  const document = await withStorage(loaded, service, (storage) => readDocument(storage));
  const hasChecks = document.text !== '' && (await runChecks()) !== null;
  const texts = await embedHere(loaded, config, { isAnew: true });
  return { texts, checks: hasChecks ? await runChecks() : null };
}

async function reembedThere(server: RunningServer, address: string): Promise<Reembedded> {
  const before = await readProgress(server);
  if (before === null) throw new StartError(`The server at ${address} has no embedder.`);
  const earlier = await findLastRun(server);
  // The server runs its stored checks first.
  await server.ask('POST', 'reembed');
  const first = await findLastRun(server);
  const texts = await awaitVectors(server, { address, before });
  return { texts, checks: first === earlier ? null : await awaitRun(server, first) };
}

async function findLastRun({ ask }: RunningServer): Promise<string | null> {
  return (await ask<AdminCheckRuns>('GET', 'checks/runs')).items[0]?.id ?? null;
}

/** Waits for the run of the stored checks that the server makes once all is embedded. */
async function awaitRun(
  server: RunningServer,
  before: string | null,
): Promise<AdminCheckRun | null> {
  for (let waited = 0; waited < RUN_LIMIT_MS; waited += POLL_MS) {
    const last = await findLastRun(server);
    if (last !== before) return await server.ask<AdminCheckRun>('GET', `checks/runs/${last}`);
    await sleep(POLL_MS);
  }
  return null;
}

/** What the stored checks say of the new vectors, against the run before them. */
function sayRun(run: AdminCheckRun | null): string {
  if (run === null) return '';
  const counts = `The stored checks: ${run.passed} passed, ${run.failed} failed.`;
  return `${[counts, ...sayChanges(run.changes)].join('\n')}\n`;
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
