// The rows of the search index. A driver only stores them.

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
  /** @type {(scope: ScopeKey) => Change} */
  const nextGeneration = (scope) => [
    'generations',
    scope,
    // Only grows, from a random start, so that a copy of the file does not reuse numbers.
    (journal.table('generations').get(scope) ?? randomInt(2 ** 47)) + 1,
  ];

  return {
    // No writer can run in between, so all reads see one state.
    snapshot: (read) => journal.exclusively(() => read(view)),

    async tasks(limit) {
      return [...journal.table('queue').values()]
        .sort((left, right) => compare(left.scope, right.scope))
        .slice(0, limit);
    },

    async update(scope, tasks, update) {
      assertScope(scope);
      await journal.exclusively(async () => {
        const due = tasks.filter(
          (task) => journal.table('queue').get(toFileKey(task))?.version === task.version,
        );
        if (due.length === 0) return;
        const known = due.flatMap((task) => journal.table('documents').get(toFileKey(task)) ?? []);
        const needs = await update.needs(known, due);
        const rows = needs.flatMap(
          (need) => journal.table('postings').get(toPostingKey(scope, need)) ?? [],
        );
        const { postings, documents, removed } = await update.apply(rows);
        await journal.commit([
          ...postings.map((row) => {
            const kept = row.blob === null ? null : { ...row, scope };
            return /** @type {Change} */ (['postings', toPostingKey(scope, row), kept]);
          }),
          ...documents.map(
            (document) =>
              /** @type {Change} */ ([
                'documents',
                toFileKey({ ...document, scope }),
                { ...document, scope },
              ]),
          ),
          ...removed.map(
            (fileNo) => /** @type {Change} */ (['documents', toFileKey({ scope, fileNo }), null]),
          ),
          ...due.map((task) => /** @type {Change} */ (['queue', toFileKey(task), null])),
          nextGeneration(scope),
        ]);
      });
    },

    markBehind: (tokeniserVersion, limit) =>
      journal.exclusively(async () => {
        const stale = [...journal.table('documents')]
          .filter(([, document]) => document.tokeniserVersion !== tokeniserVersion)
          .filter(([key]) => !journal.table('queue').has(key))
          .slice(0, limit);
        const files = new Map(
          [...journal.table('files').values()].map((file) => [toFileKey(file), file]),
        );
        await journal.commit(stale.map(([key]) => ['queue', key, toTask(files.get(key))]));
        return stale.length;
      }),

    forget: (scope) =>
      journal.exclusively(async () => {
        assertScope(scope);
        const existing = filesOf(scope).filter(({ content }) => content !== null);
        const all = ['postings', 'documents', 'queue'].flatMap((table) =>
          [...journal.table(table)]
            .filter(([, row]) => row.scope === scope)
            .map(([key]) => /** @type {Change} */ ([table, key, null])),
        );
        await journal.commit([
          ...all,
          ...existing.map(
            (file) => /** @type {Change} */ (['queue', toFileKey(file), toTask(file)]),
          ),
          nextGeneration(scope),
        ]);
        return existing.length;
      }),

    async scopes(after, limit) {
      return [...journal.table('scopes').values()]
        .filter(({ scope, files }) => files > 0 && (after === null || compare(scope, after) > 0))
        .sort((left, right) => compare(left.scope, right.scope))
        .slice(0, limit)
        .map(({ scope, files }) => ({ scope, files }));
    },
  };
}

/**
 * @param {Journal} journal
 * @returns {IndexView}
 */
function indexView(journal) {
  /** @type {(keys: readonly { scope: string, fileNo: number }[]) => FileState[]} */
  const find = (keys) => {
    const wanted = new Set(keys.map(toFileKey));
    return [...journal.table('files').values()].filter((file) => wanted.has(toFileKey(file)));
  };
  return {
    async open(scopes, terms) {
      return scopes.map((scope) => {
        assertScope(scope);
        /** @type {(table: string) => any[]} */
        const own = (table) =>
          [...journal.table(table).values()].filter((row) => row.scope === scope);
        const versions = new Set(own('documents').map(({ tokeniserVersion }) => tokeniserVersion));
        const [version = null] = versions;
        const files = own('files');
        return {
          state: {
            generation: journal.table('generations').get(scope) ?? 0,
            tokeniserVersion: versions.size > 1 ? 0 : version,
            files: files.filter(({ content }) => content !== null).length,
            version: journal.table('scopes').get(scope)?.version ?? 0,
          },
          behind: files
            .filter((file) => journal.table('queue').has(toFileKey(file)))
            .map(({ fileNo, path, hash, content }) => ({
              fileNo,
              path,
              hash,
              isDeleted: content === null,
            })),
          rows: own('postings')
            .filter(({ term }) => terms.includes(term))
            .map(({ term, bucket, blob }) => ({ term, bucket, blob })),
        };
      });
    },

    async paths(keys) {
      return find(keys).filter(({ content }) => content !== null);
    },

    async contents(keys) {
      return find(keys).map((file) => ({
        ...file,
        indexedVersion: journal.table('documents').get(toFileKey(file))?.version ?? null,
      }));
    },

    async fileNos(scope, prefix) {
      return [...journal.table('files').values()]
        .filter((file) => file.scope === scope && file.content !== null)
        .filter(({ path }) => path.startsWith(prefix))
        .map(({ fileNo }) => fileNo);
    },

    async terms(scope, prefix, limit) {
      const terms = [...journal.table('postings').values()]
        .filter((row) => row.scope === scope && row.term.startsWith(prefix))
        .map(({ term }) => term);
      return [...new Set(terms)].sort(compare).slice(0, limit);
    },
  };
}

/** @param {FileState | undefined} file */
function toTask(file) {
  return file === undefined
    ? null
    : { scope: file.scope, fileNo: file.fileNo, version: file.version };
}

/**
 * @param {string} scope
 * @param {{ term: string, bucket: number }} row
 */
function toPostingKey(scope, { term, bucket }) {
  return JSON.stringify([scope, term, bucket]);
}
