// A storage driver in one file of JSON lines: the whole contract, for small memories.

import { assertFileKey, assertScope, MemoryError, toPhysicalPath } from 'memory-service/plugin';
import { fileStore } from './files.mjs';
import { Journal } from './journal.mjs';
import { auditStore, checkIds, logStore } from './log.mjs';
import { revisionStore } from './revisions.mjs';
import { indexStore, toFileKey } from './search-index.mjs';

/** @import { ConfigStore, Current, Decision, Guard, LeaseStore, MutateRequest, ScopeKey, ScopeState, Storage } from 'memory-service/plugin' */
/** @import { Change } from './journal.mjs' */

// #region factory
/**
 * Stores memory in a journal: a line for each transaction, written and synced before the answer.
 * Without `synchronous`, a power loss can lose the last transactions.
 *
 * @param {{ filename: string, synchronous?: boolean }} options
 * @returns {Storage}
 */
export function journalStorage({ filename, synchronous = true }) {
  const journal = new Journal({ filename, synchronous });
  return {
    contractVersion: 2,
    name: 'journal',
    filename,
    init: () => journal.open(),
    close: () => journal.close(),
    async ping() {
      journal.table('config');
    },
    async describe() {
      const rows = journal.table('files').size;
      return {
        name: 'journal',
        driver: 'JSON lines',
        version: '1.0',
        schemaVersion: 1,
        settings: { synchronous, files: rows },
      };
    },
    mutate: (request, decide) => mutate(journal, request, decide),
    files: fileStore(journal),
    revisions: revisionStore(journal),
    log: logStore(journal),
    audit: auditStore(journal),
    config: configStore(journal),
    leases: leaseStore(journal),
    index: indexStore(journal),
  };
}
// #endregion

// #region mutate
/**
 * The only write: reads under the lock, lets core decide, and stores the whole decision or nothing.
 *
 * @template R
 * @param {Journal} journal
 * @param {MutateRequest} request
 * @param {(current: Current) => Decision<R>} decide
 * @returns {Promise<R>}
 */
async function mutate(journal, request, decide) {
  checkRequest(request);
  return await journal.exclusively(async () => {
    checkLeases(journal, request.guards ?? []);
    const decision = decide(currentOf(journal, request));
    checkChanges(journal, request, decision);
    const budgets = spend(journal, request.guards ?? [], decision.writes);
    await journal.commit([
      ...toChanges(decision, (scope) => !journal.table('scopes').has(scope)),
      ...budgets,
    ]);
    return decision.result;
  });
}
// #endregion

/** @param {MutateRequest} request */
function checkRequest({ scopes, files, idempotency }) {
  scopes.forEach(assertScope);
  for (const key of files) {
    assertFileKey(key);
    if (!scopes.includes(key.scope)) throw unnamed();
  }
  if (idempotency !== undefined && !scopes.includes(idempotency.scope)) throw unnamed();
}

/**
 * The rows that `decide` gets: only those that the request names.
 *
 * @param {Journal} journal
 * @param {MutateRequest} request
 * @returns {Current}
 */
function currentOf(journal, { scopes, files, idempotency }) {
  return {
    scope(scope) {
      if (!scopes.includes(scope)) throw unnamed();
      return journal.table('scopes').get(scope) ?? newScope(scope);
    },
    file(key) {
      if (!files.some(({ scope, path }) => scope === key.scope && path === key.path)) {
        throw unnamed();
      }
      return journal.table('files').get(toPhysicalPath(key)) ?? null;
    },
    idempotency:
      idempotency === undefined
        ? null
        : (journal.table('idempotency').get(toKey(idempotency)) ?? null),
  };
}

/**
 * @param {Journal} journal
 * @param {MutateRequest} request
 * @param {Decision<unknown>} decision
 */
function checkChanges(journal, { scopes, files, idempotency }, { changes, writes }) {
  const { revisions = [], access = [], audit = [] } = changes;
  const named = new Set(files.map(toPhysicalPath));
  const isNamed =
    (changes.files ?? []).every((file) => named.has(toPhysicalPath(file))) &&
    [...(changes.scopes ?? []), ...revisions, ...access].every(({ scope }) =>
      scopes.includes(scope),
    );
  const first = changes.idempotency;
  const isOwnKey =
    first === undefined || (idempotency !== undefined && toKey(first) === toKey(idempotency));
  if (!isNamed || !isOwnKey) throw unnamed();
  if (!Number.isSafeInteger(writes) || writes < 0) {
    throw new MemoryError('INTERNAL', 'A decision counts its writes.');
  }
  checkIds(journal, 'revisions', revisions);
  checkIds(journal, 'access', access);
  checkIds(journal, 'audit', audit);
}

/**
 * @param {Decision<unknown>} decision
 * @param {(scope: ScopeKey) => boolean} isNewScope
 * @returns {Change[]}
 */
function toChanges({ changes }, isNewScope) {
  const { files = [], revisions = [], access = [], audit = [], idempotency } = changes;
  const touched = new Set([...revisions, ...access].map(({ scope }) => scope).filter(isNewScope));
  return [
    ...[...touched].map((scope) => /** @type {Change} */ (['scopes', scope, newScope(scope)])),
    ...(changes.scopes ?? []).map((row) => /** @type {Change} */ (['scopes', row.scope, row])),
    ...files.flatMap(
      (file) =>
        /** @type {Change[]} */ ([
          ['files', toPhysicalPath(file), file],
          // Marks the file as not indexed.
          [
            'queue',
            toFileKey(file),
            { scope: file.scope, fileNo: file.fileNo, version: file.version },
          ],
        ]),
    ),
    ...revisions.map((row) => /** @type {Change} */ (['revisions', row.id, row])),
    ...access.map((row) => /** @type {Change} */ (['access', row.id, row])),
    ...audit.map((row) => /** @type {Change} */ (['audit', row.id, row])),
    ...(idempotency === undefined
      ? []
      : [/** @type {Change} */ (['idempotency', toKey(idempotency), idempotency])]),
  ];
}

/**
 * @param {Journal} journal
 * @param {readonly Guard[]} guards
 */
function checkLeases(journal, guards) {
  for (const guard of guards) {
    if (guard.kind !== 'lease') continue;
    const lease = journal.table('leases').get(guard.name);
    if (lease?.fence === guard.fence && lease.until > Date.now()) continue;
    throw new MemoryError('RUN_STATE', undefined, { details: { reason: 'lease_lost' } });
  }
}

/**
 * @param {Journal} journal
 * @param {readonly Guard[]} guards
 * @param {number} writes
 * @returns {Change[]}
 */
function spend(journal, guards, writes) {
  if (writes === 0) return [];
  return guards.flatMap((guard) => {
    if (guard.kind !== 'budget') return [];
    const used = (journal.table('budgets').get(guard.name) ?? 0) + writes;
    if (used > guard.max) {
      const details = { limit: guard.name, max: guard.max };
      throw new MemoryError('QUOTA_EXCEEDED', 'The write budget is spent.', { details });
    }
    return [/** @type {Change} */ (['budgets', guard.name, used])];
  });
}

/**
 * @param {Journal} journal
 * @returns {ConfigStore}
 */
function configStore(journal) {
  return {
    async entries(prefix) {
      const entries = [...journal.table('config')].filter(([key]) => key.startsWith(prefix));
      return Object.fromEntries(entries.map(([key, { value }]) => [key, value]));
    },
    set: (entries, audit) =>
      journal.exclusively(async () => {
        if (audit !== null) checkIds(journal, 'audit', [audit]);
        await journal.commit([
          ...Object.entries(entries).map(
            ([key, value]) => /** @type {Change} */ (['config', key, { value }]),
          ),
          ...(audit === null ? [] : [/** @type {Change} */ (['audit', audit.id, audit])]),
        ]);
      }),
    setIfAbsent: (key, value) =>
      journal.exclusively(async () => {
        if (!journal.table('config').has(key)) await journal.commit([['config', key, { value }]]);
        return journal.table('config').get(key).value;
      }),
  };
}

/**
 * @param {Journal} journal
 * @returns {LeaseStore}
 */
function leaseStore(journal) {
  return {
    claim: (name, holder, ttlMs) =>
      journal.exclusively(async () => {
        const lease = journal.table('leases').get(name);
        const isTaken = lease !== undefined && lease.until > Date.now() && lease.holder !== holder;
        if (isTaken) return null;
        const fence = (lease?.fence ?? 0) + 1;
        await journal.commit([['leases', name, { holder, fence, until: Date.now() + ttlMs }]]);
        return fence;
      }),
    renew: (name, fence, ttlMs) =>
      journal.exclusively(async () => {
        const lease = journal.table('leases').get(name);
        if (lease?.fence !== fence || lease.until <= Date.now()) return false;
        await journal.commit([['leases', name, { ...lease, until: Date.now() + ttlMs }]]);
        return true;
      }),
    release: (name, fence) =>
      journal.exclusively(async () => {
        const lease = journal.table('leases').get(name);
        // Keep the row, so that the next fence is greater.
        if (lease?.fence === fence)
          await journal.commit([['leases', name, { ...lease, until: 0 }]]);
      }),
  };
}

/**
 * @param {ScopeKey} scope
 * @returns {ScopeState}
 */
function newScope(scope) {
  return {
    scope,
    version: 0,
    nextFileNo: 1,
    lastMs: 0,
    idCounter: 0,
    files: 0,
    bytes: 0,
    revisions: 0,
    lastWriteAt: null,
    lastQualifyingAt: null,
    chainHead: null,
    chainAfter: null,
    erasedAt: null,
  };
}

/** @param {{ scope: string, keyHash: string }} key */
function toKey({ scope, keyHash }) {
  return `${scope} ${keyHash}`;
}

function unnamed() {
  return new MemoryError('INTERNAL', 'Something that the request did not name was asked for.');
}
