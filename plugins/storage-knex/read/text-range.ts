const LAST_CODE_POINT = 0x10ffff;

/**
 * The least text that comes after every text that starts with `prefix`, in the order of code points
 * (which is the byte order of UTF-8); `null` when there is none.
 */
export function successorOf(prefix: string): string | null {
  const points = [...prefix];
  for (;;) {
    const last = points.pop();
    if (last === undefined) return null;
    const point = last.codePointAt(0) as number;
    if (point === LAST_CODE_POINT) continue;
    // Surrogates are no characters: the next one after D7FF is E000.
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return points.join('') + String.fromCodePoint(next);
  }
}

/** Compares texts as the databases do: by code points. */
export function compareText(left: string, right: string): number {
  return left === right ? 0 : Buffer.compare(Buffer.from(left), Buffer.from(right));
}
