import { createSpaces } from '../access/space-settings.ts';
import { createErasures } from '../erase/erase.ts';
import { createRewriter } from '../erase/rewriter.ts';
import { createFiles } from '../files/files.ts';
import { createFreezes } from '../files/freezes.ts';
import { createIdempotency } from '../files/idempotency.ts';
import { createRestores } from '../history/restore.ts';
import { createRevisions } from '../history/revisions.ts';
import { createLogSize } from '../maintenance/log-size.ts';
import { createRetention } from '../maintenance/retention.ts';
import type { Basis } from './basis.ts';
import type { SearchIndex } from './search-index.ts';
import type { Telemetry } from './telemetry.ts';

/** What reads and changes memory and its history, and what removes from it. */
export type Memory = ReturnType<typeof createMemory>;

/** Connects files and their history with the log and the index. */
export function createMemory(
  { storage, settings, screening, log, ids, now, confirmedNow }: Basis,
  deps: {
    telemetry: Pick<Telemetry, 'queue' | 'writeHealth' | 'knownErasures'>;
    indexer: SearchIndex['indexer'];
    erasureLookMs: number | undefined;
  },
) {
  const { queue: accessQueue, writeHealth: health, knownErasures } = deps.telemetry;
  const idempotency = createIdempotency({ storage, now, confirmedNow });
  const files = createFiles({
    storage,
    limits: settings.limits,
    screening,
    sharedWrites: settings.sharedWrites,
    timeZone: settings.timeZone,
    now,
    confirmedNow,
    ids,
    accessQueue,
    erasures: knownErasures,
    indexer: deps.indexer,
    health,
    idempotency,
  });
  const rewriter = createRewriter({ storage, ids, log, now });
  const revisions = createRevisions({
    storage,
    files,
    ids,
    accessQueue,
    now,
    rewriter,
    indexer: deps.indexer,
    erasures: knownErasures,
  });
  const restores = createRestores({
    storage,
    files,
    revisions,
    erasures: knownErasures,
    log,
    now,
  });
  const erasures = createErasures({
    storage,
    ids,
    accessQueue,
    rewriter,
    known: knownErasures,
    log,
    now,
    lookMs: deps.erasureLookMs,
  });
  const spaces = createSpaces({ storage, ids, now });
  const freezes = createFreezes({ storage, known: knownErasures, ids, now });
  const logSize = createLogSize({ storage, days: settings.retention.accessLogDays, log, now });
  const retention = createRetention({
    storage,
    settings: settings.retention,
    now: confirmedNow,
    ids,
    log,
  });
  return {
    files,
    idempotency,
    rewriter,
    revisions,
    restores,
    erasures,
    spaces,
    freezes,
    retention,
    logSize,
  };
}
