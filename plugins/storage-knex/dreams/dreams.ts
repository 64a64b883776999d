import type {
  DreamCurrent,
  DreamRunRecord,
  DreamStore,
  DreamUpdateRequest,
  DreamUserRecord,
} from '../../../core/contracts/dreams.ts';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import { MemoryError } from '../../../core/errors.ts';
import { assertScope } from '../../../core/files/paths.ts';
import type { Database } from '../database.ts';
import type { Dialect, Executor } from '../dialects/dialect.ts';
import { countEndedDreamRuns, expireDreamRuns } from './dream-expiry.ts';
import { listChangedDreamUsers, listDreamRuns, listDreamUsers } from './dream-list.ts';
import {
  DREAM_RUN_ROW,
  DREAM_USER_COLUMNS,
  DREAM_USER_ROW,
  newDreamUserRecord,
  toDreamRunRecord,
  toDreamUser,
  toDreamUserRecord,
} from './dream-rows.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { insertRecords } from '../schema/row-sets.ts';
import { AUDIT_ROW, toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** Makes the store of what dreaming keeps. */
export function createDreamStore(database: Database): DreamStore {
  const { dialect, skew } = database;
  return {
    async user(scope) {
      assertScope(scope);
      const [row] = await database.read((executor) =>
        executor.all(GET_USER, [toScopeId(scope), scope]),
      );
      return row === undefined ? null : toDreamUser(row);
    },
    changedUsers: (page) => database.list((knex) => listChangedDreamUsers(knex, page)),
    listUsers: (filter, page) =>
      database.list((knex) => listDreamUsers(knex, database, filter, page)),
    async run(id) {
      const bytes = parseIdBytes(id);
      if (bytes === null) return null;
      const [row] = await database.read((executor) => executor.all(GET_RUN, [bytes]));
      return row === undefined ? null : toDreamRunRecord(row);
    },
    listRuns: (filter, page) =>
      database.list((knex) => listDreamRuns(knex, database, filter, page)),

    async update(request, decide) {
      assertScope(request.scope);
      return await database.write(async (executor) => {
        const current = await lock(executor, dialect, request);
        const { result, user, run, audit } = decide(current);
        if ([user, run].some((row) => row !== undefined && row.scope !== request.scope)) {
          throw new MemoryError('INTERNAL', 'A scope that the request did not name was given.');
        }
        await insertRecords(executor, dialect, DREAM_USER_ROW, user === undefined ? [] : [user], {
          keys: ['scope_id'],
          update: DREAM_USER_ROW.columns.filter((name) => !['scope_id', 'user_id'].includes(name)),
        });
        await insertRecords(executor, dialect, DREAM_RUN_ROW, run === undefined ? [] : [run], {
          keys: ['scope_id', 'id'],
          update: DREAM_RUN_ROW.columns.filter(
            (name) => !['scope_id', 'id', 'user_id'].includes(name),
          ),
        });
        if (run !== undefined) {
          await skew.cover(executor, dialect, [{ id: run.id, at: run.createdAt }]);
        }
        if (audit !== undefined) {
          await insertRecords(executor, dialect, AUDIT_ROW, [audit]);
          await skew.cover(executor, dialect, [audit]);
        }
        return result;
      });
    },

    expire: (before, limit) =>
      database.write((executor) => expireDreamRuns(executor, dialect, before, limit)),
    countOlder: (before) => database.read((executor) => countEndedDreamRuns(executor, before)),
  };
}

const GET_USER =
  `select ${DREAM_USER_COLUMNS.join(', ')} from svc_scope s` +
  ' left join svc_dream_run d on d.scope_id = s.scope_id where s.scope_id = ? and s.scope = ?';

const GET_RUN = `select ${DREAM_RUN_ROW.columns.join(', ')} from svc_dream_history where id = ?`;

/** The user's row is the lock that the runs stand behind: it is made where there is none. */
async function lock(
  executor: Executor,
  dialect: Dialect,
  { scope, runId, lease }: DreamUpdateRequest,
): Promise<DreamCurrent> {
  const unknown = newDreamUserRecord(scope);
  if (!dialect.locksAbsentRows) {
    await insertRecords(executor, dialect, DREAM_USER_ROW, [unknown], { keys: ['scope_id'] });
  }
  const user = (await readUser(executor, dialect, scope)) ?? unknown;
  if (lease !== undefined) await checkLease(executor, dialect, lease);
  return { user, run: runId === null ? null : await readRun(executor, dialect, scope, runId) };
}

async function readUser(
  executor: Executor,
  dialect: Dialect,
  scope: ScopeKey,
): Promise<DreamUserRecord | null> {
  const [row] = await executor.all(
    `select ${DREAM_USER_ROW.columns.join(', ')} from svc_dream_run where scope_id = ?${dialect.forUpdate}`,
    [toScopeId(scope)],
  );
  if (row === undefined) return null;
  const record = toDreamUserRecord(row);
  if (record.scope === scope) return record;
  throw new MemoryError(
    'INTERNAL',
    'Two scopes have the same number in the database, so one of them can not be used.',
  );
}

async function readRun(
  executor: Executor,
  dialect: Dialect,
  scope: ScopeKey,
  runId: string,
): Promise<DreamRunRecord | null> {
  const bytes = parseIdBytes(runId);
  if (bytes === null) return null;
  const [row] = await executor.all(
    `select ${DREAM_RUN_ROW.columns.join(', ')} from svc_dream_history` +
      ` where scope_id = ? and id = ?${dialect.forUpdate}`,
    [toScopeId(scope), bytes],
  );
  const run = row === undefined ? null : toDreamRunRecord(row);
  return run?.scope === scope ? run : null;
}

async function checkLease(
  executor: Executor,
  dialect: Dialect,
  { name, fence }: { name: string; fence: number },
): Promise<void> {
  const [row] = await executor.all(
    `select fence from svc_lease where name = ? and expires_at > ${dialect.nowMs}${dialect.forUpdate}`,
    [name],
  );
  if (row !== undefined && toInteger(row['fence']) === fence) return;
  throw new MemoryError('RUN_STATE', 'The lease of this run was lost.', {
    details: { reason: 'lease_lost' },
  });
}
