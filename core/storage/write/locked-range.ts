import type { FoundRows } from '../../contracts/storage.ts';
import type { Connection } from '../dialect.ts';

/** The rows of a range, which a mutation may remove. */
export interface LockedRange extends FoundRows {
  remove(connection: Connection): Promise<void>;
}
