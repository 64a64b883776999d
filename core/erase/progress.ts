import type { ErasedReader } from '../contracts/admin.ts';
import type { ErasureStore, RowCounts } from '../contracts/erasure.ts';
import type { HoldRecord } from '../contracts/records.ts';

/** Rows that one transaction removes. */
const BATCH_ROWS = 500;

/** What is kept of an erasure while it lasts. */
export interface Progress {
  startedAt: number;
  /** When an erasure of the user ended before this one; `null` if none did. */
  erasedBefore: number | null;
  chainHead: string | null;
  /** `null` until they were looked for. */
  readers: {
    readers: ErasedReader[];
    isComplete: boolean;
    /** Spaces that the user wrote in; absent in holds of before. */
    spaces?: string[];
  } | null;
  tables: RowCounts;
  auditRows: number;
  /** Whether the copies beside the database go, too. */
  removeCopies: boolean;
}

/** What the progress of an erasure needs. */
interface ProgressOptions {
  erasure: ErasureStore;
  hold: HoldRecord;
  now: () => number;
  /** Called before each transaction. */
  checkRunning: () => void;
}

/** An erasure under way, whose progress stands in its hold. */
export class ErasureProgress {
  readonly #options: ProgressOptions;
  #state: Progress;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#state = toProgress(options.hold);
  }

  get state(): Progress {
    return this.#state;
  }

  async save(next: Partial<Progress>): Promise<void> {
    await this.#erase(0, () => next);
    this.#state = { ...this.#state, ...next };
  }

  /** Removes a batch of rows in one transaction. Returns whether there were any. */
  async removeBatch(): Promise<boolean> {
    const before = this.#state.tables;
    const removed = await this.#erase(BATCH_ROWS, (counts) => ({
      tables: addCounts(before, counts),
    }));
    this.#state = { ...this.#state, tables: addCounts(before, removed) };
    return Object.keys(removed).length > 0;
  }

  #erase(limit: number, next: (removed: RowCounts) => Partial<Progress>): Promise<RowCounts> {
    const { erasure, hold, now, checkRunning } = this.#options;
    checkRunning();
    return erasure.erase(hold, {
      limit,
      progress: (removed) => ({
        ...hold,
        progressAt: now(),
        details: { ...this.#state, ...next(removed) },
      }),
    });
  }
}

function toProgress({ details, progressAt }: HoldRecord): Progress {
  const none = { erasedBefore: null, chainHead: null, readers: null, tables: {}, auditRows: 0 };
  return { startedAt: progressAt, ...none, removeCopies: false, ...details };
}

/** Adds the rows of each table. */
export function addCounts(one: RowCounts, other: RowCounts): RowCounts {
  const total: Record<string, number> = { ...one };
  for (const [table, rows] of Object.entries(other)) total[table] = (total[table] ?? 0) + rows;
  return total;
}
