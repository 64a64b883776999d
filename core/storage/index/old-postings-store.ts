import type { OldPosting, OldPostings } from '../../contracts/storage.ts';
import { assertScope } from '../../files/paths.ts';
import type { Connection, Row } from '../dialect.ts';
import { findRows } from '../schema/row-sets.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { textsFrom } from '../read/text-range.ts';

/** The postings that earlier versions stored, until segments have them. */
export function createOldPostings(connection: Connection): OldPostings {
  return {
    async ofTerms(scope, terms) {
      assertScope(scope);
      const rows = await findRows(connection, 'svc_posting', {
        columns: ['scope_id', 'term'],
        rows: terms.map((term) => [toScopeId(scope), term]),
        select: SELECTED,
      });
      return rows.map(toPosting);
    },

    async ofBuckets(scope, keys) {
      assertScope(scope);
      const rows = await findRows(connection, 'svc_posting', {
        columns: ['scope_id', 'term', 'bucket'],
        rows: keys.map(({ term, bucket }) => [toScopeId(scope), term, bucket]),
        select: SELECTED,
      });
      return rows.map(toPosting);
    },

    async listTerms(scope, prefix, limit) {
      assertScope(scope);
      const terms = textsFrom('p.term', prefix, null);
      const rows = await connection.all(
        'select distinct p.term from svc_scope s cross join svc_posting p on p.scope_id = s.scope_id' +
          ` where s.scope_id = ? and s.scope = ? and ${terms.where}` +
          ' order by p.term limit ?',
        [toScopeId(scope), scope, ...terms.parameters, limit],
      );
      return rows.map((row) => toText(row['term']));
    },

    async listFiles(scope, from, limit) {
      assertScope(scope);
      const rows = await connection.all(
        'select file_no, version, terms from svc_index_doc' +
          ' where scope_id = ? and file_no >= ? order by file_no limit ?',
        [toScopeId(scope), from, limit],
      );
      return rows.map((row) => ({
        fileNo: toInteger(row['file_no']),
        version: toInteger(row['version']),
        terms: row['terms'] as Uint8Array,
      }));
    },
  };
}

const SELECTED = ['t.term', 't.bucket', 't.postings'];

function toPosting(row: Row): OldPosting {
  return {
    term: toText(row['term']),
    bucket: toInteger(row['bucket']),
    bytes: row['postings'] as Uint8Array,
  };
}

/** Removes up to about `limit` old rows of a scope. Returns whether none are left. */
export async function dropOldRows(
  connection: Connection,
  scopeId: number,
  limit: number,
): Promise<boolean> {
  for (const { table, key } of [
    { table: 'svc_posting', key: 'term' },
    { table: 'svc_index_doc', key: 'file_no' },
  ]) {
    const [row] = await connection.all(
      `select ${key} as last from ${table} where scope_id = ? order by ${key} limit 1 offset ?`,
      [scopeId, limit],
    );
    if (row !== undefined) {
      const last = key === 'term' ? toText(row['last']) : toInteger(row['last']);
      await connection.run(`delete from ${table} where scope_id = ? and ${key} <= ?`, [
        scopeId,
        last,
      ]);
      return false;
    }
    await connection.run(`delete from ${table} where scope_id = ?`, [scopeId]);
  }
  return true;
}
