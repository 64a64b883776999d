import { createArchive } from '../archive/archive.ts';
import { createContentSearch } from '../files/content-search.ts';
import { createFileLists } from '../files/file-lists.ts';
import { createTextSearch } from '../history/text-search.ts';
import { createReindex } from '../maintenance/reindex.ts';
import { createAccessLog } from '../telemetry/access-log.ts';
import { createContentsAudit } from '../telemetry/contents-audit.ts';
import { createObservability } from '../telemetry/observability.ts';
import { createTraces } from '../telemetry/traces.ts';
import type { Basis } from './basis.ts';
import type { Memory } from './memory.ts';
import { createChecks } from '../checks/checks.ts';
import type { Embedder } from '../contracts/embedder.ts';
import type { WhyNotRequest } from '../schemas/why-not.ts';
import { explainFile, toFindCall } from '../search/why-not.ts';
import type { SearchIndex } from './search-index.ts';
import type { Telemetry } from './telemetry.ts';
import type { UnloggedServices } from './tool-services.ts';

/** What only the admin's routes and commands use. */
export type AdminParts = ReturnType<typeof createAdminParts>;

/** Creates the admin's views of memory and of the log, and the archive. */
export function createAdminParts(
  { storage, settings, screening, log, ids, now }: Basis,
  deps: {
    telemetry: Pick<Telemetry, 'queue' | 'knownErasures'>;
    indexer: SearchIndex['indexer'];
    embeddings: SearchIndex['embeddings'];
    memory: Pick<Memory, 'files' | 'revisions'>;
    unlogged: UnloggedServices;
    embedder: Pick<Embedder, 'name' | 'model'> | null;
  },
) {
  const { queue } = deps.telemetry;
  const { files, revisions } = deps.memory;
  const observability = createObservability({
    storage,
    revisions,
    queue,
    sla: settings.sla,
    timeZone: settings.timeZone,
    screening,
    now,
  });
  return {
    checks: createChecks({
      ...deps.unlogged,
      storage,
      hygiene: (query) => observability.hygiene(query),
      timeZone: settings.timeZone,
      revisions,
      at: settings.checksAt,
      embedding: async () => (await deps.embeddings?.progress()) ?? null,
      embedder: deps.embedder === null ? null : `${deps.embedder.name} ${deps.embedder.model}`,
      latestErasure: () => deps.telemetry.knownErasures.latest(),
      record: (event) => queue.event(event),
      ids,
      log,
      now,
    }),
    explainFile: (request: WhyNotRequest) =>
      explainFile({ ...deps.unlogged, storage }, request, toFindCall(request.context)),
    fileLists: createFileLists({ storage, revisions, timeZone: settings.timeZone, now }),
    contentsAudit: createContentsAudit({ queue, ids, now, isOn: settings.auditReads }),
    searchContents: createContentSearch(storage),
    searchText: createTextSearch(storage),
    archive: createArchive({
      storage,
      files,
      revisions,
      limits: settings.limits,
      screening,
      ids,
      erasures: deps.telemetry.knownErasures,
      now,
    }),
    accessLog: createAccessLog(storage, queue),
    traces: createTraces(storage, queue, revisions),
    observability,
    reindex: createReindex({ storage, indexer: deps.indexer, ids, log }),
  };
}
