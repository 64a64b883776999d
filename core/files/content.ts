import { hash } from 'node:crypto';
import type { FileState } from '../contracts/records.ts';
import { invalidField, MemoryError } from '../errors.ts';

/** Facts stored beside a content, so that lists don't read it. */
export type ContentFacts = Pick<FileState, 'size' | 'lines' | 'hash'>;

/** The facts of a file that does not exist. */
export const NO_CONTENT: ContentFacts = { size: 0, lines: 0, hash: hashText('') };

/**
 * Accepts a content unchanged, or throws `INVALID_CONTENT` (half of a surrogate pair, a NUL) or
 * `PAYLOAD_TOO_LARGE`.
 */
export function checkContent(content: string, maxBytes: number): ContentFacts {
  const size = Buffer.byteLength(content);
  if (size > maxBytes) {
    throw new MemoryError(
      'PAYLOAD_TOO_LARGE',
      `The content has ${size} bytes; a file has at most ${maxBytes}.`,
      { details: { size, limit: maxBytes } },
    );
  }
  if (content.includes('\0')) {
    throw new MemoryError('INVALID_CONTENT', 'The content has a NUL character.');
  }
  if (!content.isWellFormed()) {
    throw new MemoryError('INVALID_CONTENT', 'The content has half of a surrogate pair.');
  }
  return { size, lines: countLines(content), hash: hashText(content) };
}

/** Accepts a reason unchanged, or throws `INVALID_REQUEST` if it couldn't be stored exactly. */
export function checkReason(reason: string | undefined): string | null {
  if (reason === undefined) return null;
  if (!reason.includes('\0') && reason.isWellFormed()) return reason;
  throw invalidField('/reason', 'must be well-formed text without a NUL character', 'reason');
}

/** Throws `INVALID_REQUEST` if a range of lines ends before it starts. */
export function checkLineRange(startLine: number, endLine: number): void {
  if (endLine >= startLine) return;
  throw new MemoryError('INVALID_REQUEST', 'endLine is before startLine.', {
    details: { issues: [{ path: '/endLine', message: 'must not be before startLine' }] },
  });
}

/** Counts lines like `wc -l`, plus one for a last line without a line end. */
export function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return text === '' || text.endsWith('\n') ? lines : lines + 1;
}

/**
 * The lines from `startLine` to `endLine`, counted from 1, both inclusive, with their line ends.
 * Ignores lines beyond the end.
 */
export function sliceLines(text: string, startLine: number, endLine: number): string {
  let from = 0;
  for (let line = 1; line < startLine; line += 1) {
    const end = text.indexOf('\n', from);
    if (end === -1) return '';
    from = end + 1;
  }
  let to = from;
  for (let line = startLine; line <= endLine; line += 1) {
    const end = text.indexOf('\n', to);
    if (end === -1) return text.slice(from);
    to = end + 1;
  }
  return text.slice(from, to);
}

/** SHA-256 of a text's UTF-8, 64 lower-case hex digits. */
export function hashText(text: string): string {
  return hash('sha256', text, 'hex');
}
