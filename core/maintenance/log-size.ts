import type { Logger } from '../contracts/logger.ts';
import type { Storage } from '../contracts/storage.ts';
import { describeError } from '../describe-error.ts';
import type { AccessLogSize } from '../schemas/status.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** A month of the figures. */
const MONTH_DAYS = 30;
/** One year, and a month to look back from its end. */
const RECOMMENDED_DAYS = 400;
/** Rows that are counted: more than a gigabyte of them. */
const MOST_ROWS = 4_000_000;
/**
 * What a row takes beside its texts, with its part of the indexes: measured in SQLite, with 8,000 reads, of
 * which each took 346 bytes with 35 bytes of text.
 */
const ROW_BYTES = 311;
/** How long figures are answered again. */
const FRESH_MS = 10 * 60 * 1000;
/** From this size on, an operator should decide how long the log is kept. */
const LARGE_BYTES = 1024 ** 3;
/** The setting that says that it was told. */
const TOLD = 'service_access_log_told';

/** The size of the access log, and what an operator should know of it. */
export interface LogSize {
  /** Reads the figures, at most every ten minutes. */
  read(): Promise<AccessLogSize>;
  /**
   * Tells in the log that the access log has become large: once for each database, and only where it is
   * kept for ever. Never rejects.
   */
  tellOnce(options?: { largeBytes?: number }): Promise<void>;
}

/** Creates what looks at the size of the access log. */
export function createLogSize({
  storage,
  days,
  log,
  now,
}: {
  storage: Pick<Storage, 'log' | 'config'>;
  /** How long rows are kept; 0 for ever. */
  days: number;
  log: Logger;
  now: () => number;
}): LogSize {
  let last: { at: number; size: Promise<AccessLogSize> } | null = null;

  async function measure(): Promise<AccessLogSize> {
    const options = { since: now() - MONTH_DAYS * DAY_MS, limit: MOST_ROWS };
    const { rows, recent, textBytes } = await storage.log.measureAccess(options);
    const bytesOf = (count: number) => Math.round(count * (ROW_BYTES + textBytes));
    return {
      days,
      recommendedDays: RECOMMENDED_DAYS,
      rows,
      bytes: bytesOf(rows),
      bytesAMonth: bytesOf(recent),
    };
  }

  function read(): Promise<AccessLogSize> {
    if (last !== null && Math.abs(now() - last.at) < FRESH_MS) return last.size;
    const begun = { at: now(), size: measure() };
    last = begun;
    begun.size.catch(() => {
      if (last === begun) last = null;
    });
    return begun.size;
  }

  return {
    read,
    async tellOnce({ largeBytes = LARGE_BYTES } = {}) {
      if (days > 0) return;
      try {
        const told = await storage.config.entries(TOLD);
        if (TOLD in told) return;
        const { bytes, bytesAMonth, recommendedDays } = await read();
        if (bytes < largeBytes) return;
        const own = now();
        // Another instance may tell it at the same time.
        if ((await storage.config.setIfAbsent(TOLD, own)) !== own) return;
        log.warn(
          { bytes, bytesAMonth, recommendedDays },
          'the access log is large and kept for ever: SERVICE_RETENTION_ACCESS_LOG_DAYS limits it',
        );
      } catch (error) {
        log.debug({ error: describeError(error) }, 'the size of the access log is not known');
      }
    },
  };
}
