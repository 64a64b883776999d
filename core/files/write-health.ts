import type { LeaseStore } from '../contracts/storage.ts';
import { withDeadline } from '../time/deadline.ts';
import { type ErrorCode, MemoryError, toMemoryError } from '../errors.ts';

/** Whether the latest writes to the database succeeded. */
export interface WriteState {
  status: 'ok' | 'failing';
  /** Why writes fail: `STORAGE_UNAVAILABLE` or `STORAGE_FULL`. */
  code: ErrorCode | null;
}

/** Watches whether writes succeed, since a database may be readable but not writable. */
export interface WriteHealth {
  /** Records the outcome of a memory write or of a log batch; `null` for success. */
  note(kind: 'memory' | 'log', error: unknown): void;
  /** Returns the state; makes a test write first if the latest write is old. Never rejects. */
  check(): Promise<WriteState>;
}

const FAILURES: readonly ErrorCode[] = ['STORAGE_UNAVAILABLE', 'STORAGE_FULL'];
/** How long a failure counts if no write of its kind follows. */
const FAILURE_MS = 30_000;
/** A check makes a test write if the latest write is older than this. */
const FRESH_MS = 10_000;
/** Like `FRESH_MS`, while writes fail. */
const FAILING_FRESH_MS = 1_000;
/** A test write that takes longer counts as failing; it still continues. */
const PROBE_MS = 1_500;
const LEASE = 'write-probe';

/** Creates the watch; the first `check` makes a test write. */
export function createWriteHealth({ leases }: { leases: LeaseStore }): WriteHealth {
  const failures = new Map<'memory' | 'log' | 'probe', { code: ErrorCode; at: number }>();
  let latestAt = Number.NEGATIVE_INFINITY;
  let probing: Promise<void> | null = null;

  function note(kind: 'memory' | 'log' | 'probe', error: unknown): void {
    if (error === null) {
      failures.delete(kind);
      // Every write that succeeds shows what a test write would: the database takes writes.
      failures.delete('probe');
    } else {
      const { code } = toMemoryError(error);
      // Other errors are about the write, not the database.
      if (!FAILURES.includes(code)) return;
      failures.set(kind, { code, at: performance.now() });
    }
    latestAt = performance.now();
  }

  function state(): WriteState {
    const since = performance.now() - FAILURE_MS;
    const [failure] = [...failures.values()].filter(({ at }) => at > since);
    return failure === undefined
      ? { status: 'ok', code: null }
      : { status: 'failing', code: failure.code };
  }

  /** Overwrites one fixed row. */
  async function probe(): Promise<void> {
    probing ??= leases
      .claim(LEASE, LEASE, 1)
      .then(
        () => note('probe', null),
        (error: unknown) => note('probe', error),
      )
      .finally(() => (probing = null));
    const onLate = () => new MemoryError('STORAGE_UNAVAILABLE');
    await withDeadline(probing, PROBE_MS, onLate).catch((error: unknown) => note('probe', error));
  }

  return {
    note,
    async check() {
      const isFailing = failures.has('probe') || state().status === 'failing';
      const freshMs = isFailing ? FAILING_FRESH_MS : FRESH_MS;
      if (performance.now() - latestAt >= freshMs) await probe();
      return state();
    },
  };
}
