import type { DatabaseFile } from '../contracts/erasure.ts';
import type { Logger } from '../contracts/logger.ts';
import type { AuditRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { describeError } from '../describe-error.ts';
import { MemoryError, toMemoryError } from '../errors.ts';
import { toTime } from '../time/time.ts';

/** The setting with the time of the last rewriting. */
export const REWRITTEN = 'database_file_rewritten';

const LOG_IN_USE =
  'The pages are rewritten, and readers keep the log, with the pages of before, from being emptied: end long reads of the file by other programs.';

/** How the file is rewritten. */
export interface RewriteOptions {
  /** Whether it is rewritten although no receipt waits. */
  isAsked: boolean;
  /** How long readers may keep the log from being emptied, in milliseconds. */
  logMs: number;
  progress?: ((done: number, total: number) => void) | undefined;
}

/** The parts that rewriting the file needs. */
export interface RewriteParts {
  storage: Pick<Storage, 'config'>;
  log: Logger;
  now: () => number;
}

/** Rewrites the file of a database, one rewriting at a time. */
export class Rewriting {
  readonly #file: DatabaseFile;
  readonly #deps: RewriteParts;
  #isStopped = false;
  #running: Promise<void> | null = null;
  #done = 0;
  #lastFailure: string | null = null;
  /** The failure that was logged. */
  #logged: string | null = null;
  /** The receipts since whose commit the pages were rewritten, while the log is not empty yet. */
  #rewritten: ReadonlySet<string> = new Set();

  constructor(file: DatabaseFile, deps: RewriteParts) {
    this.#file = file;
    this.#deps = deps;
  }

  /** The bytes that the rewriting under way has done; `null` if none is. */
  get done(): number | null {
    return this.#running === null ? null : this.#done;
  }

  get lastFailure(): string | null {
    return this.#lastFailure;
  }

  /** Rewrites the file. A rewriting that began before a receipt does not count for it. */
  async run(options: RewriteOptions): Promise<void> {
    while (this.#running !== null) await this.#running.catch(() => undefined);
    if (this.#isStopped) throw new MemoryError('SHUTTING_DOWN');
    this.#done = 0;
    this.#running = this.#rewrite(options).finally(() => (this.#running = null));
    try {
      await this.#running;
      this.#lastFailure = null;
      this.#logged = null;
    } catch (error) {
      this.#lastFailure = toMemoryError(error).message;
      throw error;
    }
  }

  /** Logs why receipts wait. A disk that stays full is told once. */
  warn(error: unknown): void {
    const { code, message } = toMemoryError(error);
    if (this.#isStopped || message === this.#logged) return;
    this.#logged = message;
    const details = { code, error: describeError(error) };
    this.#deps.log.warn(details, 'the database file waits to be rewritten');
  }

  start(): void {
    this.#isStopped = false;
  }

  /** Waits for the rewriting under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running?.catch(() => undefined);
  }

  /** Rewrites the file, unless that was done for all receipts that wait, and empties the log. */
  async #rewrite({ isAsked, logMs, progress }: RewriteOptions): Promise<void> {
    const { storage, log, now } = this.#deps;
    const receipts = await this.#file.pending();
    if (receipts.length === 0 && !isAsked) return;
    if (isAsked || !receipts.every(({ id }) => this.#rewritten.has(id))) {
      const began = performance.now();
      await this.#file.rewrite((part, total) => {
        this.#done = part;
        progress?.(part, total);
      });
      this.#rewritten = new Set(receipts.map(({ id }) => id));
      const ms = Math.round(performance.now() - began);
      log.info({ ms, receipts: receipts.length }, 'the database file was rewritten');
    }
    if (!(await this.#file.emptyLog(logMs))) {
      throw new MemoryError('STORAGE_UNAVAILABLE', LOG_IN_USE, { retryAfterSeconds: 30 });
    }
    const at = now();
    await this.#file.settle(receipts, (row) => toSettled(row, at));
    await storage.config.set({ [REWRITTEN]: { at } }, null);
    this.#rewritten = new Set();
  }
}

/** The audit row of a receipt whose content is gone from the file. */
function toSettled(row: AuditRecord, at: number): AuditRecord {
  // An erasure of the user may have taken what the row says.
  if (row.details['erased'] === true) return row;
  const details = { ...row.details, pending: [], rewrittenAt: toTime(at) };
  return { ...row, details };
}
