import type { FileState, NewRevision } from '../../contracts/records.ts';
import { hashText } from '../../files/content.ts';
import { randomHex } from '../../ids/ids.ts';
import { type Base, hashRow } from '../chain.ts';
import { applyDelta } from '../delta.ts';
import { decodeDelta } from '../delta/codec.ts';
import type { HistoryParts } from '../history-parts.ts';
import { walkVersions, type WalkedVersion } from '../walk-versions.ts';
import { redactStep } from './redact-step.ts';
import type { Replacer } from './replacer.ts';

/** The most versions, and bytes of their rows, of one transaction. */
const PART = { rows: 1_000, bytes: 8 * 1024 * 1024 } as const;

/** A version that shows the text. */
export interface FoundVersion {
  version: number;
  /** `null` where only the reason of its revision has the text. */
  content: string | null;
}

/** What one transaction changes of a file. */
export interface RedactionPart {
  file: FileState;
  /** The present content without the text; `null` if it has none. */
  content: string | null;
  /** The rows as they are, and as they will be but for their ids of the redaction, ascending. */
  from: readonly NewRevision[];
  to: readonly NewRevision[];
  /** Versions whose content changes, and how many reasons do. */
  found: number;
  reasons: number;
  /** The text before the oldest revision, if it changes. */
  base: Base | null;
  /** Whether no other version has the text. */
  isLast: boolean;
}

/** How a file is looked through. */
interface PlanOptions {
  replacer: Replacer;
  /** A version that keeps the text for now. */
  keep: number | null;
  /** Only looks at all versions: the part that is returned has no rows. */
  onlyLooks: boolean;
  /** Called for each version that has the text, newest first. */
  onFound?: (found: FoundVersion) => void;
  /** Called with each row. */
  onRow?: (row: NewRevision) => void;
}

/** A version on the way, with its text as it will be. */
interface PlannedVersion extends WalkedVersion {
  now: string | null;
}

/**
 * Plans the next part of the redaction of a file: it goes from the present content back, and takes the
 * newest versions with the text, as many as one transaction may have. After each part every version can
 * be read, and is under a hash. `null` if no version has the text.
 */
export async function planPart(
  parts: HistoryParts,
  file: FileState,
  { replacer, keep, onlyLooks, onFound, onRow }: PlanOptions,
): Promise<RedactionPart | null> {
  const rows: { from: NewRevision; to: NewRevision }[] = [];
  let content: string | null = null;
  let base: Base | null = null;
  let [found, reasons, bytes] = [0, 0, 0];
  let newer: PlannedVersion | null = null;
  let isFull = false;
  let isLast = true;
  for await (const walked of walkVersions(parts, file)) {
    const { version, text, row, isShown } = walked;
    const isKept = version === keep || isFull;
    const now = toNow({ walked, newer, isKept, replacer });
    if (row !== null) onRow?.(row);
    if (newer !== null && !onlyLooks) bytes += finish(newer, { text, now });
    if (isFull) {
      newer = null;
      isLast = false;
      break;
    }
    const hasText = isShown && now !== text;
    const hasReason = replacer.isIn(row?.reason ?? '');
    if (hasText) found += 1;
    if (hasReason) reasons += 1;
    if (hasText || hasReason) onFound?.({ version, content: hasText ? text : null });
    if (hasText && version === file.version) content = now;
    if (row === null && hasText && now !== null) {
      base = {
        scope: file.scope,
        path: file.path,
        fileNo: file.fileNo,
        version,
        contentHash: hashText(now),
      };
    }
    isFull = rows.length >= PART.rows || bytes >= PART.bytes;
    newer = { ...walked, now };
  }
  if (newer !== null && !onlyLooks) finish(newer, { text: null, now: null });
  if (rows.length === 0 && found === 0 && reasons === 0) return null;
  rows.reverse();
  return {
    file,
    content,
    from: rows.map(({ from }) => from),
    to: rows.map(({ to }) => to),
    found,
    reasons,
    base,
    isLast,
  };

  /** Adds a row, now that the text before it is known, if it changes. Returns the bytes of its step. */
  function finish(
    { row, text, now, isShown }: PlannedVersion,
    older: { text: string | null; now: string | null },
  ): number {
    if (row === null) return 0;
    const to = redactRow(row, { text, now, isShown, older, replacer });
    if (to === null) return 0;
    rows.push({ from: row, to });
    return (to.delta?.byteLength ?? 0) + (to.keyframe?.length ?? 0);
  }
}

/** A version's text as it will be. */
function toNow({
  walked: { text },
  newer,
  isKept,
  replacer,
}: {
  walked: WalkedVersion;
  newer: PlannedVersion | null;
  isKept: boolean;
  replacer: Replacer;
}): string | null {
  if (text === null) return null;
  const step = newer?.row;
  if (step?.redactedBefore === true) {
    // Its own lines are blank, and it shows the newer text in the others: they follow that.
    const newerNow = newer?.now ?? null;
    return step.delta === null || newerNow === null
      ? text
      : applyDelta(newerNow, decodeDelta(step.delta));
  }
  return isKept ? text : replacer.inContent(text);
}

/** A row as the redaction leaves it; `null` if it stays as it is. */
function redactRow(
  row: NewRevision,
  {
    text,
    now,
    isShown,
    older,
    replacer,
  }: Pick<PlannedVersion, 'text' | 'now' | 'isShown'> & {
    older: { text: string | null; now: string | null };
    replacer: Replacer;
  },
): NewRevision | null {
  const isContent = isShown && text !== now && now !== null;
  const reason = row.reason === null ? null : replacer.inContent(row.reason);
  const isStep = row.existedBefore && (text !== now || older.text !== older.now);
  if (!isContent && !isStep && reason === row.reason) return null;
  const step =
    isStep && !row.redactedBefore && older.text !== null && older.now !== null
      ? redactStep(row, {
          older: older.text,
          newer: text ?? '',
          olderNow: older.now,
          newerNow: now ?? '',
        })
      : row;
  // Of an unreadable content the row tells what it told when it was written.
  const counts = row.redacted ? row : step;
  const to: NewRevision = {
    ...row,
    reason,
    delta: step.delta,
    keyframe: step.keyframe,
    addedLines: counts.addedLines,
    removedLines: counts.removedLines,
  };
  if (isContent) {
    to.size = Buffer.byteLength(now);
    to.hash = hashText(now);
    if (row.chainHash !== null) to.contentSalt = randomHex(16);
  }
  return to;
}

/** Whether a row says something else now than before: a redaction lists it then. */
export function isChangedRow(from: NewRevision, to: NewRevision): boolean {
  return hashRow(from) !== hashRow(to);
}
