import type { ErasureStore } from '../../contracts/erasure.ts';
import type { HoldRecord, ScopeKey, ScopeState } from '../../contracts/records.ts';
import type { Current } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { FREEZE_PREFIX, fromFreezeSetting, MAX_FREEZES } from '../../files/freeze.ts';
import { assertScope, SHARED } from '../../files/paths.ts';
import type { Connection } from '../dialect.ts';
import { listHolds } from '../read/holds.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { successorOf } from '../read/text-range.ts';
import { AUDIT_ROWS, SETTINGS } from '../schema/records.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import type { StoreDatabase } from '../store-database.ts';
import { toPendingSetting } from '../../erase/pending-receipt.ts';
import { createPendingReceipts } from './pending-receipts.ts';
import { countUserRows, listOwners } from './user-rows.ts';

/** The rows that the last transaction of an erasure removes at most. */
const LAST_ROWS = 500;
/** Holds that are looked at. */
const MAX_HOLDS = 100;

/** Makes the store that removes content for good. Its writes are mutations. */
export function createErasureStore(database: StoreDatabase): ErasureStore {
  return {
    ...createErasureReads(database),
    begin: (hold, audit) => begin(database, hold, audit),
    erase: (hold, options) => eraseRows(database, hold, options),
    end: (hold, options) => end(database, hold, options),
    changeAudit: (page, change) => changeAudit(database, page, change),
    ...(database.mayRemain && { mayRemain: database.mayRemain }),
    ...(database.file && { file: { ...database.file, ...createPendingReceipts(database) } }),
  };
}

function createErasureReads(
  database: StoreDatabase,
): Pick<ErasureStore, 'look' | 'erasedAt' | 'count' | 'owners'> {
  return {
    look: (after) =>
      database.snapshot(async (connection) => {
        const readAt = performance.now();
        // Few scopes were ever erased, which MariaDB does not know before it looks.
        const source = connection.dialect.byIndex('svc_scope', 's', 'svc_scope_erasure');
        const numbered = `select s.scope, s.erasure_number from ${source} where s.erasure_number > 0`;
        const [newest] = await connection.all(
          `${numbered} order by s.erasure_number desc limit 1`,
          [],
        );
        const latest = newest === undefined ? 0 : toInteger(newest['erasure_number']);
        const rows =
          after === null || latest <= after
            ? []
            : await connection.all(
                `${numbered} and s.erasure_number > ? order by s.erasure_number`,
                [after],
              );
        const erased = rows.map((row) => ({
          scope: toText(row['scope']) as ScopeKey,
          number: toInteger(row['erasure_number']),
        }));
        const holds = await listHolds(connection, MAX_HOLDS);
        return {
          readAt,
          latest,
          erased,
          holds: holds.filter(({ kind }) => kind === 'erase'),
          ...(await readFreezes(connection)),
        };
      }),

    erasedAt: (scope) =>
      database.read(async (connection) => {
        const [row] = await connection.all(
          'select erased_at from svc_scope where scope_id = ? and scope = ?',
          [toScopeId(scope), scope],
        );
        return toIntegerOrNull(row?.['erased_at']);
      }),

    owners: (idPrefix, page) =>
      database.read((connection) => listOwners(connection, idPrefix, page)),

    async count(scope) {
      assertScope(scope);
      return await database.read((connection) => countUserRows(connection, scope));
    },
  };
}

/** Freezes by key, with the database's clock. */
async function readFreezes(
  connection: Connection,
): Promise<Pick<Awaited<ReturnType<ErasureStore['look']>>, 'freezes' | 'now'>> {
  const rows = await connection.all(
    `select \`key\`, value, ${connection.dialect.nowMs} as now_ms from svc_config` +
      ' where `key` >= ? and `key` < ? order by `key` limit ?',
    [FREEZE_PREFIX, successorOf(FREEZE_PREFIX), 2 * MAX_FREEZES],
  );
  const settings = rows.map((row) => SETTINGS.toRecord(row));
  return {
    freezes: settings.flatMap(({ key, value }) => fromFreezeSetting(key, value) ?? []),
    now: toIntegerOrNull(rows[0]?.['now_ms']),
  };
}

type Begun = Awaited<ReturnType<ErasureStore['begin']>>;

async function begin(
  database: StoreDatabase,
  hold: HoldRecord,
  audit: Parameters<ErasureStore['begin']>[1],
): Promise<Begun> {
  const { scope } = hold;
  const request = { scopes: [scope], files: [], numbersErasure: true };
  return await database.mutate<Begun>(request, (current) => {
    const other = current.hold(scope);
    if (other !== null) return { result: { other, number: 0 }, writes: 0, changes: {} };
    const number = current.nextErasure();
    const state = toErased(current.scope(scope), { at: hold.progressAt, number });
    return {
      result: { other, number },
      writes: 0,
      changes: { scopes: [state], holds: [{ scope, hold }], audit: [audit] },
    };
  });
}

async function eraseRows(
  database: StoreDatabase,
  hold: HoldRecord,
  { limit, progress }: Parameters<ErasureStore['erase']>[1],
): ReturnType<ErasureStore['erase']> {
  const { scope } = hold;
  return await database.mutate(toRequest(scope, limit), (current) => {
    checkHold(current, hold);
    const { counts } = current.range();
    return {
      result: counts,
      writes: 0,
      changes: { holds: [{ scope, hold: progress(counts) }], removesRange: true },
    };
  });
}

type Ended = Awaited<ReturnType<ErasureStore['end']>>;

async function end(
  database: StoreDatabase,
  hold: HoldRecord,
  { at, audit, details }: Parameters<ErasureStore['end']>[1],
): Promise<Ended> {
  const { scope } = hold;
  const pending = database.file === undefined ? [] : [toPendingSetting(audit)];
  const request = {
    ...toRequest(scope, LAST_ROWS),
    numbersErasure: true,
    settings: pending.map(({ key }) => key),
  };
  return await database.mutate<Ended>(request, (current) => {
    checkHold(current, hold);
    const { counts, isAll } = current.range();
    if (!isAll) return { result: null, writes: 0, changes: {} };
    const number = current.nextErasure();
    return {
      result: { removed: counts, number },
      writes: 0,
      changes: {
        removesRange: true,
        scopes: [toEmpty(toErased(current.scope(scope), { at, number }))],
        holds: [{ scope, hold: null }],
        audit: [{ ...audit, details: details(counts) }],
        settings: pending,
      },
    };
  });
}

/** Shared memory has access rows of the user: its writers must not add others meanwhile. */
function toRequest(scope: ScopeKey, limit: number) {
  const range = { kind: 'user', scope, limit } as const;
  return { scopes: [scope, SHARED] as const, files: [], range };
}

function toErased(state: ScopeState, { at, number }: { at: number; number: number }): ScopeState {
  return { ...state, version: state.version + 1, erasedAt: at, erasureNumber: number };
}

/** Ids and file numbers go on from where they were: what refers to the erased ones finds nothing. */
function toEmpty(state: ScopeState): ScopeState {
  return {
    ...state,
    files: 0,
    bytes: 0,
    revisions: 0,
    lastWriteAt: null,
    lastQualifyingAt: null,
    chainHead: null,
    chainAfter: null,
    archivedAt: null,
    quota: null,
  };
}

/** Checks that the hold is still the one of this work. */
function checkHold(current: Current, { scope, id }: HoldRecord): void {
  if (current.scope(scope).holdId === id) return;
  throw new MemoryError('RUN_STATE', 'This work was finished by another process.', {
    details: { reason: 'hold_lost' },
  });
}

async function changeAudit(
  database: StoreDatabase,
  { after, limit }: Parameters<ErasureStore['changeAudit']>[0],
  change: Parameters<ErasureStore['changeAudit']>[1],
): ReturnType<ErasureStore['changeAudit']> {
  const least = (after === null ? null : parseIdBytes(after)) ?? Buffer.alloc(16);
  const rows = await database.read((connection) =>
    connection.all(
      `select ${AUDIT_ROWS.select('a').join(', ')} from svc_admin_audit a where a.id > ?` +
        ' order by a.id limit ?',
      [least, limit],
    ),
  );
  const records = rows.map((row) => AUDIT_ROWS.toRecord(row));
  const named = records.filter((record) => change(record) !== null).map(({ id }) => id);
  const changed = await changeAuditRows(database, named, change);
  const isEnd = records.length < limit;
  return { next: isEnd ? null : (records.at(-1)?.id ?? null), changed };
}

/** Changes audit rows as they are under their locks. Returns how many. */
async function changeAuditRows(
  database: StoreDatabase,
  ids: readonly string[],
  change: Parameters<ErasureStore['changeAudit']>[1],
): Promise<number> {
  if (ids.length === 0) return 0;
  return await database.mutate({ scopes: [], files: [], audit: ids }, (current) => {
    const audit = ids.flatMap((id) => current.audit(id) ?? []).flatMap((row) => change(row) ?? []);
    return { result: audit.length, writes: 0, changes: { audit } };
  });
}
