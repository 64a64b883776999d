import type { DatabaseFileStatus, RewriteAnswer } from '../contracts/admin.ts';
import type { DatabaseFile, PendingReceipt } from '../contracts/erasure.ts';
import type { Logger } from '../contracts/logger.ts';
import type { Storage } from '../contracts/storage.ts';
import { writeAudit } from '../telemetry/audit.ts';
import { MemoryError } from '../errors.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type { IdSource } from '../ids/ids.ts';
import { readRows } from '../lists/page.ts';
import { toTimeOrNull } from '../time/time.ts';
import { listCopies } from './copies.ts';
import { AT_ONCE_BYTES, LOG_MS, RewriteSchedule } from './rewrite-schedule.ts';
import { REWRITTEN, Rewriting } from './rewriting.ts';

/** What a receipt says is pending until the pages are written anew. */
export const DATABASE_FILE = 'database file';

/** More rewritings in a minute would hold up the writes: the receipts of a long row share later ones. */
const AT_ONCE_RUNS = 10;
const AT_ONCE_WINDOW_MS = 60_000;
/** How long readers may keep the log from being emptied while a receipt waits for it. */
const LOG_AT_ONCE_MS = 2_000;
/** Until when a rewriting is promised. */
const PROMISED_MS = 24 * 60 * 60 * 1000;
/** The most receipts of earlier versions that are taken over. */
const MOST_ADOPTED = 1_000;

/** The keys of `svc_config` about the file; the storage has others for each receipt that waits. */
const KEYS = 'database_file_';

/** Rewrites the database file after erasures and redactions. */
export interface Rewriter {
  /**
   * What the receipt that was just given has to say is pending: nothing if the file could be rewritten
   * at once. Never rejects: what is pending is done later.
   */
  settle(): Promise<string[]>;
  /** Rewrites the file now, whatever waits. */
  rewrite(
    caller: AuditCaller,
    progress?: (done: number, total: number) => void,
  ): Promise<RewriteAnswer>;
  /** `null` for a database that is not a file. */
  status(): Promise<DatabaseFileStatus | null>;
  /** Goes on with what other processes have left pending. */
  start(): Promise<void>;
  /** Waits for the rewriting under way. */
  stop(): Promise<void>;
}

/** What a rewriter needs. */
interface RewriterParts {
  storage: Storage;
  ids: IdSource;
  log: Logger;
  now: () => number;
}

/** Creates what rewrites the file of a storage. */
export function createRewriter(deps: RewriterParts): Rewriter {
  const file = deps.storage.erasure?.file;
  return file === undefined ? withoutFile(deps.storage) : createFileRewriter(file, deps);
}

/** For a database that is a server with files of its own. */
function withoutFile({ name }: Storage): Rewriter {
  return {
    settle: () => Promise.resolve([]),
    rewrite: () =>
      Promise.reject(
        new MemoryError(
          'INVALID_REQUEST',
          `A ${name} database is not a file: use its own tools, as in OPTIMIZE TABLE.`,
        ),
      ),
    status: () => Promise.resolve(null),
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}

function createFileRewriter(file: DatabaseFile, deps: RewriterParts): Rewriter {
  const { storage } = deps;
  const rewriting = new Rewriting(file, deps);
  const schedule = new RewriteSchedule(file, rewriting, deps.now);
  const isOften = createLimit();
  return {
    async settle() {
      try {
        const { bytes } = await file.look();
        // Otherwise most of what was removed is in the log.
        if (bytes > AT_ONCE_BYTES || isOften()) await file.emptyLog(LOG_AT_ONCE_MS);
        else await rewriting.run({ isAsked: false, logMs: LOG_AT_ONCE_MS });
      } catch (error) {
        rewriting.warn(error);
      }
      const waiting = await file.pending().catch(() => [null]);
      if (waiting.length === 0) return [];
      schedule.next();
      return [DATABASE_FILE];
    },

    async rewrite(caller, progress) {
      const before = (await file.look()).bytes;
      await rewriting.run({ isAsked: true, logMs: LOG_MS, progress });
      const { bytes } = await file.look();
      const entry = { action: 'memory.vacuum', target: 'all', details: { before, bytes } };
      await writeAudit(deps, { ...entry, ...caller });
      return { before, bytes };
    },

    status: () => readStatus(file, storage, rewriting),

    async start() {
      rewriting.start();
      try {
        await adoptEarlier(file, storage);
      } catch (error) {
        rewriting.warn(error);
      }
      schedule.start();
    },

    async stop() {
      schedule.stop();
      await rewriting.stop();
    },
  };
}

/** Counts rewritings that a receipt waits for, and tells whether there were too many in a minute. */
function createLimit(): () => boolean {
  const begun: number[] = [];
  return () => {
    const now = performance.now();
    const first = begun.length < AT_ONCE_RUNS ? undefined : begun[0];
    if (first !== undefined && now - first < AT_ONCE_WINDOW_MS) return true;
    begun.push(now);
    if (begun.length > AT_ONCE_RUNS) begun.shift();
    return false;
  };
}

async function readStatus(
  file: DatabaseFile,
  storage: Storage,
  rewriting: Rewriting,
): Promise<DatabaseFileStatus> {
  const [{ bytes }, waiting, known, copies] = await Promise.all([
    file.look(),
    file.pending(),
    storage.config.entries(REWRITTEN),
    listCopies(storage),
  ]);
  const since = waiting[0]?.at ?? null;
  const { done, lastFailure } = rewriting;
  return {
    state: done !== null ? 'rewriting' : since === null ? 'clean' : 'pending',
    receipts: waiting.length,
    since: toTimeOrNull(since),
    until: toTimeOrNull(since === null ? null : since + PROMISED_MS),
    bytes,
    rewrittenBytes: done ?? 0,
    lastFailure: since === null ? null : lastFailure,
    rewrittenAt: toTimeOrNull(readAt(known[REWRITTEN])),
    copies,
  };
}

/** Receipts of versions that did not know that something can be left. */
async function adoptEarlier(file: DatabaseFile, storage: Storage): Promise<void> {
  const known = await storage.config.entries(KEYS);
  if (Object.keys(known).length > 0) return;
  const found: PendingReceipt[] = [];
  for (const action of ['users.erase', 'revisions.redact']) {
    for await (const row of readRows((page) => storage.audit.list({ action }, page))) {
      if (row.details['step'] === 'begin') continue;
      if (found.push({ id: row.id, at: row.at }) >= MOST_ADOPTED) break;
    }
  }
  await file.adopt(found);
  await storage.config.set({ [REWRITTEN]: { at: null } }, null);
}

/** When the file was rewritten last; `null` if it never was, or the value is damaged. */
function readAt(value: unknown): number | null {
  const at = (value as { at?: unknown } | null | undefined)?.at;
  return typeof at === 'number' ? at : null;
}
