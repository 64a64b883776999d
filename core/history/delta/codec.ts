import { LARGEST_VARINT, VarintReader, writeVarint } from '../../encoding/varints.ts';
import { type Delta, type Hunk, invalidDelta } from '../delta.ts';

/** First byte of an encoded delta. */
const FORMAT = 1;

/**
 * Encodes a delta for storage. Byte 1 is the format; then varints (7 bits a byte, the low ones
 * first) for the number of hunks and, for each, the lines since the end of the last hunk,
 * `removed`, `addedLines`, `prefix`, `suffix` and the bytes of its text, followed by that UTF-8.
 *
 * One change takes about 8 bytes plus the removed text. If every other line of a text with tiny lines
 * changed, the delta is larger than the text, up to about three times.
 *
 * @throws MemoryError `INTERNAL` when a text holds half of a surrogate pair, which UTF-8 cannot
 * encode, or when hunks overlap or are out of order.
 */
export function encodeDelta(delta: Delta): Uint8Array {
  let capacity = 6;
  for (const { text } of delta.hunks) capacity += 6 * 5 + Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(capacity);
  bytes[0] = FORMAT;
  let at = writeVarint(bytes, 1, delta.hunks.length);
  let line = 0;
  for (const { start, removed, addedLines, prefix, suffix, text } of delta.hunks) {
    if (!text.isWellFormed()) throw invalidDelta('The text is not well-formed Unicode.');
    const length = Buffer.byteLength(text);
    for (const value of [start - line, removed, addedLines, prefix, suffix, length]) {
      if (!(value >= 0 && value <= LARGEST_VARINT))
        throw invalidDelta('The hunks are not in order.');
      at = writeVarint(bytes, at, value);
    }
    at += bytes.write(text, at);
    line = start + removed;
  }
  // A copy, so that a cached delta doesn't keep the worst-case allocation alive. A Buffer, since not
  // every driver treats a plain Uint8Array as binary.
  return Buffer.from(bytes.subarray(0, at));
}

/**
 * Decodes the bytes of {@link encodeDelta}.
 *
 * @throws MemoryError `INTERNAL` when the bytes are invalid: another format, truncated, followed by
 * other bytes, numbers out of range or not in their shortest form, or text that is not UTF-8.
 */
export function decodeDelta(bytes: Uint8Array): Delta {
  const reader = new VarintReader(bytes, 1);
  const readNumber = (): number => {
    const value = reader.read();
    if (reader.isDamaged) throw invalidDelta('The delta is cut short or holds a malformed number.');
    return value;
  };
  if (bytes[0] !== FORMAT) throw invalidDelta('The delta has an unknown format.');
  const hunks: Hunk[] = [];
  let line = 0;
  // Each hunk reads bytes or throws, so even a huge count can't run past the end.
  for (let left = readNumber(); left > 0; left--) {
    const start = line + readNumber();
    const removed = readNumber();
    const addedLines = readNumber();
    const prefix = readNumber();
    const suffix = readNumber();
    const length = readNumber();
    const text = decodeText(bytes, reader.at, length);
    reader.at += length;
    hunks.push({ start, removed, addedLines, prefix, suffix, text });
    line = start + removed;
  }
  if (reader.at !== bytes.length) throw invalidDelta('The delta is followed by other bytes.');
  return { hunks };
}

function decodeText(bytes: Uint8Array, start: number, length: number): string {
  if (length > bytes.length - start) throw invalidDelta('The delta is cut short.');
  try {
    return strictUtf8.decode(bytes.subarray(start, start + length));
  } catch (error) {
    throw invalidDelta('The delta holds text that is not UTF-8.', error);
  }
}

/** Rejects malformed UTF-8 and keeps a byte order mark, which is part of the text. */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
