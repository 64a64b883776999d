import type { FileState, NewRevision } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { createPause } from '../time/pause.ts';
import { stepBack, type Texts } from './texts.ts';

/** Rows read in one query: each may hold a whole content. */
const ROWS_READ = 16;

/** A version of a file, as {@link walkVersions} meets it. */
export interface WalkedVersion {
  version: number;
  /** The stored text, `null` where the file did not exist. Of a redacted version it is not the content. */
  text: string | null;
  /** `null` where its revision is pruned. */
  row: NewRevision | null;
  /** Whether the text is the content: `false` for a version whose content was taken out. */
  isShown: boolean;
}

/**
 * Goes through the versions of a file from its present one, or from an earlier one, back to the oldest
 * whose text is kept: that is the one before the oldest revision. It holds one text in memory. A
 * redaction, a prune or an erasure meanwhile ends it early, or shows in what comes later.
 */
export async function* walkVersions(
  { storage, storedTextAt }: { storage: Pick<Storage, 'revisions'> } & Pick<Texts, 'storedTextAt'>,
  file: FileState,
  from = file.version,
): AsyncGenerator<WalkedVersion, void> {
  const { revisions } = storage;
  const pause = createPause();
  let text = from === file.version ? file.content : await storedTextAt(file, from);
  let [newer = null] =
    from === file.version ? [] : await revisions.rows(file, { after: from, upTo: from + 1 });
  for (let at = from; at > 0;) {
    const after = Math.max(0, at - ROWS_READ);
    const rows = await revisions.rows(file, { after, upTo: at });
    for (const row of rows.toReversed()) {
      if (row.version !== at) break;
      yield { version: at, text, row, isShown: !row.redacted };
      newer = row;
      at -= 1;
      text = row.existedBefore ? await readBefore(row, text) : null;
      await pause();
    }
    if (at === after) continue;
    // What is older is pruned.
    const isShown = newer?.redactedBefore !== true;
    if (text !== null) yield { version: at, text, row: null, isShown };
    return;
  }

  async function readBefore(row: NewRevision, after: string | null): Promise<string | null> {
    try {
      return stepBack(after, row);
    } catch {
      // A redaction between two pages, or damage: this looks again, and tells which.
      return await storedTextAt(file, row.version - 1);
    }
  }
}
