import type {
  DreamCurrent,
  DreamRunRecord,
  DreamStore,
  DreamUpdateRequest,
  DreamUserRecord,
} from '../../contracts/dreams.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import { MemoryError } from '../../errors.ts';
import { assertScope } from '../../files/paths.ts';
import type { SqlDatabase } from '../sql-database.ts';
import type { Connection } from '../dialect.ts';
import { readHold } from '../read/holds.ts';
import { leaseLost } from '../write/leases.ts';
import { countEndedDreamRuns, countWaitingOperations, expireDreamRuns } from './dream-expiry.ts';
import { listChangedDreamUsers, listDreamRuns, listDreamUsers } from './dream-list.ts';
import { DREAM_RUNS, DREAM_USER_COLUMNS, DREAM_USERS, toDreamUser } from './dream-rows.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { insertRecords, replaceRecords } from '../schema/row-sets.ts';
import { toInteger } from '../schema/rows.ts';
import { sameNumber, toScopeId } from '../schema/scope-id.ts';
import { AUDIT_ROWS } from '../schema/records.ts';

/** Makes the store of what dreaming keeps. */
export function createDreamStore(database: SqlDatabase): DreamStore {
  const { skew } = database;
  return {
    async user(scope) {
      assertScope(scope);
      const [row] = await database.read((connection) =>
        connection.all(GET_USER, [toScopeId(scope), scope]),
      );
      return row === undefined ? null : toDreamUser(row);
    },
    changedUsers: (page) => database.list((connection) => listChangedDreamUsers(connection, page)),
    listUsers: (filter, page) =>
      database.list((connection) => listDreamUsers(connection, filter, page)),
    async run(id) {
      const bytes = parseIdBytes(id);
      if (bytes === null) return null;
      const [row] = await database.read((connection) => connection.all(GET_RUN, [bytes]));
      return row === undefined ? null : DREAM_RUNS.toRecord(row);
    },
    listRuns: (filter, page) =>
      database.list((connection) => listDreamRuns(connection, filter, page)),

    async update(request, decide) {
      assertScope(request.scope);
      return await database.write(async (connection) => {
        const current = await lock(connection, request);
        const { result, user, run, audit } = decide(current);
        if ([user, run].some((row) => row !== undefined && row.scope !== request.scope)) {
          throw new MemoryError('INTERNAL', 'A scope that the request did not name was given.');
        }
        if (user !== undefined) await replaceRecords(connection, DREAM_USERS, [user]);
        if (run !== undefined) await replaceRecords(connection, DREAM_RUNS, [run]);
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

    expire: (before, limit) =>
      database.write((connection) => expireDreamRuns(connection, before, limit)),
    countOlder: (before) => database.read((connection) => countEndedDreamRuns(connection, before)),
    countWaiting: () => database.read(countWaitingOperations),
  };
}

const GET_USER =
  `select ${DREAM_USER_COLUMNS.join(', ')} from svc_scope s` +
  ' left join svc_dream_run d on d.scope_id = s.scope_id where s.scope_id = ? and s.scope = ?';

const GET_RUN = `select ${DREAM_RUNS.select('h').join(', ')} from svc_dream_history h where h.id = ?`;

/** The user's row is the lock that the runs stand behind: it is made where there is none. */
async function lock(
  connection: Connection,
  { scope, runId, lease }: DreamUpdateRequest,
): Promise<DreamCurrent> {
  const held = await readHold(connection, scope);
  // Rows that come now would outlast the erasure.
  if (held?.kind === 'erase') {
    throw new MemoryError('MEMORY_HELD', undefined, {
      details: { userId: scope.slice(2), kind: held.kind },
      retryAfterSeconds: 5,
    });
  }
  const unknown = DREAM_USERS.blank({ scope });
  if (!connection.dialect.locksAbsentRows) {
    await insertRecords(connection, [unknown], { into: DREAM_USERS, conflict: 'skip' });
  }
  const user = (await readUser(connection, scope)) ?? unknown;
  if (lease !== undefined) await checkLease(connection, lease);
  return { user, run: runId === null ? null : await readRun(connection, scope, runId) };
}

async function readUser(connection: Connection, scope: ScopeKey): Promise<DreamUserRecord | null> {
  const [row] = await connection.all(
    `select ${DREAM_USERS.select('d').join(', ')} from svc_dream_run d where scope_id = ?${connection.dialect.forUpdate}`,
    [toScopeId(scope)],
  );
  if (row === undefined) return null;
  const record = DREAM_USERS.toRecord(row);
  if (record.scope !== scope) throw sameNumber();
  return record;
}

async function readRun(
  connection: Connection,
  scope: ScopeKey,
  runId: string,
): Promise<DreamRunRecord | null> {
  const bytes = parseIdBytes(runId);
  if (bytes === null) return null;
  const [row] = await connection.all(
    `select ${DREAM_RUNS.select('h').join(', ')} from svc_dream_history h` +
      ` where scope_id = ? and id = ?${connection.dialect.forUpdate}`,
    [toScopeId(scope), bytes],
  );
  const run = row === undefined ? null : DREAM_RUNS.toRecord(row);
  return run?.scope === scope ? run : null;
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
