const LAST_CODE_POINT = 0x10ffff;

/** Longer than any path or key, so it sorts after all of them. */
export const AFTER_ALL = '\u{10ffff}'.repeat(257);

/**
 * The smallest text after all texts that start with `prefix`, in the order of code points (the byte
 * order of UTF-8).
 */
export function successorOf(prefix: string): string {
  const points = [...prefix];
  for (;;) {
    const last = points.pop();
    if (last === undefined) return AFTER_ALL;
    const point = last.codePointAt(0) as number;
    if (point === LAST_CODE_POINT) continue;
    // Skips the surrogates, which are not characters: D7FF is followed by E000.
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return points.join('') + String.fromCodePoint(next);
  }
}

/** The least path behind an entry of a folder, which ends in `/` if it is a folder itself. */
export function pathBehind(folder: string, entry: string): string {
  // 0 is the character after /, and paths contain no control characters.
  return entry.endsWith('/') ? `${folder}${entry.slice(0, -1)}0` : `${folder}${entry}\u0001`;
}

/** Compares texts by code points, as the databases do. */
export function compareText(left: string, right: string): number {
  return left === right ? 0 : Buffer.compare(Buffer.from(left), Buffer.from(right));
}

/** The condition for texts of a column that start with `prefix` and come after `after`. */
export function textsFrom(
  column: string,
  prefix: string,
  after: string | null,
): { where: string; parameters: string[] } {
  // One lower bound, the greater one: with two, the database might seek to the wrong one.
  const isPastPrefix = after !== null && compareText(after, prefix) >= 0;
  return {
    where: `${column} ${isPastPrefix ? '>' : '>='} ? and ${column} < ?`,
    parameters: [isPastPrefix ? after : prefix, successorOf(prefix)],
  };
}
