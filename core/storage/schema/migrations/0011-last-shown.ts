import type { Connection } from '../../dialect.ts';
import { column, integer, type Migration } from '../migration.ts';

/** When an agent was last shown something of a scope, also by a search. */
export const lastShown: Migration = {
  version: 11,
  name: 'last shown',
  steps: [
    column('svc_file_stat', integer('last_shown_at', { nullable: true })),
    { changeRows: { name: 'take the last read as the last time shown', run: takeLastRead } },
  ],
};

/** Earlier searches are only in the access log, which is too long to walk at a start. */
async function takeLastRead(connection: Connection): Promise<void> {
  await connection.run(
    'update svc_file_stat set last_shown_at = last_read_at' +
      ' where file_no = 0 and last_shown_at is null',
    [],
  );
}
