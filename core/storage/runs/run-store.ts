import type { RunStore, RunStores } from '../../contracts/runs.ts';
import type { Changes, MutateRequest } from '../../contracts/storage.ts';
import { memoryHeld } from '../../files/hold.ts';
import { assertScope, toUserId } from '../../files/paths.ts';
import type { StoreDatabase } from '../store-database.ts';
import { countEndedRuns, countWaitingOperations, expireRuns } from './run-expiry.ts';
import { listChangedUsers, listRuns, listRunUsers } from './run-list.ts';
import { countTokens } from './run-tokens.ts';
import { joinRunUsers, RUNS, runUserColumns, runUsersOf, toRunUser } from './run-rows.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { toScopeId } from '../schema/scope-id.ts';

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
    expire: (before, limit, scope = null) => expireRuns(database, { before, limit, scope }),
    countOlder: (before, scope = null) =>
      database.read((connection) => countEndedRuns(connection, before, scope)),
  };
}

function createRunStore(database: StoreDatabase, plugin: string): RunStore {
  const users = runUsersOf(plugin);
  const getUser =
    `select ${runUserColumns(users).join(', ')} from svc_scope s` +
    joinRunUsers(users) +
    ' where s.scope_id = ? and s.scope = ?';
  return {
    async user(scope) {
      assertScope(scope);
      const [row] = await database.read((connection) =>
        connection.all(getUser, [...users.parameters, toScopeId(scope), scope]),
      );
      // A space that was only read has a row, too, and does not exist.
      const isThere = row !== undefined && (toUserId(scope) !== null || row['dream'] !== null);
      return isThere ? toRunUser(users, row) : null;
    },
    changedUsers: (page) =>
      database.list((connection) => listChangedUsers(connection, plugin, page)),
    listUsers: ({ contains = null, of = 'users' }, page) =>
      database.list((connection) => listRunUsers(connection, plugin, { of, contains, page })),
    async run(id) {
      const bytes = parseIdBytes(id);
      if (bytes === null) return null;
      const [row] = await database.read((connection) => connection.all(GET_RUN, [bytes]));
      const found = row === undefined ? null : RUNS.toRecord(row);
      return found?.plugin === plugin ? found : null;
    },
    listRuns: (filter, page) =>
      database.list((connection) => listRuns(connection, plugin, { filter, page })),

    async update({ scope, runId, lease }, decide) {
      assertScope(scope);
      const request: MutateRequest = {
        scopes: [scope],
        files: [],
        runs: { plugin, scope, ids: runId === null ? [] : [runId] },
        ...(lease === undefined ? {} : { guards: [{ kind: 'lease', ...lease }] }),
      };
      return await database.mutate(request, (current) => {
        const hold = current.hold(scope);
        // Rows that come now would outlast the erasure.
        if (hold?.kind === 'erase') throw memoryHeld(hold);
        const rows = current.runs();
        const present = { user: rows.user, run: runId === null ? null : rows.run(runId) };
        const { result, user, run, audit } = decide(present);
        const changes: Changes = {
          runs: { user, runs: run === undefined ? [] : [run] },
          ...(audit === undefined ? {} : { audit: [audit] }),
        };
        return { result, writes: 0, changes };
      });
    },

    countTokens: (day) => database.read((connection) => countTokens(connection, users, day)),
    countWaiting: () => database.read((connection) => countWaitingOperations(connection, plugin)),
  };
}

const GET_RUN = `select ${RUNS.select('h').join(', ')} from svc_dream_history h where h.id = ?`;
