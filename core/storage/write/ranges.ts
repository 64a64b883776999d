import type { RowRange } from '../../contracts/storage.ts';
import type { Connection } from '../dialect.ts';
import type { LockedRange } from './locked-range.ts';
import { lockOldRevisions } from './old-revisions.ts';
import { lockUserRows } from './user-rows.ts';

/** Reads the keys of a range's rows. Call it with the rows of the mutation's scopes locked. */
export async function lockRange(connection: Connection, range: RowRange): Promise<LockedRange> {
  switch (range.kind) {
    case 'user':
      return await lockUserRows(connection, range);
    case 'revisions':
      return await lockOldRevisions(connection, range);
  }
}
