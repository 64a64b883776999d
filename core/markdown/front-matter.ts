/** The front matter of a file: YAML between a first line `---` and a line `---` or `...`. */
export interface FrontMatter {
  /** What stands between its marks. */
  yaml: string;
  /** Where the line after its last one begins. */
  end: number;
}

/** `---` as the first line, after a byte order mark at most. */
const OPENING = /^\uFEFF?---[ \t]*(?=[\n\r])/;
const CLOSING = /(?:\r\n|\n|\r)(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|$)/g;
const LINE_END = /\r\n|\n|\r/;

/** Reads the front matter of a file; `null` without one, also if its end is missing. */
export function readFrontMatter(text: string): FrontMatter | null {
  const start = OPENING.exec(text)?.[0].length;
  if (start === undefined) return null;
  CLOSING.lastIndex = start;
  const closing = CLOSING.exec(text);
  if (closing === null) return null;
  return { yaml: text.slice(start, closing.index), end: closing.index + closing[0].length };
}

/** A field of front matter that is one line. */
export interface FrontMatterField {
  /** In lower case. */
  name: string;
  /** Without quotes and comment. */
  value: string;
  /** Whether it is indented, as the fields of another one are. */
  isNested: boolean;
}

/** The fields of front matter that are one line of text. */
export function* listFields({ yaml }: FrontMatter): Generator<FrontMatterField> {
  for (const line of yaml.split(LINE_END)) {
    const [, indent = '', name, rest = ''] =
      /^([ \t]*)["']?([\w-]+)["']?[ \t]*:(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    yield { name: name.toLowerCase(), value: toValue(rest.trim()), isNested: indent !== '' };
  }
}

/** A scalar of YAML, without its quotes and the comment behind it. */
function toValue(text: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"|^'((?:[^']|'')*)'/.exec(text);
  if (quoted !== null) {
    return quoted[1]?.replace(/\\(["\\/])/g, '$1') ?? quoted[2]?.replaceAll("''", "'") ?? '';
  }
  return text.replace(/(?:^|[ \t])#.*$/, '').trim();
}
