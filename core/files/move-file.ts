import type { FileKey } from '../contracts/records.ts';
import { checkReason, type ContentFacts } from './content.ts';
import { deletion, type Draft, type Written } from './draft.ts';

/** How a file moves. */
interface Move {
  from: FileKey;
  to: FileKey;
  /** Its new content; by default it brings its own. */
  content?: { text: string; facts: ContentFacts } | undefined;
  reason?: string | undefined;
  ifVersion?: number | undefined;
}

/** Moves a file to a path where none is. Throws `VERSION_CONFLICT`, and `FILE_NOT_FOUND` without a file. */
export function moveFile(draft: Draft, move: Move): Written {
  const { from, to } = move;
  const { content: old, size, lines, hash } = draft.required(from);
  draft.expectVersion(from, move.ifVersion);
  draft.expectVersion(to, 0);
  const reason = checkReason(move.reason);
  // Removes the source first, so that a move inside a full scope stays within its quota.
  const left = draft.put(from, deletion('move', reason));
  const { text, facts } = move.content ?? { text: old, facts: { size, lines, hash } };
  const arrived = draft.put(to, { content: text, facts, action: 'move', reason, moved: old });
  draft.pair(left.revisionId, arrived.revisionId);
  return arrived;
}
