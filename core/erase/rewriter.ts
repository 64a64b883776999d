import type { DatabaseFileStatus, RewriteAnswer } from '../contracts/admin.ts';
import type { DatabaseFile, PendingReceipt } from '../contracts/erasure.ts';
import type { Logger } from '../contracts/logger.ts';
import type { AuditRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { writeAudit } from '../telemetry/audit.ts';
import { describeError } from '../describe-error.ts';
import { MemoryError, toMemoryError } from '../errors.ts';
import type { AdminAuthor } from '../files/admin-files.ts';
import type { IdSource } from '../ids/ids.ts';
import { readRows } from '../lists/page.ts';
import { toTime, toTimeOrNull } from '../time/time.ts';
import { listCopies } from './copies.ts';

/** What a receipt says is pending until the pages are written anew. */
export const DATABASE_FILE = 'database file';

/** Up to this size a rewriting takes less than a second, and a receipt waits for it. */
const AT_ONCE_BYTES = 32 * 1024 * 1024;
/** More rewritings in a minute would hold up the writes: the receipts of a long row share later ones. */
const AT_ONCE_RUNS = 10;
const AT_ONCE_WINDOW_MS = 60_000;
/** A larger file waits for a pause in the writes that is as long as the rewriting may take. */
const BYTES_PER_MS = 50_000;
const LEAST_PAUSE_MS = 2_000;
const MOST_PAUSE_MS = 60_000;
/** When a rewriting no longer waits for a pause, and until when it is promised. */
const LATEST_MS = 12 * 60 * 60 * 1000;
const PROMISED_MS = 24 * 60 * 60 * 1000;
/** How long readers may keep the log from being emptied: for a receipt that waits, and otherwise. */
const LOG_AT_ONCE_MS = 2_000;
const LOG_MS = 10_000;
/** The pauses between two looks: while a receipt waits, after a failure, and while none waits. */
const LOOK_MS = 2_000;
const FAILED_MS = 30_000;
const IDLE_MS = 10 * 60 * 1000;
/** The most receipts of earlier versions that are taken over. */
const MOST_ADOPTED = 1_000;

/** The keys of `svc_config` about the file; the storage has others for each receipt that waits. */
const KEYS = 'database_file_';
const REWRITTEN = 'database_file_rewritten';

const LOG_IN_USE =
  'The pages are rewritten, and readers keep the log, with the pages of before, from being emptied: end long reads of the file by other programs.';

/** Rewrites the database file after erasures and redactions. */
export interface Rewriter {
  /**
   * What the receipt that was just given has to say is pending: nothing if the file could be rewritten
   * at once. Never rejects: what is pending is done later.
   */
  settle(): Promise<string[]>;
  /** Rewrites the file now, whatever waits. */
  rewrite(
    caller: AdminAuthor,
    progress?: (done: number, total: number) => void,
  ): Promise<RewriteAnswer>;
  /** `null` for a database that is not a file. */
  status(): Promise<DatabaseFileStatus | null>;
  /** Goes on with what other processes have left pending. */
  start(): Promise<void>;
  /** Waits for the rewriting under way. */
  stop(): Promise<void>;
}

/** Creates what rewrites the file of a storage. */
export function createRewriter(deps: {
  storage: Storage;
  ids: IdSource;
  log: Logger;
  now: () => number;
}): Rewriter {
  const { storage, log, now } = deps;
  const file: DatabaseFile | null = storage.erasure?.file ?? null;
  let timer: NodeJS.Timeout | undefined;
  let isStarted = false;
  let isStopped = false;
  let running: Promise<void> | null = null;
  let done = 0;
  let lastFailure: string | null = null;
  /** The failure that was logged: a disk that stays full is told once. */
  let logged: string | null = null;
  /** When the last rewritings began that a receipt waited for, oldest first. */
  const atOnce: number[] = [];
  /** The receipts since whose commit the pages were rewritten, while the log is not empty yet. */
  let rewritten: ReadonlySet<string> = new Set();

  /** Rewrites the file, unless that was done for all receipts that wait, and empties the log. */
  async function work(
    store: DatabaseFile,
    options: {
      isAsked: boolean;
      logMs: number;
      progress?: ((done: number, total: number) => void) | undefined;
    },
  ): Promise<void> {
    const receipts = await store.pending();
    if (receipts.length === 0 && !options.isAsked) return;
    if (options.isAsked || !receipts.every(({ id }) => rewritten.has(id))) {
      const began = performance.now();
      await store.rewrite((part, total) => {
        done = part;
        options.progress?.(part, total);
      });
      rewritten = new Set(receipts.map(({ id }) => id));
      const ms = Math.round(performance.now() - began);
      log.info({ ms, receipts: receipts.length }, 'the database file was rewritten');
    }
    if (!(await store.emptyLog(options.logMs))) {
      throw new MemoryError('STORAGE_UNAVAILABLE', LOG_IN_USE, { retryAfterSeconds: 30 });
    }
    const at = now();
    await store.settle(receipts, (row) => toSettled(row, at));
    await storage.config.set({ [REWRITTEN]: { at } }, null);
    rewritten = new Set();
  }

  /** One rewriting at a time. One that began before a receipt does not count for it. */
  async function run(store: DatabaseFile, options: Parameters<typeof work>[1]): Promise<void> {
    while (running !== null) await running.catch(() => undefined);
    if (isStopped) throw new MemoryError('SHUTTING_DOWN');
    done = 0;
    running = work(store, options).finally(() => (running = null));
    try {
      await running;
      lastFailure = null;
      logged = null;
    } catch (error) {
      lastFailure = toMemoryError(error).message;
      throw error;
    }
  }

  function isCheap(bytes: number): boolean {
    const first = atOnce.length < AT_ONCE_RUNS ? undefined : atOnce[0];
    const isOften = first !== undefined && performance.now() - first < AT_ONCE_WINDOW_MS;
    return bytes <= AT_ONCE_BYTES && !isOften;
  }

  function schedule(store: DatabaseFile, ms: number): void {
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(() => void look(store), ms).unref();
  }

  async function look(store: DatabaseFile): Promise<void> {
    try {
      const [oldest] = await store.pending();
      if (oldest === undefined) {
        if (isStarted) schedule(store, IDLE_MS);
        return;
      }
      if (await isTime(store, oldest)) await run(store, { isAsked: false, logMs: LOG_MS });
      schedule(store, LOOK_MS);
    } catch (error) {
      warn(error);
      schedule(store, FAILED_MS);
    }
  }

  async function isTime(store: DatabaseFile, { at }: PendingReceipt): Promise<boolean> {
    const { bytes, idleMs } = await store.look();
    const pauseMs = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, bytes / BYTES_PER_MS));
    return bytes <= AT_ONCE_BYTES || idleMs >= pauseMs || now() - at >= LATEST_MS;
  }

  function warn(error: unknown): void {
    const { code, message } = toMemoryError(error);
    if (isStopped || message === logged) return;
    logged = message;
    log.warn({ code, error: describeError(error) }, 'the database file waits to be rewritten');
  }

  /** Receipts of versions that did not know that something can be left. */
  async function adoptEarlier(store: DatabaseFile): Promise<void> {
    const known = await storage.config.entries(KEYS);
    if (Object.keys(known).length > 0) return;
    const found: PendingReceipt[] = [];
    for (const action of ['users.erase', 'revisions.redact']) {
      for await (const row of readRows((page) => storage.audit.list({ action }, page))) {
        if (row.details['step'] === 'begin') continue;
        if (found.push({ id: row.id, at: row.at }) >= MOST_ADOPTED) break;
      }
    }
    await store.adopt(found);
    await storage.config.set({ [REWRITTEN]: { at: null } }, null);
  }

  return {
    async settle() {
      if (file === null) return [];
      try {
        const { bytes } = await file.look();
        if (isCheap(bytes)) {
          atOnce.push(performance.now());
          if (atOnce.length > AT_ONCE_RUNS) atOnce.shift();
          await run(file, { isAsked: false, logMs: LOG_AT_ONCE_MS });
        } else {
          // Most of what was removed is in the log.
          await file.emptyLog(LOG_AT_ONCE_MS);
        }
      } catch (error) {
        warn(error);
      }
      const waiting = await file.pending().catch(() => [null]);
      if (waiting.length === 0) return [];
      schedule(file, lastFailure === null ? LOOK_MS : FAILED_MS);
      return [DATABASE_FILE];
    },

    async rewrite({ address, traceId }, progress) {
      if (file === null) {
        throw new MemoryError(
          'INVALID_REQUEST',
          `A ${storage.name} database is not a file: use its own tools, as in OPTIMIZE TABLE.`,
        );
      }
      const before = (await file.look()).bytes;
      await run(file, { isAsked: true, logMs: LOG_MS, progress });
      const { bytes } = await file.look();
      const entry = { action: 'memory.vacuum', target: 'all', details: { before, bytes } };
      await writeAudit(deps, { ...entry, address, traceId });
      return { before, bytes };
    },

    async status() {
      if (file === null) return null;
      const [{ bytes }, waiting, known, copies] = await Promise.all([
        file.look(),
        file.pending(),
        storage.config.entries(REWRITTEN),
        listCopies(storage),
      ]);
      const since = waiting[0]?.at ?? null;
      return {
        state: running !== null ? 'rewriting' : since === null ? 'clean' : 'pending',
        receipts: waiting.length,
        since: toTimeOrNull(since),
        until: toTimeOrNull(since === null ? null : since + PROMISED_MS),
        bytes,
        rewrittenBytes: running === null ? 0 : done,
        lastFailure: since === null ? null : lastFailure,
        rewrittenAt: toTimeOrNull(readAt(known[REWRITTEN])),
        copies,
      };
    },

    async start() {
      isStopped = false;
      isStarted = true;
      if (file === null) return;
      try {
        await adoptEarlier(file);
      } catch (error) {
        warn(error);
      }
      schedule(file, LOOK_MS);
    },

    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running?.catch(() => undefined);
    },
  };
}

/** The audit row of a receipt whose content is gone from the file. */
function toSettled(row: AuditRecord, at: number): AuditRecord {
  // An erasure of the user may have taken what the row says.
  if (row.details['erased'] === true) return row;
  const details = { ...row.details, pending: [], rewrittenAt: toTime(at) };
  return { ...row, details };
}

/** When the file was rewritten last; `null` if it never was, or the value is damaged. */
function readAt(value: unknown): number | null {
  const at = (value as { at?: unknown } | null | undefined)?.at;
  return typeof at === 'number' ? at : null;
}
