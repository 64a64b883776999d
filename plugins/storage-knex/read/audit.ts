import type { AuditStore } from '../../../core/contracts/storage.ts';
import type { SqlDatabase } from '../sql-database.ts';
import { readIdSkew } from '../write/id-skew.ts';
import { withinTimes } from './id-walk.ts';
import { toUuid } from '../schema/ids.ts';
import { checkLimit, parseIdPageKey, readPage } from './page.ts';
import { AUDIT_ROWS } from '../schema/records.ts';

/** Makes the admin’s list of changes; their rows are written with the changes themselves. */
export function createAuditStore(database: SqlDatabase): AuditStore {
  return {
    list: (filter, page) =>
      database.list(async (connection) => {
        const after = parseIdPageKey(page.after);
        const times = withinTimes('u', await readIdSkew(connection), filter);
        const action = filter.action ?? null;
        return await readPage(connection, {
          limit: checkLimit(page.limit),
          order: page.order,
          pick: { id: 'u.id' },
          key: ['id'],
          isOrdered: true,
          after: after === null ? null : [after],
          walk: () => {
            const query =
              action === null
                ? connection.knex('svc_admin_audit as u')
                : connection.knex
                    .from(
                      connection.knex.raw(
                        connection.dialect.byIndex(
                          'svc_admin_audit',
                          'u',
                          'svc_admin_audit_action',
                        ),
                      ),
                    )
                    .where('u.action', action);
            return query;
          },
          bounds: times.walk,
          complete: (query) => {
            query
              .joinRaw('cross join svc_admin_audit u on u.id = k.id')
              .select(AUDIT_ROWS.select('u'));
          },
          filters: times.filters,
          toItem: (row) => AUDIT_ROWS.toRecord(row),
          toPageKey: (row) => [toUuid(row['id'] as Uint8Array)],
        });
      }),
  };
}
