import { createHash } from 'node:crypto';
import type { Passage } from '../text/passages.ts';

/** The size of a text's hash, in bytes. */
const HASH_BYTES = 16;

/**
 * The text to embed for a passage: its headings and its own text. Without the path, so that a moved
 * file keeps its vectors.
 */
export function toEmbeddedText(content: string, { start, end, context }: Passage): string {
  const text = content.slice(start, end);
  return context.length === 0 ? text : `${context.join('\n')}\n\n${text}`;
}

/** The key of a text's vector: the first 16 bytes of its SHA-256 as 32 hex digits. */
export function hashText(text: string): string {
  return createHash('sha256')
    .update(text, 'utf8')
    .digest('hex')
    .slice(0, HASH_BYTES * 2);
}

/**
 * The hashes of a file's passages in order, 16 bytes each, with a pause after each for which
 * `pause` returns one.
 */
export async function packHashes(
  content: string,
  passages: readonly Passage[],
  pause: () => Promise<void> | undefined,
): Promise<Uint8Array> {
  const hashes = new Uint8Array(passages.length * HASH_BYTES);
  for (const [index, passage] of passages.entries()) {
    const digest = createHash('sha256').update(toEmbeddedText(content, passage), 'utf8').digest();
    hashes.set(digest.subarray(0, HASH_BYTES), index * HASH_BYTES);
    const paused = pause();
    if (paused !== undefined) await paused;
  }
  return hashes;
}

/** The hashes of a list, each as 32 hex digits. */
export function unpackHashes(hashes: Uint8Array): string[] {
  const hex = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength).toString('hex');
  const size = HASH_BYTES * 2;
  return Array.from({ length: Math.floor(hex.length / size) }, (_, index) =>
    hex.slice(index * size, (index + 1) * size),
  );
}
