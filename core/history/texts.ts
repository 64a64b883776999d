import type { FileKey, RevisionRecord, RevisionStep } from '../contracts/records.ts';
import type { RunRevision } from '../contracts/plugin.ts';
import type { RevisionChain, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { hashText } from '../files/content.ts';
import { lookAgain } from '../maintenance/look-again.ts';
import { createPause } from '../time/pause.ts';
import { applyDelta } from './delta.ts';
import { decodeDelta } from './delta/codec.ts';
import { takeStart } from '../encoding/take-text.ts';

/** The contents that a storage's revisions lead to. */
export interface Texts {
  /** The content of a file at a version; `null` where it did not exist, is pruned or redacted. */
  textAt(key: FileKey, version: number): Promise<string | null>;
  /** The text that the rows lead to: for a redacted version, one with as many lines. */
  storedTextAt(key: FileKey, version: number): Promise<string | null>;
  /** The content before and after a revision. Throws `REVISION_NOT_FOUND` if it was pruned meanwhile. */
  textsOf(revision: RevisionRecord): Promise<RevisionContents>;
}

/** The content of a file before and after a revision; `null` where the file did not exist. */
export type RevisionContents = NonNullable<RunRevision['contents']>;

/** Reads contents back through the steps of the history, and checks them by their hashes. */
export function createTexts(storage: Pick<Storage, 'revisions' | 'noteDamage' | 'doubtMs'>): Texts {
  const textAt = (key: FileKey, version: number) =>
    noteDamage(storage, () => readTextAt(key, version));

  async function readTextAt(key: FileKey, version: number): Promise<string | null> {
    const chain = await storage.revisions.chain(key, version);
    if (chain === null) return null;
    let { hash }: { hash: string | null } = chain.file;
    if (version !== chain.file.version) {
      const made = await storage.revisions.ofVersion(key, version);
      // Of a pruned revision, the next one tells it.
      const next = made === null ? await storage.revisions.ofVersion(key, version + 1) : null;
      if (made?.redacted === true || next?.redactedBefore === true) return null;
      hash = made?.hash ?? null;
    }
    const content = await walkBack(chain, version);
    if (content === null) return null;
    if (hash !== null && hash !== hashText(content)) throw damagedHistory();
    return content;
  }

  const storedTextAt = (key: FileKey, version: number) =>
    noteDamage(storage, async () => {
      const chain = await storage.revisions.chain(key, version);
      return chain === null ? null : await walkBack(chain, version);
    });

  async function textsOf(revision: RevisionRecord): Promise<RevisionContents> {
    const hasBefore = revision.existedBefore && !revision.redactedBefore;
    const hasAfter = revision.existsAfter && !revision.redacted;
    const before = hasBefore ? await textAt(revision, revision.version - 1) : null;
    const after = hasAfter ? await textAt(revision, revision.version) : null;
    // Pruned since it was found. Treating its contents as absent would let a revert delete the file.
    if (hasBefore !== (before !== null) || hasAfter !== (after !== null)) {
      throw revisionNotFound(revision.id);
    }
    return { before, after };
  }

  return { textAt, storedTextAt, textsOf };
}

/** Whether a revision has its content before and after it: nothing of it was redacted. */
export function isWhole(revision: RevisionRecord): boolean {
  return !revision.redacted && !revision.redactedBefore;
}

/** The error for a revision that there is none of, or none any more. */
export function revisionNotFound(id: string): MemoryError {
  return new MemoryError('REVISION_NOT_FOUND', undefined, { details: { id: takeStart(id, 64) } });
}

/** Walks from the head to a version's content; `null` if it didn't exist or is pruned. */
async function walkBack(chain: RevisionChain, version: number): Promise<string | null> {
  const content = await followSteps(chain, version);
  const { file } = chain;
  if (content === null && file.content === null && file.deletedAt === null) throw damagedHistory();
  return content;
}

/** The text that steps lead to, from the file back to a version; `null` where they don't. */
export async function followSteps(
  { file, steps }: RevisionChain,
  version: number,
): Promise<string | null> {
  const pause = createPause();
  if (version > file.version || version < 0) return null;
  const top = steps.at(-1);
  if (top === undefined) return version === file.version ? file.content : null;
  let content: string | null = file.content;
  // A chain that ends before the head starts with a keyframe or a creation, which need no newer text.
  let at = top.keyframe !== null || !top.existedBefore ? top.version : file.version;
  for (const step of [...steps].reverse()) {
    if (step.version !== at) return null;
    content = step.existedBefore ? stepBack(content, step) : null;
    if (step.existedBefore && content === null) return null;
    at -= 1;
    await pause();
  }
  return at === version ? content : null;
}

/** The content before a revision of a file that existed; `null` without the content after it. */
export function stepBack(
  content: string | null,
  { keyframe, delta }: Pick<RevisionStep, 'keyframe' | 'delta'>,
): string | null {
  if (keyframe !== null) return keyframe;
  if (delta === null) throw damagedHistory();
  if (content === null) return null;
  try {
    return applyDelta(content, decodeDelta(delta));
  } catch (error) {
    throw damagedHistory(error);
  }
}

/**
 * Runs a read of a history, and tells the storage of the damage that it meets. A redaction, a prune or
 * an erasure during the read looks like damage, and so does a disk that fails for a moment. So only
 * damage that later reads meet too counts.
 */
export async function noteDamage<T>(
  storage: Pick<Storage, 'noteDamage' | 'doubtMs'>,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await lookAgain(read, storage.doubtMs);
  } catch (error) {
    if (error instanceof MemoryError) storage.noteDamage?.(error);
    throw error;
  }
}

/** The error for steps that don't fit, or don't lead to the content that was written. */
export function damagedHistory(cause?: unknown): MemoryError {
  return new MemoryError('STORAGE_DAMAGED', 'The stored history of a file is damaged.', {
    details: { reason: 'history' },
    ...(cause === undefined ? {} : { cause }),
  });
}
