import type { FileKey, RevisionRecord, ScopeKey } from '../contracts/records.ts';
import type { FileAt, RevisionStore } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { toTime } from '../time/time.ts';
import type { HistoryParts } from './history-parts.ts';

/** The most files that one call of {@link memoryAt} examines. */
const MAX_FILES_AT = 500;

/** A file that a scope ever had, as it was at a time. */
export interface EarlierFile extends FileAt {
  /** `pruned`: it existed by then, but the history of that time is gone. */
  state: 'present' | 'absent' | 'pruned';
}

/** A part of a scope's memory at a time. */
export interface EarlierMemory {
  files: EarlierFile[];
  /** The path to go on after; `null` at the end. */
  next: string | null;
}

/** A file's content at a time. */
export interface EarlierText {
  content: string;
  /** The revision that wrote it. */
  revision: RevisionRecord;
}

/**
 * Reads which files a scope had at a time, by path, without their contents. Each call examines at
 * most `limit` files (500), those that were absent then too; `next` goes on after them.
 */
export async function memoryAt(
  revisions: Pick<RevisionStore, 'listAt'>,
  scope: ScopeKey,
  options: { at: number; limit?: number; prefix?: string; after?: string | null },
): Promise<EarlierMemory> {
  const { at, prefix = '', after = null } = options;
  const limit = Math.min(options.limit ?? MAX_FILES_AT, MAX_FILES_AT);
  const files = await revisions.listAt(scope, { time: at, prefix, after, limit });
  return {
    files: files.map((file) => ({ ...file, state: toState(file, at) })),
    next: files.length < limit ? null : (files.at(-1)?.file.path ?? null),
  };
}

/**
 * Reads a file's content at a time. Throws `FILE_NOT_FOUND` if it did not exist then, and
 * `REVISION_NOT_FOUND` if the history of that time is pruned or redacted.
 */
export async function fileAt(
  { storage, textAt }: Pick<HistoryParts, 'storage' | 'textAt'>,
  key: FileKey,
  { at }: { at: number },
): Promise<EarlierText> {
  const path = toPhysicalPath(key);
  const details = { path, at: toTime(at) };
  const options = { at, prefix: key.path, limit: 1 };
  const { files } = await memoryAt(storage.revisions, key.scope, options);
  // The file with the exact path comes before all others that start with it.
  const found = files.find(({ file }) => file.path === key.path);
  if (found === undefined || found.state === 'absent') {
    throw new MemoryError('FILE_NOT_FOUND', `${path} did not exist at ${details.at}.`, { details });
  }
  const { revision } = found;
  const content = revision === null ? null : await textAt(key, revision.version);
  if (revision === null || content === null) {
    const why = revision?.redacted === true ? 'redacted' : 'pruned';
    const message = `The content of ${path} at ${details.at} is ${why}.`;
    throw new MemoryError('REVISION_NOT_FOUND', message, { details });
  }
  return { content, revision };
}

function toState({ file, revision }: FileAt, at: number): EarlierFile['state'] {
  if (revision !== null) return revision.existsAfter ? 'present' : 'absent';
  return file.createdAt <= at ? 'pruned' : 'absent';
}
