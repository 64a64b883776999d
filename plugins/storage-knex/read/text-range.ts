const LAST_CODE_POINT = 0x10ffff;

/**
 * The smallest text after all texts that start with `prefix`, in the order of code points (the byte
 * order of UTF-8); `null` if there is none.
 */
export function successorOf(prefix: string): string | null {
  const points = [...prefix];
  for (;;) {
    const last = points.pop();
    if (last === undefined) return null;
    const point = last.codePointAt(0) as number;
    if (point === LAST_CODE_POINT) continue;
    // Skips the surrogates, which are not characters: D7FF is followed by E000.
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return points.join('') + String.fromCodePoint(next);
  }
}

/** Compares texts by code points, as the databases do. */
export function compareText(left: string, right: string): number {
  return left === right ? 0 : Buffer.compare(Buffer.from(left), Buffer.from(right));
}
