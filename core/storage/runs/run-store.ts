import type {
  RunCurrent,
  RunRecord,
  RunStore,
  RunStores,
  RunUpdateRequest,
  RunUserRecord,
} from '../../contracts/runs.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import { MemoryError } from '../../errors.ts';
import { assertScope } from '../../files/paths.ts';
import type { StoreDatabase } from '../store-database.ts';
import type { Connection } from '../dialect.ts';
import { readHold } from '../read/holds.ts';
import { leaseLost } from '../write/leases.ts';
import { countEndedRuns, countWaitingOperations, expireRuns } from './run-expiry.ts';
import { listChangedUsers, listRuns, listRunUsers } from './run-list.ts';
import { RUNS, runUserColumns, type RunUsers, runUsersOf, toRunUser } from './run-rows.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { insertRecords, replaceRecords } from '../schema/row-sets.ts';
import { toInteger } from '../schema/rows.ts';
import { sameNumber, toScopeId } from '../schema/scope-id.ts';
import { AUDIT_ROWS } from '../schema/records.ts';

/** Makes the stores of runs. */
export function createRunStores(database: StoreDatabase): RunStores {
  const stores = new Map<string, RunStore>();
  return {
    of(plugin) {
      const store = stores.get(plugin) ?? createRunStore(database, plugin);
      stores.set(plugin, store);
      return store;
    },
    async find(id) {
      const bytes = parseIdBytes(id);
      if (bytes === null) return null;
      const [row] = await database.read((connection) => connection.all(GET_RUN, [bytes]));
      return row === undefined ? null : RUNS.toRecord(row);
    },
    expire: (before, limit) =>
      database.write((connection) => expireRuns(connection, before, limit)),
    countOlder: (before) => database.read((connection) => countEndedRuns(connection, before)),
  };
}

function createRunStore(database: StoreDatabase, plugin: string): RunStore {
  const { skew } = database;
  const users = runUsersOf(plugin);
  const getUser =
    `select ${runUserColumns(users).join(', ')} from svc_scope s` +
    ` left join ${users.map.table} d on d.scope_id = s.scope_id${users.join}` +
    ' where s.scope_id = ? and s.scope = ?';
  return {
    async user(scope) {
      assertScope(scope);
      const [row] = await database.read((connection) =>
        connection.all(getUser, [...users.parameters, toScopeId(scope), scope]),
      );
      return row === undefined ? null : toRunUser(users, row);
    },
    changedUsers: (page) =>
      database.list((connection) => listChangedUsers(connection, plugin, page)),
    listUsers: ({ contains = null }, page) =>
      database.list((connection) => listRunUsers(connection, plugin, { contains, page })),
    async run(id) {
      const bytes = parseIdBytes(id);
      if (bytes === null) return null;
      const [row] = await database.read((connection) => connection.all(GET_RUN, [bytes]));
      const found = row === undefined ? null : RUNS.toRecord(row);
      return found?.plugin === plugin ? found : null;
    },
    listRuns: (filter, page) =>
      database.list((connection) => listRuns(connection, plugin, { filter, page })),

    async update(request, decide) {
      assertScope(request.scope);
      return await database.write(async (connection) => {
        const current = await lock(connection, { plugin, users, request });
        const { result, user, run, audit } = decide(current);
        if ([user, run].some((row) => row !== undefined && row.scope !== request.scope)) {
          throw new MemoryError('INTERNAL', 'A scope that the request did not name was given.');
        }
        if (run !== undefined && (run.plugin !== plugin || run.id !== request.runId)) {
          throw new MemoryError('INTERNAL', 'A run that the request did not name was given.');
        }
        if (user !== undefined) await replaceRecords(connection, users.map, [user]);
        if (run !== undefined) await replaceRecords(connection, RUNS, [run]);
        if (run !== undefined) {
          await skew.cover(connection, [{ id: run.id, at: run.createdAt }]);
        }
        if (audit !== undefined) {
          await insertRecords(connection, [audit], { into: AUDIT_ROWS });
          await skew.cover(connection, [audit]);
        }
        return result;
      });
    },

    countWaiting: () => database.read((connection) => countWaitingOperations(connection, plugin)),
  };
}

const GET_RUN = `select ${RUNS.select('h').join(', ')} from svc_dream_history h where h.id = ?`;

/** What an update locks, of one plugin. */
interface LockRequest {
  plugin: string;
  users: RunUsers;
  request: RunUpdateRequest;
}

/** The user's row is the lock that the runs stand behind: it is made where there is none. */
async function lock(connection: Connection, locked: LockRequest): Promise<RunCurrent> {
  const { users } = locked;
  const { scope, runId, lease } = locked.request;
  const held = await readHold(connection, scope);
  // Rows that come now would outlast the erasure.
  if (held?.kind === 'erase') {
    throw new MemoryError('MEMORY_HELD', undefined, {
      details: { userId: scope.slice(2), kind: held.kind },
      retryAfterSeconds: 5,
    });
  }
  const unknown = users.map.blank({ scope });
  if (!connection.dialect.locksAbsentRows) {
    await insertRecords(connection, [unknown], { into: users.map, conflict: 'skip' });
  }
  const user = (await readUser(connection, users, scope)) ?? unknown;
  if (lease !== undefined) await checkLease(connection, lease);
  return { user, run: runId === null ? null : await readRun(connection, locked) };
}

async function readUser(
  connection: Connection,
  users: RunUsers,
  scope: ScopeKey,
): Promise<RunUserRecord | null> {
  const [row] = await connection.all(
    `select ${users.map.select('d').join(', ')} from ${users.map.table} d` +
      ` where d.scope_id = ?${users.join}${connection.dialect.forUpdate}`,
    [toScopeId(scope), ...users.parameters],
  );
  if (row === undefined) return null;
  const record = users.map.toRecord(row);
  if (record.scope !== scope) throw sameNumber();
  return record;
}

/** The run that is named, if it is one of the plugin. Throws for one of another plugin or user. */
async function readRun(
  connection: Connection,
  { plugin, request: { scope, runId } }: LockRequest,
): Promise<RunRecord | null> {
  const bytes = parseIdBytes(runId ?? '');
  if (bytes === null) return null;
  const [row] = await connection.all(
    `select ${RUNS.select('h').join(', ')} from svc_dream_history h` +
      ` where scope_id = ? and id = ?${connection.dialect.forUpdate}`,
    [toScopeId(scope), bytes],
  );
  if (row === undefined) return null;
  const run = RUNS.toRecord(row);
  if (run.plugin !== plugin) throw new MemoryError('RUN_NOT_FOUND');
  return run.scope === scope ? run : null;
}

async function checkLease(
  connection: Connection,
  { name, fence }: { name: string; fence: number },
): Promise<void> {
  const [row] = await connection.all(
    `select fence from svc_lease where name = ? and expires_at > ${connection.dialect.nowMs}${connection.dialect.forUpdate}`,
    [name],
  );
  if (row !== undefined && toInteger(row['fence']) === fence) return;
  throw leaseLost();
}
