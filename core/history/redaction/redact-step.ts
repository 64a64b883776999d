import type { NewRevision } from '../../contracts/records.ts';
import { applyDelta, diffTexts, type Hunk } from '../delta.ts';
import { decodeDelta, encodeDelta } from '../delta/codec.ts';

/** The texts on both sides of a revision, as they were and as a redaction leaves them. */
export interface StepTexts {
  older: string;
  newer: string;
  olderNow: string;
  newerNow: string;
}

/** What a step tells: how to get the older text, and the lines that changed. */
type Step = Pick<NewRevision, 'delta' | 'keyframe' | 'addedLines' | 'removedLines'>;

/**
 * The step of a revision between redacted texts. A redaction keeps the lines of a text, so the recorded
 * hunks still say which lines the revision wrote: only hunks with a redacted line are made anew, each from
 * its own lines.
 */
export function redactStep(row: NewRevision, texts: StepTexts): Step {
  const { older, newer, olderNow, newerNow } = texts;
  const { addedLines, removedLines } = row;
  if (older === olderNow && newer === newerNow) return row;
  const keyframe = row.keyframe === null ? null : olderNow;
  if (!row.existsAfter) return { delta: null, keyframe, addedLines, removedLines };
  if (row.delta === null) {
    const { delta: _delta, steps: _steps, ...counts } = diffTexts(olderNow, newerNow);
    return { delta: null, keyframe, ...counts };
  }
  const hunks = redactHunks(decodeDelta(row.delta).hunks, texts);
  const delta = applies(hunks, texts) ? { hunks } : diffTexts(olderNow, newerNow).delta;
  return {
    delta: encodeDelta(delta),
    keyframe,
    addedLines: delta.hunks.reduce((sum, hunk) => sum + hunk.removed, 0),
    removedLines: delta.hunks.reduce((sum, hunk) => sum + hunk.addedLines, 0),
  };
}

function applies(hunks: Hunk[], { olderNow, newerNow }: StepTexts): boolean {
  try {
    return applyDelta(newerNow, { hunks }) === olderNow;
  } catch {
    return false;
  }
}

function redactHunks(recorded: readonly Hunk[], texts: StepTexts): Hunk[] {
  const older = toLines(texts.older, texts.olderNow);
  const newer = toLines(texts.newer, texts.newerNow);
  const hunks: Hunk[] = [];
  let olderAt = 0;
  let newerAt = 0;
  /** Lines that the revision has not changed; a text over a line break may be redacted on one side only. */
  const keepUpTo = (start: number) => {
    for (; newerAt < start; newerAt += 1, olderAt += 1) {
      if (older.now[olderAt] !== newer.now[newerAt]) addDiff(olderAt + 1, newerAt + 1);
    }
  };
  const addDiff = (olderTo: number, newerTo: number) => {
    const from = older.now.slice(olderAt, olderTo).join('');
    const to = newer.now.slice(newerAt, newerTo).join('');
    for (const hunk of diffTexts(from, to).delta.hunks) {
      hunks.push({ ...hunk, start: hunk.start + newerAt });
    }
  };
  for (const hunk of recorded) {
    keepUpTo(hunk.start);
    const [olderTo, newerTo] = [olderAt + hunk.addedLines, newerAt + hunk.removed];
    if (older.isChanged(olderAt, olderTo) || newer.isChanged(newerAt, newerTo)) {
      addDiff(olderTo, newerTo);
    } else hunks.push(hunk);
    olderAt = olderTo;
    newerAt = newerTo;
  }
  keepUpTo(newer.now.length);
  return hunks;
}

/** The lines of a text, each with its line break, and which of them a redaction changed. */
function toLines(before: string, now: string) {
  const lines = before === now ? null : splitLines(before);
  const nowLines = splitLines(now);
  return {
    now: nowLines,
    isChanged(from: number, to: number): boolean {
      if (lines === null) return false;
      for (let at = from; at < to; at += 1) if (lines[at] !== nowLines[at]) return true;
      return false;
    },
  };
}

function splitLines(text: string): string[] {
  const lines: string[] = [];
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from);
    const to = end < 0 ? text.length : end + 1;
    lines.push(text.slice(from, to));
    from = to;
  }
  return lines;
}
