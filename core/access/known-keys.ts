import type { ApiKey, KeyRecord, Operator } from '../contracts/access.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { isKey, toPrefix } from './key-text.ts';

/** How often an instance looks at what changed, so that a revoked key is refused within a second. */
const LOOK_MS = 500;
/** An older list is read again before a key of it counts: the process may have slept. */
const STALE_MS = 5_000;

/** Who presented a key. */
interface Holders {
  tools: ApiKey;
  admin: Operator;
}

/** The named keys, as this instance knows them. */
export interface KnownKeys {
  /**
   * Who presents a key of the kind; `null` for a text that is no valid key. It answers at once, without
   * the database, unless the list is old or does not have the key: another instance may have made it.
   * Then all that wait share one look, and it rejects with `STORAGE_UNAVAILABLE` if that fails.
   */
  find<K extends keyof Holders>(
    kind: K,
    presented: string,
  ): Holders[K] | null | Promise<Holders[K] | null>;
  /** All keys, by id, also those that are over. */
  list(): readonly KeyRecord[];
  /** The number of the last change that the list has. */
  generation(): number;
  look(): Promise<void>;
  /** A look that begins now: after a change that has been committed. `isWhole` reads all keys anew. */
  lookAgain(options?: { isWhole: boolean }): Promise<void>;
  stop(): void;
}

/** Creates the list of keys of a storage. It looks at the changes of other instances once it has keys. */
export function createKnownKeys({
  storage,
  ready,
  now,
}: {
  storage: Pick<Storage, 'keys' | 'filename'>;
  /** Resolves once storage is open. */
  ready: () => Promise<void>;
  now: () => number;
}): KnownKeys {
  /** Other instances may serve the same database, unless it is a file. */
  const isShared = storage.filename === undefined;
  const keys = createKeyList(now);
  let generation: number | null = null;
  /** As `generation`; `null` to read all keys. */
  let known: number | null = null;
  /** By both clocks: each of them stands still in some kinds of sleep. */
  let lookedAt = { ticks: Number.NEGATIVE_INFINITY, time: Number.NEGATIVE_INFINITY };
  let looking: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function read(): Promise<void> {
    const startedAt = { ticks: performance.now(), time: now() };
    const found = await storage.keys.look(known);
    known = generation = found.generation;
    lookedAt = startedAt;
    if (found.keys !== null) keys.take(found.keys);
    if (!isShared || isStopped || keys.all().length === 0) return stopTimer();
    timer ??= setInterval(() => void look().catch(() => undefined), LOOK_MS).unref();
  }

  function look(): Promise<void> {
    looking ??= read().finally(() => (looking = null));
    return looking;
  }

  async function lookAgain({ isWhole } = { isWhole: false }): Promise<void> {
    await looking?.catch(() => undefined);
    if (isWhole) known = null;
    await look();
  }

  function stopTimer(): void {
    clearInterval(timer);
    timer = undefined;
  }

  function isStale(): boolean {
    if (generation === null) return true;
    if (!isShared) return false;
    return (
      performance.now() - lookedAt.ticks > STALE_MS || Math.abs(now() - lookedAt.time) > STALE_MS
    );
  }

  async function findLater(prefix: string, presented: string) {
    await ready();
    try {
      await (isStale() || isShared ? lookAgain() : undefined);
    } catch (cause) {
      throw new MemoryError('STORAGE_UNAVAILABLE', 'The keys cannot be checked now.', { cause });
    }
    return keys.find(prefix, presented) ?? null;
  }

  return {
    find<K extends keyof Holders>(kind: K, presented: string) {
      const prefix = toPrefix(kind, presented);
      if (prefix === null) return null;
      const found = isStale() ? undefined : keys.find(prefix, presented);
      if (found === undefined && (isStale() || isShared)) {
        return findLater(prefix, presented).then((later) => toHolderOf(kind, later));
      }
      return toHolderOf(kind, found ?? null);
    },
    list: () => keys.all(),
    generation: () => generation ?? 0,
    look,
    lookAgain,
    stop() {
      isStopped = true;
      stopTimer();
    },
  };
}

/** A key, and who presents it. */
interface Found {
  key: KeyRecord;
  holder: ApiKey | Operator;
}

/** Keys by the part of them that is stored as it is. */
function createKeyList(now: () => number) {
  let keys: readonly KeyRecord[] = [];
  let byPrefix = new Map<string, Found & { isPrevious: boolean }>();
  return {
    all: () => keys,
    take(found: readonly KeyRecord[]): void {
      keys = found;
      byPrefix = new Map();
      for (const key of found) {
        const holder = toHolder(key);
        byPrefix.set(key.prefix, { key, holder, isPrevious: false });
        const { previousPrefix } = key;
        if (previousPrefix !== null) {
          byPrefix.set(previousPrefix, { key, holder, isPrevious: true });
        }
      }
    },
    /** `null` for a key that is over or not the whole one, `undefined` for one that is not listed. */
    find(prefix: string, presented: string): Found | null | undefined {
      const listed = byPrefix.get(prefix);
      if (listed === undefined) return undefined;
      const { key, holder, isPrevious } = listed;
      const kept = isPrevious ? key.previousHash : key.hash;
      const until = isPrevious ? key.previousUntil : null;
      const isOver = [key.expiresAt, until].some((end) => end !== null && end <= now());
      return kept !== null && isKey(presented, kept) && !isOver ? { key, holder } : null;
    },
  };
}

function toHolder({ id, name, kind, rules }: KeyRecord): ApiKey | Operator {
  return kind === 'tools' ? { ...rules, id, name } : { ...rules, name };
}

function toHolderOf<K extends keyof Holders>(kind: K, found: Found | null): Holders[K] | null {
  return found?.key.kind === kind ? (found.holder as Holders[K]) : null;
}
