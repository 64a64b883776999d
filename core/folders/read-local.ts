import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { ARCHIVE_LIMITS } from '../archive/read.ts';
import { hashText } from '../files/content.ts';
import { type FileStamp, isSameStamp, toStamp } from './file-stamp.ts';

/** What a file of the folder holds. */
export type LocalText =
  | { kind: 'text'; text: string; hash: string; stamp: FileStamp }
  /** Memory does not take it. */
  | { kind: 'no_text'; why: string; stamp: FileStamp }
  /** It changed while it was read, or is gone: look again later. */
  | { kind: 'moving' }
  | { kind: 'unreadable'; why: string };

/** Reads a plain file, and notices when it changes meanwhile. Follows no link, and waits for no pipe. */
export async function readLocal(path: string): Promise<LocalText> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  let file;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    return toFault(error as NodeJS.ErrnoException);
  }
  try {
    const found = await file.stat({ bigint: true });
    if (!found.isFile()) return { kind: 'moving' };
    const stamp = toStamp(found);
    if (stamp.size > ARCHIVE_LIMITS.fileBytes) {
      const why = `it has ${stamp.size} bytes; a memory file has at most ${ARCHIVE_LIMITS.fileBytes}`;
      return { kind: 'no_text', why, stamp };
    }
    const bytes = await file.readFile();
    const after = toStamp(await file.stat({ bigint: true }));
    if (!isSameStamp(stamp, after) || bytes.length !== stamp.size) return { kind: 'moving' };
    if (!isUtf8(bytes) || bytes.includes(0)) {
      return { kind: 'no_text', why: 'it is not UTF-8 text', stamp };
    }
    const text = bytes.toString();
    return { kind: 'text', text, hash: hashText(text), stamp };
  } catch (error) {
    return toFault(error as NodeJS.ErrnoException);
  } finally {
    await file.close();
  }
}

function toFault(error: NodeJS.ErrnoException): LocalText {
  if (error.code === undefined) throw error;
  // A link now stands there, or nothing.
  if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code)) return { kind: 'moving' };
  return { kind: 'unreadable', why: `it can't be read (${error.code})` };
}
