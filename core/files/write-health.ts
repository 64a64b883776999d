import type { LeaseStore } from '../contracts/storage.ts';
import { withDeadline } from '../deadline.ts';
import { type ErrorCode, MemoryError, toMemoryError } from '../errors.ts';

/** Whether the database takes writes, by the latest of them. */
export interface WriteState {
  status: 'ok' | 'failing';
  /** Why they fail: `STORAGE_UNAVAILABLE`, or `STORAGE_FULL`. */
  code: ErrorCode | null;
}

/** Tells whether writes go on: a database may be read that takes none. */
export interface WriteHealth {
  /** Told the outcome of each write of memory, and of each batch of the log; `null` for success. */
  note(kind: 'memory' | 'log', error: unknown): void;
  /** What is known; a write of its own tells where the latest one is old. Never rejects. */
  check(): Promise<WriteState>;
}

const FAILURES: readonly ErrorCode[] = ['STORAGE_UNAVAILABLE', 'STORAGE_FULL'];
/** So long a failure counts that no later write of its kind has followed. */
const FAILURE_MS = 30_000;
/** How old the latest write may be: an idle instance that is asked makes one write in that time. */
const FRESH_MS = 10_000;
/** The same while writes fail. */
const FAILING_FRESH_MS = 1_000;
/** What takes longer is told as failing, and goes on. */
const PROBE_MS = 1_500;
const LEASE = 'write-probe';

/** Knows nothing yet: the first `check` writes. */
export function createWriteHealth({ leases }: { leases: LeaseStore }): WriteHealth {
  const failures = new Map<'memory' | 'log' | 'probe', { code: ErrorCode; at: number }>();
  let latestAt = Number.NEGATIVE_INFINITY;
  let probing: Promise<void> | null = null;

  function note(kind: 'memory' | 'log' | 'probe', error: unknown): void {
    if (error === null) failures.delete(kind);
    else {
      const { code } = toMemoryError(error);
      // The others say something about the write, not about the database.
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

  /** Writes one row, always the same, whatever it held. */
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
