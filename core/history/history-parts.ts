import type { Storage } from '../contracts/storage.ts';
import type { Rewriter } from '../erase/rewriter.ts';
import type { AdminFiles } from '../files/admin-files.ts';
import type { KnownErasures } from '../files/known-erasures.ts';
import type { IdSource } from '../ids/ids.ts';
import type { Texts } from './texts.ts';

/** What the parts of the history work with. */
export interface HistoryParts extends Texts {
  storage: Storage;
  /** Reverts go through the one write path. */
  files: Pick<AdminFiles, 'redact' | 'restore'>;
  ids: IdSource;
  now: () => number;
  /** A revert writes nothing of a user who was erased since it read. */
  erasures: Pick<KnownErasures, 'latest'>;
  /** Rewrites the database file after a redaction. */
  rewriter: Pick<Rewriter, 'settle'>;
}
