// The search index: blobs, entries and marks. Only the service knows what is in them.

import { randomInt } from 'node:crypto';
import { assertScope } from 'memory-service/plugin';
import { compare } from './page.mjs';

/** @import { FileState, IndexStore, IndexView, ScopeKey } from 'memory-service/plugin' */
/** @import { Change, Journal } from './journal.mjs' */

/** @param {{ scope: string, fileNo: number }} file */
export const toFileKey = ({ scope, fileNo }) => `${scope} ${fileNo}`;

/**
 * @param {Journal} journal
 * @returns {IndexStore}
 */
export function indexStore(journal) {
  const view = indexView(journal);
  /** @type {(scope: ScopeKey) => FileState[]} */
  const filesOf = (scope) =>
    [...journal.table('files').values()].filter((file) => file.scope === scope);
  // Only grows, from a random start, so that a copy of the file does not reuse numbers.
  /** @type {(scope: ScopeKey) => number} */
  const nextGeneration = (scope) =>
    (journal.table('generations').get(scope) ?? randomInt(2 ** 47)) + 1;

  return {
    // No writer can run in between, so all reads see one state.
    snapshot: (read) => journal.exclusively(() => read(view)),

    async listStale(limit, scopes) {
      return [...journal.table('queue').values()]
        .filter(({ scope }) => scopes === undefined || scopes.includes(scope))
        .sort((left, right) => compare(left.scope, right.scope))
        .slice(0, limit);
    },

    async update(scope, files, change) {
      assertScope(scope);
      return await journal.exclusively(async () => {
        const due = files.filter(
          (file) => journal.table('queue').get(toFileKey(file))?.version === file.version,
        );
        if (due.length === 0) return null;
        const changes = await change({
          format: journal.table('formats').get(scope) ?? null,
          due,
          entries: due.flatMap((file) => journal.table('entries').get(toFileKey(file)) ?? []),
          read: async (keys) =>
            keys.flatMap((key) => journal.table('blobs').get(toBlobKey(scope, key)) ?? []),
        });
        if (changes === null) return null;
        const before = journal.table('generations').get(scope) ?? 0;
        const after = nextGeneration(scope);
        await journal.commit([
          ...changes.blobs.map((blob) => {
            const kept = blob.bytes === null ? null : { ...blob, scope };
            return /** @type {Change} */ (['blobs', toBlobKey(scope, blob), kept]);
          }),
          ...changes.entries.map((entry) => {
            const kept = { ...entry, scope };
            return /** @type {Change} */ (['entries', toFileKey(kept), kept]);
          }),
          ...changes.removed.map(
            (fileNo) => /** @type {Change} */ (['entries', toFileKey({ scope, fileNo }), null]),
          ),
          ...due.map((file) => /** @type {Change} */ (['queue', toFileKey(file), null])),
          ['formats', scope, changes.format],
          ['generations', scope, after],
        ]);
        return { before, after };
      });
    },

    drop: (scope) =>
      journal.exclusively(async () => {
        assertScope(scope);
        const existing = filesOf(scope).filter(({ content }) => content !== null);
        const all = ['blobs', 'entries', 'queue'].flatMap((table) =>
          [...journal.table(table)]
            .filter(([, row]) => row.scope === scope)
            .map(([key]) => /** @type {Change} */ ([table, key, null])),
        );
        await journal.commit([
          ...all,
          ...existing.map(
            (file) => /** @type {Change} */ (['queue', toFileKey(file), toMark(file)]),
          ),
          ['formats', scope, null],
          ['generations', scope, nextGeneration(scope)],
        ]);
        return existing.length;
      }),

    async listScopes(after, limit) {
      return [...journal.table('scopes').values()]
        .filter(({ scope, files }) => files > 0 && (after === null || compare(scope, after) > 0))
        .sort((left, right) => compare(left.scope, right.scope))
        .slice(0, limit)
        .map(({ scope, files }) => ({
          scope,
          files,
          format: journal.table('formats').get(scope) ?? null,
        }));
    },
  };
}

/**
 * @param {Journal} journal
 * @returns {IndexView}
 */
function indexView(journal) {
  return {
    async open(scopes, keys) {
      return scopes.map((scope) => {
        assertScope(scope);
        /** @type {(table: string) => any[]} */
        const own = (table) =>
          [...journal.table(table).values()].filter((row) => row.scope === scope);
        const files = own('files');
        return {
          state: {
            generation: journal.table('generations').get(scope) ?? 0,
            format: journal.table('formats').get(scope) ?? null,
            files: files.filter(({ content }) => content !== null).length,
            version: journal.table('scopes').get(scope)?.version ?? 0,
          },
          stale: files
            .filter((file) => journal.table('queue').has(toFileKey(file)))
            .map(({ fileNo, version, path, hash, content }) => ({
              fileNo,
              version,
              path,
              hash,
              isDeleted: content === null,
            })),
          blobs: own('blobs')
            .filter(({ key }) => keys.includes(key))
            .map(({ key, part, bytes }) => ({ key, part, bytes })),
        };
      });
    },

    async listFiles(scope, prefix) {
      return [...journal.table('files').values()]
        .filter((file) => file.scope === scope && file.content !== null)
        .filter(({ path }) => path.startsWith(prefix));
    },

    async readFiles(keys) {
      const wanted = new Set(keys.map(toFileKey));
      return [...journal.table('files').values()]
        .filter((file) => wanted.has(toFileKey(file)))
        .map((file) => ({
          ...file,
          indexedVersion: journal.table('entries').get(toFileKey(file))?.version ?? null,
        }));
    },

    async listKeys(scope, prefix, limit, after = null) {
      const keys = [...journal.table('blobs').values()]
        .filter((blob) => blob.scope === scope && blob.key.startsWith(prefix))
        .map(({ key }) => key)
        .filter((key) => after === null || compare(key, after) > 0);
      return [...new Set(keys)].sort(compare).slice(0, limit);
    },
  };
}

/** @param {FileState} file */
function toMark(file) {
  return { scope: file.scope, fileNo: file.fileNo, version: file.version };
}

/**
 * @param {string} scope
 * @param {{ key: string, part: number }} blob
 */
function toBlobKey(scope, { key, part }) {
  return JSON.stringify([scope, key, part]);
}
