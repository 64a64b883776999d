// Access rows of reads, events, and the audit log.

import { MemoryError, toPhysicalPath } from 'memory-service/plugin';
import { compare, hasAll, isWithin, paginate } from './page.mjs';

/** @import { AccessRecord, AuditStore, LogStore } from 'memory-service/plugin' */
/** @import { Change, Journal } from './journal.mjs' */

const FILTERS = [
  'scope',
  'userId',
  'actor',
  'tool',
  'action',
  'outcome',
  'traceId',
  'runId',
  'toolCallId',
  'revisionId',
];

/** The column that tells how old a row is. */
const TIMES = { events: 'startedAt', access: 'at', idempotency: 'createdAt' };

/**
 * @param {Journal} journal
 * @returns {LogStore}
 */
export function logStore(journal) {
  return {
    append: ({ access, events, isRepeated = false }) =>
      journal.exclusively(async () => {
        // A row may already be stored if an answer was lost; keep it.
        const isNew =
          (/** @type {'access' | 'events'} */ table) => (/** @type {{ id: string }} */ row) =>
            !isRepeated || !journal.table(table).has(row.id);
        const rows = access.filter(isNew('access'));
        const fresh = events.filter(isNew('events'));
        checkIds(journal, 'access', rows);
        checkIds(journal, 'events', fresh);
        await journal.commit([
          ...rows.map((row) => /** @type {Change} */ (['access', row.id, row])),
          ...fresh.map((row) => /** @type {Change} */ (['events', row.id, row])),
          ...countReads(journal, rows),
        ]);
      }),

    async listAccess(filter, page) {
      const rows = [...journal.table('access').values()]
        .filter((row) => hasAll(row, filter, FILTERS))
        .filter((row) => (filter.actions ?? [row.action]).includes(row.action))
        .filter((row) => hasAll(row, filter.path ?? {}, ['scope', 'path']))
        .filter((row) => toPhysicalPath(row).startsWith(filter.prefix ?? ''))
        .filter((row) => isWithin(row.at, filter));
      return paginate(rows, page, ({ id }) => [id], ['id']);
    },

    async eventsOfTrace(traceId) {
      return [...journal.table('events').values()]
        .filter((event) => event.traceId === traceId)
        .sort((left, right) => compare(left.id, right.id))
        .slice(0, 200);
    },

    async eventOfToolCall(toolCallId) {
      const events = [...journal.table('events').values()];
      return events.find((event) => event.toolCallId === toolCallId) ?? null;
    },

    async countOlder(what, before) {
      const rows = [...journal.table(what).values()];
      return rows.filter((row) => row[TIMES[what]] < before).length;
    },

    expire: (what, before, limit) =>
      journal.exclusively(async () => {
        const old = [...journal.table(what)]
          .filter(([, row]) => row[TIMES[what]] < before)
          .sort(([left], [right]) => compare(left, right))
          .slice(0, limit);
        await journal.commit(old.map(([key]) => [what, key, null]));
        return old.length;
      }),
  };
}

/**
 * @param {Journal} journal
 * @returns {AuditStore}
 */
export function auditStore(journal) {
  return {
    async list(filter, page) {
      const rows = [...journal.table('audit').values()]
        .filter((row) => hasAll(row, filter, ['action']))
        .filter((row) => isWithin(row.at, filter));
      return paginate(rows, page, ({ id }) => [id], ['id']);
    },
  };
}

/**
 * Throws if the id exists: a row is never overwritten.
 *
 * @param {Journal} journal
 * @param {string} table
 * @param {readonly { id: string }[]} rows
 */
export function checkIds(journal, table, rows) {
  const ids = new Set(rows.map(({ id }) => id));
  const isTaken = [...ids].some((id) => journal.table(table).has(id));
  if (isTaken || ids.size < rows.length) {
    throw new MemoryError('INTERNAL', `An id of ${table} is taken.`);
  }
}

/**
 * What the reads among these rows add to their files, and to their scope, which has the number 0.
 *
 * @param {Journal} journal
 * @param {readonly AccessRecord[]} rows
 */
function countReads(journal, rows) {
  /** @type {Map<string, { reads: number, lastReadAt: number | null, lastShownAt: number | null }>} */
  const counted = new Map();
  for (const { scope, fileNo, action, outcome, at } of rows) {
    if (outcome !== 'ok' || fileNo === null) continue;
    const isRead = action === 'read' || action === 'context';
    if (!isRead && action !== 'find') continue;
    for (const key of isRead ? [`${scope} ${fileNo}`, `${scope} 0`] : [`${scope} 0`]) {
      const stat = counted.get(key) ?? journal.table('reads').get(key);
      counted.set(key, {
        reads: (stat?.reads ?? 0) + (isRead ? 1 : 0),
        lastReadAt: isRead ? Math.max(stat?.lastReadAt ?? 0, at) : (stat?.lastReadAt ?? null),
        lastShownAt: Math.max(stat?.lastShownAt ?? 0, at),
      });
    }
  }
  return [...counted].map(([key, stat]) => /** @type {Change} */ (['reads', key, stat]));
}
