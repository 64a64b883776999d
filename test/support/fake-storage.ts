import { setTimeout as sleep } from 'node:timers/promises';
import type {
  AccessCount,
  AccessRecord,
  AuditRecord,
  EventRecord,
  FileContent,
  FileKey,
  FileListing,
  FileRecord,
  FileState,
  HoldRecord,
  IdempotencyRecord,
  NewRevision,
  RevisionRecord,
  RollupCount,
  RollupRecord,
  ScopeKey,
  ScopeState,
} from '../../core/contracts/records.ts';
import type {
  Changes,
  Current,
  Guard,
  IndexBlob,
  IndexEntry,
  IndexFileKey,
  IndexStore,
  IndexView,
  LogBatch,
  PageRequest,
  PageResult,
  Storage,
} from '../../core/contracts/storage.ts';
import { MemoryError } from '../../core/errors.ts';
import { toIdMs } from '../../core/ids/id-time.ts';
import { emptyScope } from './empty-scope.ts';
import { assertFileKey, assertScope, toPhysicalPath } from '../../core/files/paths.ts';

/**
 * A storage driver in plain maps whose every step is asynchronous: the proof that the contract can
 * be met by someone who has read nothing but the contract. Nothing is kept after the process.
 */
export function fakeStorage({ delayMs = 0 }: { delayMs?: number } = {}): Storage {
  const scopes = new Map<ScopeKey, ScopeState>();
  const files = new Map<string, FileState>();
  const reads = new Map<string, { reads: number; lastReadAt: number }>();
  const idempotency = new Map<string, IdempotencyRecord>();
  const leases = new Map<string, { holder: string; fence: number; until: number }>();
  const budgets = new Map<string, number>();
  const config = new Map<string, unknown>();
  const holds = new Map<ScopeKey, HoldRecord>();
  let revisions: NewRevision[] = [];
  let access: AccessRecord[] = [];
  let events: EventRecord[] = [];
  const rollups = new Map<string, RollupRecord>();
  const audit: AuditRecord[] = [];
  let last: Promise<unknown> = Promise.resolve();

  const pause = () => (delayMs > 0 ? sleep(Math.random() * delayMs) : Promise.resolve());
  const scopeOf = (scope: ScopeKey): ScopeState => scopes.get(scope) ?? emptyScope(scope);

  /** One transaction after the other: the simplest lock that there is. */
  function exclusively<T>(run: () => Promise<T>): Promise<T> {
    const turn = last.then(run, run);
    last = turn.catch(() => undefined);
    return turn;
  }

  const index = fakeIndex(files, exclusively, (scope) => scopes.get(scope)?.version ?? 0);

  function checkGuards(guards: readonly Guard[], writes: number): void {
    for (const guard of guards) {
      if (guard.kind === 'lease') {
        const lease = leases.get(guard.name);
        if (lease === undefined || lease.fence !== guard.fence || lease.until <= Date.now()) {
          throw new MemoryError('RUN_STATE', undefined, { details: { reason: 'lease_lost' } });
        }
      } else if ((budgets.get(guard.name) ?? 0) + writes > guard.max) {
        throw new MemoryError('QUOTA_EXCEEDED', undefined, { details: { limit: guard.name } });
      }
    }
  }

  function apply(changes: Changes): void {
    for (const scope of changes.scopes ?? []) scopes.set(scope.scope, scope);
    for (const file of changes.files ?? []) {
      files.set(toPhysicalPath(file), file);
      index.queue.set(toIndexKey(file), file.version);
    }
    for (const revision of changes.revisions ?? []) revisions.push(revision);
    for (const row of changes.access ?? []) access.push(row);
    for (const row of changes.audit ?? []) audit.push(row);
    for (const { scope, hold } of changes.holds ?? []) {
      if (hold === null) holds.delete(scope);
      else holds.set(scope, hold);
    }
    const first = changes.idempotency;
    if (first !== undefined) idempotency.set(`${first.scope} ${first.keyHash}`, first);
  }

  function toListing(file: FileRecord): FileListing {
    const { reads: count = 0, lastReadAt = null } = reads.get(toPhysicalPath(file)) ?? {};
    return { ...file, reads: count, lastReadAt };
  }

  const ofKey = (key: FileKey) => (row: FileKey) =>
    row.scope === key.scope && row.path === key.path;
  const live = () =>
    [...files.values()].filter((file) => file.content !== null).sort(byKey(toSortKey));

  return {
    contractVersion: 2,
    name: 'fake',
    init: pause,
    close: () => exclusively(pause),
    ping: pause,
    describe: async () => ({
      name: 'fake',
      driver: 'map',
      version: '1',
      schemaVersion: 1,
      settings: {},
    }),

    mutate: (request, decide) =>
      exclusively(async () => {
        request.scopes.forEach(assertScope);
        request.files.forEach(assertFileKey);
        await pause();
        const wanted = request.idempotency;
        const current: Current = {
          scope: scopeOf,
          file: (key) => files.get(toPhysicalPath(key)) ?? null,
          hold: (scope) => holds.get(scope) ?? null,
          idempotency:
            wanted === undefined
              ? null
              : (idempotency.get(`${wanted.scope} ${wanted.keyHash}`) ?? null),
        };
        const { result, writes, changes } = decide(current);
        checkGuards(request.guards ?? [], writes);
        await pause();
        for (const guard of request.guards ?? []) {
          if (guard.kind === 'budget') {
            budgets.set(guard.name, (budgets.get(guard.name) ?? 0) + writes);
          }
        }
        apply(changes);
        return result;
      }),

    holds: { list: async (limit) => [...holds.values()].slice(0, limit) },
    files: {
      async read(key) {
        assertFileKey(key);
        await pause();
        const file = files.get(toPhysicalPath(key)) ?? null;
        return file === null || file.content === null ? null : (file as FileContent);
      },
      async get(key) {
        assertFileKey(key);
        await pause();
        return files.get(toPhysicalPath(key)) ?? null;
      },
      async list(scope, { prefix, after, limit }) {
        assertScope(scope);
        await pause();
        return live()
          .filter((file) => file.scope === scope && file.path.startsWith(prefix))
          .filter((file) => after === null || compare(file.path, after) > 0)
          .slice(0, limit);
      },
      async listAll({ prefix, scope, contains }, page) {
        const rows = live()
          .filter((file) => toPhysicalPath(file).startsWith(prefix ?? ''))
          .filter((file) => !scope || file.scope === scope)
          .filter((file) => lower(toPhysicalPath(file)).includes(lower(contains ?? '')))
          .map(toListing);
        const { sort } = page;
        return paginate(rows, page, (row) =>
          sort === 'path' ? toSortKey(row) : [row[sort], ...toSortKey(row)],
        );
      },
      async getListing(key) {
        const file = files.get(toPhysicalPath(key));
        return file === undefined ? null : toListing(file);
      },
      async listFolder(folder, page) {
        const entries = new Map<string, { folder: FolderRow } | { file: FileListing }>();
        for (const file of live()) {
          const path = toPhysicalPath(file);
          if (!path.startsWith(folder)) continue;
          const slash = path.indexOf('/', folder.length);
          if (slash === -1) {
            entries.set(path, { file: toListing(file) });
            continue;
          }
          const name = path.slice(0, slash + 1);
          const entry = entries.get(name);
          const old = entry !== undefined && 'folder' in entry ? entry.folder : null;
          entries.set(name, {
            folder: {
              path: name,
              files: (old?.files ?? 0) + 1,
              bytes: (old?.bytes ?? 0) + file.size,
              updatedAt: Math.max(old?.updatedAt ?? 0, file.updatedAt),
            },
          });
        }
        const rows = [...entries].map(([path, entry]) => ({ path, entry }));
        const { items, next } = paginate(rows, page, ({ path }) => [path]);
        return { items: items.map(({ entry }) => entry), next };
      },
      async listUsers({ contains }, page) {
        const users = [...scopes.values()]
          .filter(({ scope, files: count }) => scope !== 's' && count > 0)
          .map(({ scope, files: count, bytes, revisions: rows, lastWriteAt, chainHead }) => {
            const userId = scope.slice(2);
            const times = live()
              .filter((file) => file.scope === scope)
              .map((file) => toListing(file).lastReadAt ?? 0);
            const lastReadAt = Math.max(0, ...times) || null;
            const shown = access.filter(
              (row) =>
                row.scope === scope &&
                row.outcome === 'ok' &&
                ['read', 'context', 'find'].includes(row.action),
            );
            return {
              ...{ userId, files: count, bytes, revisions: rows, lastReadAt, lastWriteAt },
              reads: shown.filter(({ action }) => action !== 'find').length,
              lastShownAt: Math.max(0, ...shown.map(({ at }) => at)) || null,
              historyHash: chainHead,
            };
          })
          .filter(({ userId }) => lower(userId).includes(lower(contains ?? '')));
        return paginate(users, page, ({ userId }) => [userId]);
      },
      countBehind: async () => index.queue.size,
    },

    revisions: {
      get: async (id) => revisions.find((row) => row.id === id) ?? null,
      async list(filter, page) {
        const rows = revisions.filter(
          (row) =>
            (!filter.scope || row.scope === filter.scope) &&
            (!filter.path || ofKey(filter.path)(row)) &&
            matches(row, filter, ['actor', 'action', 'runId', 'traceId', 'toolCallId']) &&
            isWithin(row.at, filter),
        );
        return paginate<RevisionRecord>(rows, page, ({ id }) => [id]);
      },
      async chain(key, version) {
        const file = files.get(toPhysicalPath(key));
        if (file === undefined) return null;
        const rows = revisions
          .filter(ofKey(key))
          .filter((row) => row.version > version)
          .sort((a, b) => a.version - b.version);
        const keyframe = rows.findIndex((row) => row.keyframe !== null);
        return { file, steps: keyframe === -1 ? rows : rows.slice(0, keyframe + 1) };
      },
      steps: async (key, { after, upTo }) =>
        revisions
          .filter(ofKey(key))
          .filter(({ version }) => version > after && version <= upTo)
          .sort((a, b) => a.version - b.version),
      ofVersion: async (key, version) =>
        revisions.filter(ofKey(key)).find((row) => row.version === version) ?? null,
      async at(key, time) {
        const rows = revisions.filter(ofKey(key)).filter((row) => row.at <= time);
        return rows.sort((a, b) => b.version - a.version)[0] ?? null;
      },
      listAt: async (scope, { time, prefix, after, limit }) =>
        [...files.values()]
          .filter((file) => file.scope === scope && file.path.startsWith(prefix))
          .filter((file) => after === null || compare(file.path, after) > 0)
          .sort((a, b) => compare(a.path, b.path))
          .slice(0, limit)
          .map((file) => {
            const rows = revisions.filter(ofKey(file)).filter((row) => row.at <= time);
            return { file, revision: rows.sort((a, b) => b.version - a.version)[0] ?? null };
          }),
      prune: (filter, { dryRun, audit: toAudit }) =>
        exclusively(async () => {
          const doomed = new Set<NewRevision>();
          for (const file of files.values()) {
            if (filter.scope && file.scope !== filter.scope) continue;
            if (filter.path && !ofKey(filter.path)(file)) continue;
            for (const row of revisions.filter(ofKey(file))) {
              const isOld = filter.olderThan === null || filter.olderThan === undefined;
              if (row.version > file.version - filter.keepLast) continue;
              if (isOld || row.at < (filter.olderThan ?? 0)) doomed.add(row);
            }
          }
          const bytes = [...doomed].reduce(
            (sum, row) =>
              sum + (row.delta?.byteLength ?? 0) + Buffer.byteLength(row.keyframe ?? ''),
            0,
          );
          const count = { pruned: doomed.size, bytes };
          if (dryRun) return count;
          for (const row of doomed) {
            const file = files.get(toPhysicalPath(row)) as FileState;
            files.set(toPhysicalPath(row), { ...file, revisions: file.revisions - 1 });
            const scope = scopeOf(row.scope);
            scopes.set(row.scope, { ...scope, revisions: scope.revisions - 1 });
          }
          revisions = revisions.filter((row) => !doomed.has(row));
          audit.push(toAudit(count));
          return count;
        }),
    },

    log: {
      append: (batch: LogBatch) =>
        exclusively(async () => {
          await pause();
          access.push(...batch.access);
          events.push(...batch.events);
          const counted = batch.rollUp?.count(batch.events);
          for (const row of counted?.whole ?? []) rollups.set(rollupKey(row), row);
          for (const row of counted?.added ?? []) {
            const old = rollups.get(rollupKey(row));
            const sum = old === undefined ? row : (batch.rollUp?.merge(old, row) ?? row);
            rollups.set(rollupKey(row), sum);
          }
          for (const row of batch.access) {
            if (row.outcome !== 'ok' || (row.action !== 'read' && row.action !== 'context'))
              continue;
            const key = toPhysicalPath(row);
            const old = reads.get(key);
            reads.set(key, {
              reads: (old?.reads ?? 0) + 1,
              lastReadAt: Math.max(old?.lastReadAt ?? 0, row.at),
            });
          }
        }),
      async listAccess(filter, page) {
        const rows = access.filter(
          (row) =>
            (!filter.scope || row.scope === filter.scope) &&
            (!filter.userId || row.userId === filter.userId) &&
            (!filter.path || ofKey(filter.path)(row)) &&
            toPhysicalPath(row).startsWith(filter.prefix ?? '') &&
            matches(row, filter, [
              'actor',
              'tool',
              'action',
              'outcome',
              'traceId',
              'runId',
              'toolCallId',
              'revisionId',
            ]) &&
            (!filter.actions || filter.actions.includes(row.action)) &&
            isWithin(row.at, filter),
        );
        return paginate(rows, page, ({ id }) => [id]);
      },
      eventsOfTrace: async (traceId) => events.filter((event) => event.traceId === traceId),
      eventOfToolCall: async (id) => events.find((event) => event.toolCallId === id) ?? null,
      async countOlder(what, before) {
        if (what === 'idempotency') {
          return [...idempotency.values()].filter(({ createdAt }) => createdAt < before).length;
        }
        const times =
          what === 'events' ? events.map(({ startedAt }) => startedAt) : access.map(({ at }) => at);
        return times.filter((time) => time < before).length;
      },
      async expire(what, before, limit) {
        if (what === 'idempotency') {
          const old = [...idempotency].filter(([, { createdAt }]) => createdAt < before);
          for (const [key] of old.slice(0, limit)) idempotency.delete(key);
          return Math.min(old.length, limit);
        }
        const rows: { id: string }[] = what === 'events' ? events : access;
        const isOld = (row: object) =>
          (what === 'events' ? (row as EventRecord).startedAt : (row as AccessRecord).at) < before;
        const doomed = new Set(rows.filter(isOld).slice(0, limit));
        events = events.filter((row) => !doomed.has(row));
        access = access.filter((row) => !doomed.has(row));
        return doomed.size;
      },
    },

    observations: {
      async rollups({ grain, scope, tool, since, until }) {
        return [...rollups.values()].filter(
          (row) =>
            row.grain === grain &&
            row.scope === scope &&
            (typeof tool !== 'string' || row.tool === tool) &&
            isWithin(row.bucket, { since, until }),
        );
      },
      async countRollups({ grain, scope, tool, since, until, length }) {
        const sums = new Map<number, RollupCount>();
        for (const row of rollups.values()) {
          if (row.grain !== grain || row.scope !== scope) continue;
          if (typeof tool === 'string' && row.tool !== tool) continue;
          if (!isWithin(row.bucket, { since, until })) continue;
          const bucket = row.bucket - (row.bucket % length);
          const none = { calls: 0, failed: 0, refused: 0, reads: 0, writes: 0, finds: 0 };
          const sum = sums.get(bucket) ?? { bucket, ...none };
          for (const name of ['calls', 'failed', 'refused', 'reads', 'writes', 'finds'] as const)
            sum[name] += row[name];
          sums.set(bucket, sum);
        }
        return [...sums.values()].sort((one, other) => one.bucket - other.bucket);
      },
      async expireRollups(grain, before, limit) {
        const old = [...rollups].filter(([, row]) => row.grain === grain && row.bucket < before);
        for (const [key] of old.slice(0, limit)) rollups.delete(key);
        return Math.min(old.length, limit);
      },
      async countScopes(ranges, tool) {
        const found = events.filter(
          (event) =>
            event.kind === 'tool' &&
            event.scope !== 's' &&
            (tool === null || event.tool === tool) &&
            ranges.some((range) => isWithin(toIdMs(event.id), range)),
        );
        return new Set(found.map(({ scope }) => scope)).size;
      },
      async calls({ scope, tool, since, until }, { after, limit }) {
        return events
          .filter(
            (event) =>
              event.kind === 'tool' &&
              (!scope || event.scope === scope) &&
              (!tool || event.tool === tool) &&
              isWithin(toIdMs(event.id), { since, until }) &&
              (after === null || event.id > after),
          )
          .sort(byKey(({ id }) => [id]))
          .slice(0, limit)
          .map(({ id, scope: of, tool: by, status, errorCode, durationMs }) => ({
            ...{ id, scope: of, tool: by, status, errorCode, durationMs },
          }));
      },
      async listEvents(filter, page) {
        const rows = events.filter(
          (event) =>
            matches(event, filter, ['scope', 'tool', 'kind', 'status', 'actor']) &&
            (!filter.errorCodes || filter.errorCodes.includes(event.errorCode ?? '')) &&
            !filter.exceptErrorCodes?.includes(event.errorCode ?? '') &&
            event.durationMs >= (filter.minDurationMs ?? 0) &&
            isWithin(toIdMs(event.id), filter),
        );
        return paginate(rows, page, ({ id }) => [id]);
      },
      async countAccesses({ userId, tool, since, until }) {
        const counts = new Map<string, AccessCount>();
        for (const row of access) {
          if (row.outcome !== 'ok' || row.action === 'list') continue;
          if (typeof userId === 'string' && row.userId !== userId) continue;
          if (typeof tool === 'string' && row.tool !== tool) continue;
          if (!isWithin(row.at, { since, until })) continue;
          const { scope, path, actor, tool: by, action } = row;
          const key = JSON.stringify([scope, path, actor, by, action]);
          const old = counts.get(key);
          counts.set(key, {
            ...{ scope, path, actor, tool: by, action },
            count: (old?.count ?? 0) + 1,
            lastAt: Math.max(old?.lastAt ?? 0, row.at),
          });
        }
        return { counts: [...counts.values()], from: null, next: null };
      },
      async filesWrittenBy(scope, tool) {
        const heads = new Set(revisions.filter((row) => row.tool === tool).map(({ id }) => id));
        return [...files.values()]
          .filter((file) => file.scope === scope && file.content !== null)
          .filter(({ latestRevisionId }) => heads.has(latestRevisionId))
          .map(({ fileNo }) => fileNo)
          .sort((left, right) => left - right);
      },
    },

    audit: {
      async list({ action, since, until }, page) {
        const rows = audit.filter(
          (row) => (!action || row.action === action) && isWithin(row.at, { since, until }),
        );
        return paginate(rows, page, ({ id }) => [id]);
      },
    },

    config: {
      entries: async (prefix) =>
        Object.fromEntries([...config].filter(([key]) => key.startsWith(prefix))),
      async set(entries, row) {
        for (const [key, value] of Object.entries(entries)) config.set(key, value);
        if (row !== null) audit.push(row);
      },
      async setIfAbsent(key, value) {
        if (!config.has(key)) config.set(key, value);
        return config.get(key);
      },
    },

    index: index.store,

    leases: {
      async claim(name, holder, ttlMs) {
        const lease = leases.get(name);
        if (lease !== undefined && lease.until > Date.now()) return null;
        const fence = (lease?.fence ?? 0) + 1;
        leases.set(name, { holder, fence, until: Date.now() + ttlMs });
        return fence;
      },
      async renew(name, fence, ttlMs) {
        const lease = leases.get(name);
        if (lease === undefined || lease.fence !== fence || lease.until <= Date.now()) return false;
        lease.until = Date.now() + ttlMs;
        return true;
      },
      async release(name, fence) {
        const lease = leases.get(name);
        if (lease !== undefined && lease.fence === fence) lease.until = 0;
      },
    },
  };
}

/** The search index in maps: nothing in it but what core gave. */
function fakeIndex(
  files: ReadonlyMap<string, FileState>,
  exclusively: <T>(run: () => Promise<T>) => Promise<T>,
  versionOf: (scope: ScopeKey) => number,
): { store: IndexStore; queue: Map<string, number> } {
  const queue = new Map<string, number>();
  const entries = new Map<string, IndexEntry & { scope: ScopeKey }>();
  const blobs = new Map<string, IndexBlob & { scope: ScopeKey }>();
  const states = new Map<ScopeKey, { generation: number; format: number | null }>();
  const ofScope = (scope: ScopeKey) => [...files.values()].filter((file) => file.scope === scope);
  const existing = (scope: ScopeKey) => ofScope(scope).filter(({ content }) => content !== null);
  const stateOf = (scope: ScopeKey) => states.get(scope) ?? { generation: 0, format: null };
  const toBlobKey = (scope: ScopeKey, { key, part }: Pick<IndexBlob, 'key' | 'part'>) =>
    JSON.stringify([scope, key, part]);

  const view: IndexView = {
    open: async (scopes, keys) =>
      scopes.map((scope) => ({
        state: {
          ...stateOf(scope),
          files: existing(scope).length,
          version: versionOf(scope),
        },
        stale: ofScope(scope)
          .filter((file) => queue.has(toIndexKey(file)))
          .map((file) => ({ ...file, isDeleted: file.content === null })),
        blobs: [...blobs.values()].filter((row) => row.scope === scope && keys.includes(row.key)),
      })),
    listFiles: async (scope, prefix) =>
      existing(scope).filter(({ path }) => path.startsWith(prefix)),
    readFiles: async (keys) =>
      keys.flatMap((key) => {
        const file = ofScope(key.scope).find(({ fileNo }) => fileNo === key.fileNo);
        const indexedVersion = entries.get(toIndexKey(key))?.version ?? null;
        return file === undefined ? [] : [{ ...file, indexedVersion }];
      }),
    listKeys: async (scope, prefix, limit, after = null) => {
      const found = [...blobs.values()].filter(
        (row) =>
          row.scope === scope && row.key.startsWith(prefix) && (after === null || row.key > after),
      );
      return [...new Set(found.map(({ key }) => key))].sort().slice(0, limit);
    },
  };

  const store: IndexStore = {
    snapshot: (read) => exclusively(() => read(view)),
    listStale: async (limit, scopes) =>
      [...files.values()]
        .filter(({ scope }) => scopes?.includes(scope) !== false)
        .flatMap((file) => {
          const version = queue.get(toIndexKey(file));
          return version === undefined ? [] : [{ scope: file.scope, fileNo: file.fileNo, version }];
        })
        .slice(0, limit),
    update: (scope, marks, change) =>
      exclusively(async () => {
        const due = marks.filter((mark) => queue.get(toIndexKey(mark)) === mark.version);
        if (due.length === 0) return null;
        const { format, generation } = stateOf(scope);
        const changes = await change({
          format,
          due,
          entries: due.flatMap((mark) => entries.get(toIndexKey(mark)) ?? []),
          read: async (keys) => keys.flatMap((key) => blobs.get(toBlobKey(scope, key)) ?? []),
        });
        if (changes === null) return null;
        for (const { key, part, bytes } of changes.blobs) {
          const name = toBlobKey(scope, { key, part });
          if (bytes === null) blobs.delete(name);
          else blobs.set(name, { scope, key, part, bytes });
        }
        for (const entry of changes.entries) {
          entries.set(toIndexKey({ scope, fileNo: entry.fileNo }), { ...entry, scope });
        }
        for (const fileNo of changes.removed) entries.delete(toIndexKey({ scope, fileNo }));
        for (const mark of due) queue.delete(toIndexKey(mark));
        states.set(scope, { generation: generation + 1, format: changes.format });
        return { before: generation, after: generation + 1 };
      }),
    async drop(scope) {
      for (const [key, row] of blobs) if (row.scope === scope) blobs.delete(key);
      for (const [key, row] of entries) if (row.scope === scope) entries.delete(key);
      for (const file of existing(scope)) queue.set(toIndexKey(file), file.version);
      states.set(scope, { generation: stateOf(scope).generation + 1, format: null });
      return existing(scope).length;
    },
    listScopes: async (after, limit) =>
      [...new Set([...files.values()].map(({ scope }) => scope))]
        .sort()
        .filter((scope) => after === null || scope > after)
        .map((scope) => ({
          scope,
          files: existing(scope).length,
          format: stateOf(scope).format,
        }))
        .filter((row) => row.files > 0)
        .slice(0, limit),
  };
  return { store, queue };
}

const toIndexKey = ({ scope, fileNo }: IndexFileKey) => `${scope} ${fileNo}`;

interface FolderRow {
  path: string;
  files: number;
  bytes: number;
  updatedAt: number;
}

type Key = readonly (string | number)[];

const toSortKey = ({ scope, path }: FileKey): Key => [scope, path];
const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** By code point, as both databases compare bytes of UTF-8. */
function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' || typeof b === 'number') return Number(a) - Number(b);
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function compareKeys(a: Key, b: Key): number {
  for (let index = 0; index < a.length; index += 1) {
    const order = compare(a[index] ?? '', b[index] ?? '');
    if (order !== 0) return order;
  }
  return 0;
}

function byKey<T>(toKey: (row: T) => Key): (a: T, b: T) => number {
  return (a, b) => compareKeys(toKey(a), toKey(b));
}

function paginate<T>(rows: readonly T[], page: PageRequest, toKey: (row: T) => Key): PageResult<T> {
  const sign = page.order === 'asc' ? 1 : -1;
  const { after } = page;
  const rest = [...rows]
    .sort((a, b) => sign * byKey(toKey)(a, b))
    .filter((row) => after === null || sign * compareKeys(toKey(row), after) > 0);
  const items = rest.slice(0, page.limit);
  const tail = items.at(-1);
  return { items, next: rest.length > page.limit && tail !== undefined ? toKey(tail) : null };
}

function matches<T extends object>(row: T, filter: object, keys: readonly (keyof T)[]): boolean {
  return keys.every((key) => {
    const wanted = (filter as Record<PropertyKey, unknown>)[key];
    return wanted === undefined || wanted === null || row[key] === wanted;
  });
}

function isWithin(
  at: number,
  { since, until }: { since?: number | null | undefined; until?: number | null | undefined },
): boolean {
  const isLate = typeof since !== 'number' || at >= since;
  const isEarly = typeof until !== 'number' || at < until;
  return isLate && isEarly;
}

function rollupKey({ grain, bucket, scope, tool, instanceId }: RollupRecord): string {
  return JSON.stringify([grain, bucket, scope, tool, instanceId]);
}
