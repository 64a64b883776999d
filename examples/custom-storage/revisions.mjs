// The history of files.

import { assertFileKey, assertScope, MemoryError, toPhysicalPath } from 'memory-service/plugin';
import { compare, hasAll, isWithin, paginate } from './page.mjs';

/** @import { FileKey, NewRevision, PruneCount, RevisionRecord, RevisionStore } from 'memory-service/plugin' */
/** @import { Change, Journal } from './journal.mjs' */

/** Rows that one transaction removes at most: no write waits long behind one. */
const ROWS_AT_ONCE = 500;

/**
 * @param {Journal} journal
 * @returns {RevisionStore}
 */
export function revisionStore(journal) {
  /** @type {(key: FileKey) => NewRevision[]} */
  const ofFile = ({ scope, path }) =>
    [...journal.table('revisions').values()]
      .filter((row) => row.scope === scope && row.path === path)
      .sort((left, right) => left.version - right.version);

  return {
    async get(id) {
      const row = journal.table('revisions').get(id);
      return row === undefined ? null : toRecord(row);
    },

    async list(filter, page) {
      const names = ['scope', 'actor', 'action', 'runId', 'traceId', 'toolCallId'];
      const rows = [...journal.table('revisions').values()]
        .filter((row) => hasAll(row, filter, names))
        .filter((row) => hasAll(row, filter.path ?? {}, ['scope', 'path']))
        .filter((row) => isWithin(row.at, filter))
        .map(toRecord);
      return paginate(rows, page, ({ id }) => [id], ['id']);
    },

    async chain(key, version) {
      assertFileKey(key);
      const file = journal.table('files').get(toPhysicalPath(key));
      if (file === undefined) return null;
      const rows = ofFile(key).filter((row) => row.version > version);
      const keyframe = rows.findIndex((row) => row.keyframe !== null);
      return { file, steps: keyframe < 0 ? rows : rows.slice(0, keyframe + 1) };
    },

    async steps(key, { after, upTo }) {
      return ofFile(key).filter(({ version }) => version > after && version <= upTo);
    },

    async ofVersion(key, version) {
      const row = ofFile(key).find((each) => each.version === version);
      return row === undefined ? null : toRecord(row);
    },

    async at(key, time) {
      const row = ofFile(key).findLast((each) => each.at <= time);
      return row === undefined ? null : toRecord(row);
    },

    async listAt(scope, { time, prefix, after, limit }) {
      assertScope(scope);
      return [...journal.table('files').values()]
        .filter((file) => file.scope === scope && file.path.startsWith(prefix))
        .filter((file) => after === null || compare(file.path, after) > 0)
        .sort((left, right) => compare(left.path, right.path))
        .slice(0, limit)
        .map((file) => {
          const row = ofFile(file).findLast((each) => each.at <= time);
          return { file, revision: row === undefined ? null : toRecord(row) };
        });
    },

    async prune(filter, { dryRun, audit, signal }) {
      if (!Number.isSafeInteger(filter.keepLast) || filter.keepLast < 1) {
        throw new MemoryError('INVALID_REQUEST', 'At least one revision of a file is kept.');
      }
      if (filter.path) assertFileKey(filter.path);
      if (filter.scope) assertScope(filter.scope);
      const total = { pruned: 0, bytes: 0 };
      const scopes = [...journal.table('scopes').keys()].filter(
        (scope) => (filter.scope ?? scope) === scope && (filter.path?.scope ?? scope) === scope,
      );
      for (const scope of scopes) {
        const old = [...journal.table('files').values()]
          .filter((file) => file.scope === scope && (filter.path?.path ?? file.path) === file.path)
          .flatMap((file) => oldestOf(ofFile(file), filter));
        if (dryRun) add(total, countOf(old));
        for (let start = 0; !dryRun && start < old.length; start += ROWS_AT_ONCE) {
          if (signal?.aborted === true) return total;
          const rows = old.slice(start, start + ROWS_AT_ONCE);
          const count = countOf(rows);
          const record = audit(count);
          await journal.exclusively(() =>
            journal.commit([...removal(journal, rows), ['audit', record.id, record]]),
          );
          add(total, count);
        }
      }
      return total;
    },
  };
}

/**
 * The oldest rows of a file: all before the newest `keepLast` and before the first recent row.
 *
 * @param {readonly NewRevision[]} rows
 * @param {{ keepLast: number, olderThan?: number | null }} filter
 */
function oldestOf(rows, { keepLast, olderThan }) {
  const young = rows.findIndex(({ at }) => at >= (olderThan ?? Infinity));
  return rows.slice(0, Math.max(0, Math.min(young < 0 ? Infinity : young, rows.length - keepLast)));
}

/**
 * The changes that remove these rows of one scope and update its counts.
 *
 * @param {Journal} journal
 * @param {readonly NewRevision[]} rows
 * @returns {Change[]}
 */
function removal(journal, rows) {
  /** @type {Map<string, Change>} */
  const counted = new Map();
  for (const row of rows) {
    const places = [
      ['files', toPhysicalPath(row)],
      ['scopes', row.scope],
    ];
    for (const [table = '', key = ''] of places) {
      const known = counted.get(`${table} ${key}`)?.[2] ?? journal.table(table).get(key);
      const { revisions } = /** @type {{ revisions: number }} */ (known);
      const state = { .../** @type {object} */ (known), revisions: revisions - 1 };
      counted.set(`${table} ${key}`, [table, key, state]);
    }
  }
  return [
    ...rows.map(({ id }) => /** @type {Change} */ (['revisions', id, null])),
    ...counted.values(),
  ];
}

/**
 * @param {readonly NewRevision[]} rows
 * @returns {PruneCount}
 */
function countOf(rows) {
  const bytes = rows.reduce(
    (sum, { delta, keyframe }) => sum + (delta?.length ?? 0) + Buffer.byteLength(keyframe ?? ''),
    0,
  );
  return { pruned: rows.length, bytes };
}

/**
 * @param {PruneCount} total
 * @param {PruneCount} count
 */
function add(total, count) {
  total.pruned += count.pruned;
  total.bytes += count.bytes;
}

/**
 * @param {NewRevision} row
 * @returns {RevisionRecord}
 */
function toRecord({ delta: _delta, keyframe: _keyframe, ...record }) {
  return record;
}
