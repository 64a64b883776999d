import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';

/** Tells whether a file is still the same, without its content. */
export interface FileStamp {
  /** The file itself, its size and when its content changed. */
  content: string;
  /** When anything of it changed, its links and rights too. */
  changed: string;
  size: number;
  /** Milliseconds since 1970: the later of both times. */
  at: number;
}

/** The stamp of what stands at a path, itself and not what it links to; `null` unless it is a plain file. */
export async function stampOf(path: string): Promise<FileStamp | null> {
  const found = await lstat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  return found?.isFile() === true ? toStamp(found) : null;
}

/** The stamp of a plain file. */
export function toStamp({ ino, dev, size, mtimeNs, ctimeNs }: BigIntStats): FileStamp {
  const later = mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
  return {
    content: `${dev}:${ino}:${size}:${mtimeNs}`,
    changed: String(ctimeNs),
    size: Number(size),
    at: Number(later / 1_000_000n),
  };
}

/** When the content of a file last changed, milliseconds since 1970. */
export function contentChangedAt({ content }: FileStamp): number {
  const mtimeNs = content.slice(content.lastIndexOf(':') + 1);
  return Number(BigInt(mtimeNs) / 1_000_000n);
}

/** Whether nothing of a file has changed. */
export function isSameStamp(one: FileStamp, other: FileStamp): boolean {
  return one.content === other.content && one.changed === other.changed;
}
