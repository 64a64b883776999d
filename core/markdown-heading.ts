/** A heading of Markdown. */
export interface Heading {
  /** 1–6. */
  level: number;
  title: string;
}

/** Reads an ATX heading (`## Tea`), as CommonMark defines it; `null` for other lines. */
export function parseHeading(line: string): Heading | null {
  const hashes = /^ {0,3}(#{1,6})(?=[ \t\r]|$)/.exec(line);
  if (hashes?.[1] === undefined) return null;
  const title = withoutClosingHashes(line.slice(hashes[0].length).trim());
  return { level: hashes[1].length, title };
}

/** `Title ##` is `Title`. A loop, since the obvious expression backtracks. */
function withoutClosingHashes(title: string): string {
  let end = title.length;
  while (end > 0 && title[end - 1] === '#') end -= 1;
  if (end === title.length) return title;
  if (end === 0) return '';
  return title[end - 1] === ' ' || title[end - 1] === '\t' ? title.slice(0, end).trim() : title;
}
