import type { TrialDependencies } from '../checks/trial.ts';
import type { IndexStore } from '../contracts/storage.ts';
import type { MemoryServices } from '../contracts/tool.ts';
import { embedNewPassages } from '../search/embedding/new-passages.ts';
import { createSearchCaches } from '../search/search-caches.ts';
import { createFind } from '../search/find.ts';
import { presentFiles } from '../search/memory-files.ts';
import { createSearch, type Search } from '../search/search.ts';
import { createLineTimes } from '../search/time/line-times.ts';
import { createReadAt } from '../search/time/read-at.ts';
import { createContext } from '../subagents/context.ts';
import type { Exam } from '../subagents/exam.ts';
import { createModel } from '../subagents/model.ts';
import { createRemember, type RememberDependencies } from '../subagents/remember.ts';
import { createFiling, type Filing } from '../subagents/remember/filing.ts';
import type { Basis } from './basis.ts';
import type { Memory } from './memory.ts';
import type { Providers } from './providers.ts';
import type { SearchIndex } from './search-index.ts';
import type { Telemetry } from './telemetry.ts';

/** What the services of the tools are made of. */
interface ToolServicesDependencies {
  telemetry: Pick<Telemetry, 'queue' | 'knownErasures'>;
  providers: Pick<Providers, 'model' | 'verifier'>;
  index: SearchIndex;
  memory: Pick<Memory, 'files' | 'idempotency' | 'revisions'>;
  fenceKey: () => Promise<Buffer>;
  exam: Pick<Exam, 'standing'>;
}

/** Services that leave no access row, for checks. */
export interface UnloggedServices extends Pick<MemoryServices, 'find' | 'context'> {
  search: Search;
  /** The same on another index. */
  answersOn(index: Pick<IndexStore, 'snapshot'>): Pick<MemoryServices, 'find' | 'context'>;
  /** Vectors of passages that a text has and an earlier one had not. */
  embed: TrialDependencies['embed'];
}

/** Creates what the built-in tools call, and the filing of what `memory_remember` leaves in the inbox. */
export function createToolServices(
  { storage, settings, screening, log, ids, now }: Basis,
  { telemetry, providers, index, memory, fenceKey, exam }: ToolServicesDependencies,
): { services: MemoryServices; filing: Filing; unlogged: UnloggedServices } {
  const { timeZone, replyTokens } = settings;
  const { files, idempotency, revisions } = memory;
  const { indexer, caches, embedding, embeddings } = index;
  const lineTimes = createLineTimes(revisions);
  const search = {
    search: createSearch({ index: storage.index, indexer, caches }),
    files: presentFiles({ files: storage.files, index: storage.index }),
    ids,
    accessQueue: telemetry.queue,
    revisions,
    lineTimes,
    timeZone,
    now,
    hybrid:
      embedding === null || embeddings === null
        ? null
        : { embedding, use: () => embeddings.use(), weights: settings.search },
  };
  const model = providers.model === null ? null : createModel(providers.model);
  const remember: RememberDependencies | null =
    model === null
      ? null
      : {
          files,
          storage,
          idempotency,
          revisions,
          search,
          model,
          now,
          fenceKey,
          timeZone,
          verifier: providers.verifier === null ? model : createModel(providers.verifier),
          maxFileBytes: settings.limits.maxFileBytes,
          inboxPath: settings.inboxPath,
          screening,
          replyTokens,
          standing: exam.standing,
        };
  const filing = createFiling({
    remember,
    storage,
    ids,
    log,
    now,
    record: (event) => telemetry.queue.event(event),
    checkScopes: (scopes) => telemetry.knownErasures.check(scopes),
    latestErasure: () => telemetry.knownErasures.latest(),
  });
  const context = {
    model,
    now,
    fenceKey,
    lineTimes,
    timeZone,
    replyTokens,
    standing: exam.standing,
    isFilled: settings.context.fill,
  };
  const services: MemoryServices = {
    files,
    history: createReadAt({ revisions, ids, accessQueue: telemetry.queue, timeZone, now }),
    find: createFind(search),
    context: createContext({ ...context, search }),
    remember: remember === null ? null : createRemember(remember, filing),
  };
  const unlogged = { ...search, accessQueue: { access: () => undefined } };
  const answerBy = (own: typeof unlogged) => ({
    find: createFind(own),
    context: createContext({ ...context, search: own }),
  });
  return {
    services,
    filing,
    unlogged: {
      ...answerBy(unlogged),
      search: search.search,
      answersOn: (changed) =>
        answerBy({
          ...unlogged,
          search: createSearch({
            index: changed,
            indexer: { noteSearch: () => undefined, rebuild: () => undefined },
            caches: createSearchCaches({ listsPassages: embedding !== null }),
          }),
          files: presentFiles({ files: storage.files, index: changed }),
        }),
      embed: (file) => embedNewPassages(embedding, file),
    },
  };
}
