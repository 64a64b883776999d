import type { NewRevision } from '../contracts/records.ts';
import { hashText } from '../files/content.ts';
import type { Finding } from '../schemas/jobs.ts';
import { applyDelta, type Delta } from './delta.ts';
import { decodeDelta } from './delta/codec.ts';

/** A revision as {@link HistoryCheck} takes it. */
export type CheckedRevision = Pick<
  NewRevision,
  | 'id'
  | 'version'
  | 'at'
  | 'size'
  | 'hash'
  | 'redacted'
  | 'redactedBefore'
  | 'existedBefore'
  | 'existsAfter'
>;

/** The step back of a revision. */
export type CheckedStep = Pick<NewRevision, 'delta' | 'keyframe'>;

/** What is wrong with a version of a file: "Version 3 …" or "at version 3 …", without content. */
export interface HistoryProblem {
  invariant: Finding['invariant'];
  version: number;
  what: string;
}

/**
 * Checks the history of a file, from its present content back to its oldest revision. Holds one content
 * in memory at a time. `verify` and the import use the same rules, so `verify` never reports damage in
 * what an import accepted. Each stored text must have the hash of its revision. A redacted text must
 * have line breaks alone. {@link before} is the text before the oldest revision.
 */
export class HistoryCheck {
  #after: string | null | undefined;
  #expected: number;
  #newer: CheckedRevision | null = null;

  /** @param file the file as it is now; `content` is `null` for a deleted one. */
  constructor(file: { content: string | null; version: number }) {
    this.#after = file.content;
    this.#expected = file.version;
  }

  /** The text before the last revision; `undefined` if the history is broken there. */
  get before(): string | null | undefined {
    return this.#after;
  }

  /** Checks the next older revision. `undefined` for a step that is missing. */
  next(row: CheckedRevision, step: CheckedStep | undefined): HistoryProblem[] {
    const found: HistoryProblem[] = [];
    const { version } = row;
    const add = (invariant: Finding['invariant'], what: string) =>
      found.push({ invariant, version, what });
    const newer = this.#newer;
    if (version !== this.#expected) {
      add(newer === null ? 'I2' : 'I8', `comes in the place of ${this.#expected}`);
    }
    this.#checkOrder(row, newer, add);
    this.#checkContent(row, newer, add);
    this.#after = this.#after === undefined ? undefined : this.#stepBack(row, step, add);
    this.#newer = row;
    this.#expected = version - 1;
    return found;
  }

  /** What is wrong with the oldest revision, once there are no more. */
  end(): HistoryProblem[] {
    const oldest = this.#newer;
    if (oldest?.version !== 1 || !oldest.existedBefore) return [];
    return [{ invariant: 'I3', version: 1, what: 'existed before its first version' }];
  }

  #checkOrder(row: CheckedRevision, newer: CheckedRevision | null, add: Add): void {
    if (newer === null) return;
    if (row.id >= newer.id) add('I8', 'is not older than the next one: its id is greater');
    if (row.at > newer.at) add('I8', 'is not older than the next one: its time is later');
    if (row.existsAfter !== newer.existedBefore) add('I3', 'does not lead to the next one');
    if (row.redacted !== newer.redactedBefore) {
      add('I3', 'and the next one say different things of a redaction');
    }
  }

  #checkContent(row: CheckedRevision, newer: CheckedRevision | null, add: Add): void {
    if (row.redacted !== (row.hash === null)) {
      add('I3', row.redacted ? 'is redacted, and has a hash' : 'has no hash of its content');
    }
    if ((row.redacted && !row.existsAfter) || (row.redactedBefore && !row.existedBefore)) {
      add('I3', 'is redacted where it has no content');
    }
    const after = this.#after;
    if (after === undefined) return;
    if (row.existsAfter !== (after !== null)) add('I3', 'exists, or does not, wrongly');
    if (row.redacted) {
      // A file's present content can't be redacted, so this one would be under no hash.
      if (newer === null) add('I3', 'is redacted, and is the present one');
      return;
    }
    if (hashText(after ?? '') !== row.hash || Buffer.byteLength(after ?? '') !== row.size) {
      add('I3', 'does not have the content that it names');
    }
  }

  #stepBack(
    row: CheckedRevision,
    step: CheckedStep | undefined,
    add: Add,
  ): string | null | undefined {
    const broken = (what: string): undefined => void add('I3', what);
    if (step === undefined) return broken('does not lead to the one before it');
    const { delta: bytes, keyframe } = step;
    if (!row.existedBefore) {
      if (bytes !== null || keyframe !== null) add('I3', 'has a content before the file existed');
      return null;
    }
    let delta: Delta | null;
    try {
      delta = bytes === null ? null : decodeDelta(bytes);
    } catch {
      return broken('has a broken delta');
    }
    if (row.redactedBefore && !isBlank(delta, keyframe)) {
      add('I3', 'still has text of a content that was redacted');
    }
    if (delta === null) return keyframe ?? broken('does not lead to the one before it');
    const after = this.#after;
    if (after === undefined || after === null) {
      return broken('has a delta, but not the content that it belongs to');
    }
    try {
      const before = applyDelta(after, delta);
      if (keyframe === null || keyframe === before) return before;
    } catch {
      return broken('has a broken delta');
    }
    return broken('has a delta and a keyframe that differ');
  }
}

type Add = (invariant: Finding['invariant'], what: string) => void;

/** Whether a step back adds nothing but line breaks, as those to a redacted content do. */
function isBlank(delta: Delta | null, keyframe: string | null): boolean {
  const texts = [...(delta?.hunks ?? []).map(({ text }) => text), keyframe ?? ''];
  return (
    texts.every((text) => /^\n*$/.test(text)) &&
    (delta?.hunks ?? []).every(({ prefix, suffix }) => prefix === 0 && suffix === 0)
  );
}
