import type { FileState, ScopeKey } from '../../../core/contracts/records.ts';
import type { IndexedScope, Storage } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import { emptyScope } from '../../support/empty-scope.ts';

type WholeStorage = Omit<Required<Storage>, 'driver' | 'filename'>;

/**
 * Keeps nothing, and answers each call with the emptiest value that its type allows. Lists are
 * empty, a lease is always free, a decision is made on memory that is empty and then dropped.
 */
export function emptyStorage(): WholeStorage {
  const page = () => Promise.resolve({ items: [], next: null });
  const list = () => Promise.resolve([]);
  const nothing = () => Promise.resolve(null);
  const none = () => Promise.resolve(0);
  const done = () => Promise.resolve();
  return {
    contractVersion: 2,
    name: 'empty',
    init: done,
    close: done,
    ping: done,
    noteDamage: () => undefined,
    doubtMs: () => 0,
    liftDamage: () => undefined,
    describe: () =>
      Promise.resolve({
        name: 'empty',
        driver: 'none',
        version: '1.0',
        schemaVersion: 1,
        settings: {},
      }),
    mutate: async (_request, decide) => {
      await Promise.resolve();
      const current = { scope: emptyScope, file: (): FileState | null => null, idempotency: null };
      return decide(current).result;
    },
    files: {
      read: nothing,
      get: nothing,
      list,
      listAll: page,
      getListing: nothing,
      listFolder: page,
      listUsers: page,
      countBehind: none,
    },
    revisions: {
      get: nothing,
      list: page,
      chain: nothing,
      steps: list,
      ofVersion: nothing,
      at: nothing,
      listAt: list,
      prune: () => Promise.resolve({ pruned: 0, bytes: 0 }),
    },
    log: {
      append: done,
      listAccess: page,
      eventsOfTrace: list,
      eventOfToolCall: nothing,
      expire: none,
      countOlder: none,
    },
    observations: {
      rollups: list,
      countRollups: list,
      expireRollups: none,
      countScopes: none,
      calls: list,
      listEvents: page,
      countAccesses: () => Promise.resolve({ counts: [], from: null, next: null }),
      filesWrittenBy: list,
    },
    audit: { list: page },
    config: {
      entries: () => Promise.resolve({}),
      set: done,
      setIfAbsent: (_key, value) => Promise.resolve(value),
    },
    leases: {
      claim: () => Promise.resolve(1),
      renew: () => Promise.resolve(true),
      release: done,
    },
    holds: { list },
    erasure: {
      redact: async (_key, _versions, decide) => {
        await Promise.resolve();
        return decide({ file: null, hold: null, rows: [] }).result;
      },
      erasedAt: nothing,
      count: () => Promise.resolve({}),
      begin: nothing,
      erase: () => Promise.resolve({}),
      end: () => Promise.resolve({}),
      changeAudit: () => Promise.resolve({ next: null, changed: 0 }),
    },
    index: {
      snapshot: (read) =>
        read({
          open: (scopes) => Promise.resolve(scopes.map(emptyIndex)),
          listFiles: list,
          readFiles: list,
          listKeys: list,
          vectors: () =>
            Promise.resolve({
              vectorGeneration: 0,
              isWhole: { lists: true, vectors: true },
              lists: [],
              vectors: [],
            }),
        }),
      listStale: list,
      async update(_scope, _files, change) {
        await change({ format: null, due: [], entries: [], read: list });
        return null;
      },
      drop: none,
      listScopes: list,
    },
    vectors: {
      useModel: ({ dimensions }) => Promise.resolve({ id: 1, dimensions, epoch: 1 }),
      markUnlisted: () => Promise.resolve({ marked: 0, next: null }),
      enqueue: list,
      claim: list,
      complete: done,
      postpone: done,
      sweep: none,
      countWaiting: () => Promise.resolve({ files: 0, texts: 0 }),
      dropAll: done,
    },
    inspection: { scopes: list, scope: nothing, files: list, pruned: list, orphans: list },
    backUp: done,
    planMigration: () => Promise.resolve({ from: 1, to: 1, steps: [] }),
    examine: () => Promise.resolve({ version: '1', now: null }),
    dreams: {
      user: nothing,
      changedUsers: list,
      listUsers: page,
      run: nothing,
      listRuns: page,
      update: async ({ scope }, decide) => {
        await Promise.resolve();
        return decide({ user: emptyDreamUser(scope), run: null }).result;
      },
      expire: none,
      countOlder: none,
      countWaiting: none,
    },
  };
}

type Method = (...args: unknown[]) => unknown;

/** Replaces the methods of a storage and of its stores; `name` is like `files.get`. */
export function mapMethods(
  storage: object,
  change: (method: Method, name: string) => unknown,
): Storage {
  const map = (part: object, path: string): object =>
    Object.fromEntries(
      Object.entries(part).map(([key, value]: [string, unknown]) => {
        const name = `${path}${key}`;
        if (typeof value === 'function') return [key, change(value.bind(part) as Method, name)];
        if (typeof value === 'object' && value !== null) return [key, map(value, `${name}.`)];
        return [key, value];
      }),
    );
  return map(storage, '') as Storage;
}

/** The names of all methods of a storage, those of its stores too: `mutate`, `files.get`. */
export const methodNames: readonly string[] = (() => {
  const names: string[] = [];
  mapMethods(emptyStorage(), (_method, name) => names.push(name));
  return names;
})();

/** These do no work in a rule, so a driver may have them and still do nothing. */
const LIFECYCLE = ['init', 'close', 'ping'];

/** An empty storage whose methods give this instead, but for opening and closing. */
export function storageThat(answer: (name: string) => unknown): Storage {
  return mapMethods(emptyStorage(), (method, name) =>
    LIFECYCLE.includes(name) ? method : () => answer(name),
  );
}

/** Drivers that do nothing, each in another way. */
export const uselessStorages: readonly { what: string; make: () => Storage }[] = [
  { what: 'answers with what is empty', make: emptyStorage },
  ...[undefined, null, 0, 1, '', 'text', true, false, [], {}, { items: [], next: null }].map(
    (value) => ({
      what: `answers ${JSON.stringify(value) ?? 'undefined'} to all calls`,
      make: () => storageThat(() => Promise.resolve(structuredClone(value))),
    }),
  ),
  ...(
    [
      'INTERNAL',
      'INVALID_CURSOR',
      'INVALID_PATH',
      'INVALID_REQUEST',
      'INVALID_USER_ID',
      'QUOTA_EXCEEDED',
      'RUN_STATE',
      'SHUTTING_DOWN',
    ] as const
  ).map((code) => ({
    what: `refuses all calls with ${code}`,
    make: () => storageThat(() => Promise.reject(new MemoryError(code))),
  })),
  { what: 'forgets all, and refuses calls once it is closed', make: emptyUntilClosed },
];

function emptyUntilClosed(): Storage {
  let isClosed = false;
  const empty = emptyStorage();
  const storage = mapMethods(empty, (method) => (...args: unknown[]) => {
    return isClosed ? Promise.reject(new MemoryError('SHUTTING_DOWN')) : method(...args);
  });
  return {
    ...storage,
    close() {
      isClosed = true;
      return Promise.resolve();
    },
  };
}

function emptyIndex(): IndexedScope {
  const state = { generation: 0, format: null, files: 0, version: 0 };
  return { state, stale: [], blobs: [] };
}

function emptyDreamUser(scope: ScopeKey) {
  return {
    scope,
    paused: false,
    status: null,
    runId: null,
    watermark: null,
    ownWriteAt: null,
    lastRunAt: null,
    filesTouched: 0,
    runs: 0,
    failures: 0,
    retryAt: null,
    error: null,
    reviewCursor: null,
    waiting: 0,
    rejected: null,
    tokensDay: 0,
    tokensUsed: 0,
    fence: null,
  };
}
