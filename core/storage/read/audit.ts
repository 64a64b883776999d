import type { AuditStore } from '../../contracts/storage.ts';
import type { StoreDatabase } from '../store-database.ts';
import { readIdSkew } from '../write/id-skew.ts';
import { withinTimes } from './id-walk.ts';
import { containsText, matches, readPage, toIdPage, walkIndex } from './page.ts';
import { AUDIT_ROWS } from '../schema/records.ts';

/** Makes the admin's list of changes. Each change writes its own row. */
export function createAuditStore(database: StoreDatabase): AuditStore {
  return {
    list: (filter, page) =>
      database.list(async (connection) => {
        const idPage = toIdPage(page);
        const times = withinTimes('u', await readIdSkew(connection), filter);
        const action = filter.action ?? null;
        return await readPage(connection, {
          ...idPage,
          pick: { id: 'u.id' },
          walk: () =>
            action === null
              ? connection.knex('svc_admin_audit as u')
              : walkIndex(connection, 'svc_admin_audit', {
                  as: 'u',
                  index: 'svc_admin_audit_action',
                }).where('u.action', action),
          bounds: times.walk,
          complete: (query) => {
            query
              .joinRaw('cross join svc_admin_audit u on u.id = k.id')
              .select(AUDIT_ROWS.select('u'));
          },
          filters: [
            ...times.filters,
            ...matches({ 'u.operator': filter.operator }),
            ...containsText(connection, 'u.target', filter.contains),
          ],
          toItem: (row) => AUDIT_ROWS.toRecord(row),
        });
      }),
  };
}
