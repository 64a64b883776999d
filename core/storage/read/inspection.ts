import type { InspectionStore } from '../../contracts/inspection.ts';
import { assertFileKey, assertScope } from '../../files/paths.ts';
import type { StoreDatabase } from '../store-database.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { PRUNED_REVISIONS, SCOPES } from '../schema/records.ts';
import { listFiles } from './files.ts';

/**
 * Makes the reads that only `verify` needs: content of the tables that the other stores don't show.
 */
export function createInspectionStore(database: StoreDatabase): InspectionStore {
  return {
    scopes: (after, limit) =>
      database.read(async (connection) => {
        const rows = await connection.all(
          `select ${SCOPES.select('s').join(', ')} from svc_scope s where scope > ? order by scope limit ?`,
          [after ?? '', limit],
        );
        return rows.map((row) => SCOPES.toRecord(row));
      }),

    async scope(scope) {
      assertScope(scope);
      return await database.read(async (connection) => {
        const [row] = await connection.all(
          `select ${SCOPES.select('s').join(', ')} from svc_scope s where scope_id = ? and scope = ?`,
          [toScopeId(scope), scope],
        );
        return row === undefined ? null : SCOPES.toRecord(row);
      });
    },

    async files(scope, page) {
      assertScope(scope);
      return await database.read((connection) =>
        listFiles(connection, scope, { ...page, prefix: '', deleted: true }),
      );
    },

    async pruned(scope, { after, limit }) {
      assertScope(scope);
      const least = after === null ? Buffer.alloc(16) : parseIdBytes(after);
      if (least === null) return [];
      return await database.read(async (connection) => {
        const rows = await connection.all(
          `select ${PRUNED_REVISIONS.select('p').join(', ')} from svc_scope s cross join svc_pruned_revision p` +
            ' on p.scope_id = s.scope_id where s.scope_id = ? and s.scope = ? and p.id > ?' +
            ' order by p.id limit ?',
          [toScopeId(scope), scope, least, limit],
        );
        return rows.map((row) => PRUNED_REVISIONS.toRecord(row, scope));
      });
    },

    async prunedOf(scope, id) {
      assertScope(scope);
      const bytes = parseIdBytes(id);
      if (bytes === null) return null;
      return await database.read(async (connection) => {
        const [row] = await connection.all(
          `select ${PRUNED_REVISIONS.select('p').join(', ')} from svc_pruned_revision p` +
            ' where p.scope_id = ? and p.id = ?',
          [toScopeId(scope), bytes],
        );
        return row === undefined ? null : PRUNED_REVISIONS.toRecord(row, scope);
      });
    },

    async bases(key) {
      assertFileKey(key);
      return await database.read(async (connection) => {
        const rows = await connection.all(
          `select ${PRUNED_REVISIONS.select('p').join(', ')} from svc_scope s` +
            ' cross join svc_file f on f.scope_id = s.scope_id cross join svc_pruned_revision p' +
            ' on p.scope_id = f.scope_id and p.file_no = f.file_no' +
            ' where s.scope_id = ? and s.scope = ? and f.path = ? and p.content_hash is not null' +
            ' order by p.version',
          [toScopeId(key.scope), key.scope, key.path],
        );
        return rows.map((row) => PRUNED_REVISIONS.toRecord(row, key.scope));
      });
    },

    problems: async () => await database.inspect(),

    orphans: (limit) =>
      database.read(async (connection) => {
        const found: string[] = [];
        for (const { what, of, sql } of ORPHANS) {
          const rows = await connection.all(sql, [limit - found.length]);
          for (const row of rows) {
            const count = toInteger(row['orphans']);
            const scope = toInteger(row['scope_id']);
            found.push(`${count} ${what} of the scope with the number ${scope} lack their ${of}`);
          }
          if (found.length >= limit) break;
        }
        return found;
      }),
  };
}

const ofFile = 'f.scope_id = t.scope_id and f.file_no = t.file_no';
const withoutFile = (table: string) =>
  `select t.scope_id, count(*) as orphans from ${table} t` +
  ` left join svc_file f on ${ofFile} where f.scope_id is null` +
  ' group by t.scope_id order by t.scope_id limit ?';

const ORPHANS = [
  { what: 'revisions', of: 'file', sql: withoutFile('svc_revision') },
  { what: 'contents', of: 'file', sql: withoutFile('svc_content') },
  {
    what: 'files',
    of: 'scope',
    sql:
      'select t.scope_id, count(*) as orphans from svc_file t' +
      ' left join svc_scope s on s.scope_id = t.scope_id where s.scope_id is null' +
      ' group by t.scope_id order by t.scope_id limit ?',
  },
] as const;
