import { isExcludedFromDreams } from '../files/dream-exclusion.ts';
import { indentOf, isBlank, isItem, joinLines, parseHeading, parseMarkdown } from './markdown.ts';
import { type EditOperation, FACT_PATH, type LineRef } from './operations.ts';
import { isTranscript } from './transcript.ts';

/** A memory file as the engine gets it. */
export interface EditedFile {
  /** Virtual. */
  path: string;
  /** 0 for a file that an operation creates. */
  version: number;
  content: string;
  /** When each line was written, in milliseconds; absent where it is not known. */
  times?: readonly number[];
  /** The numbers of the lines that the model is shown; absent for all. */
  shown?: ReadonlySet<number>;
}

/** What operations are located in. */
export interface EditedMemory {
  files: readonly EditedFile[];
  /** The paths of all files of the user. */
  paths: ReadonlySet<string>;
  /** The fact of `memory_remember`. */
  fact?: string;
}

/** A line of a file, also after it was removed. */
export interface Row {
  path: string;
  /** Its number in the file as it was read; `null` for one that was added. */
  line: number | null;
  /** Without its line end. */
  text: string;
  isLive: boolean;
  /** Front matter, code, a table, a quotation or pinned. */
  isProtected: boolean;
  at: number | null;
  /** For an added line, the texts of memory and the fact that it was made of. */
  madeOf?: string;
  /** Where a move put it. */
  movedTo?: Row;
}

/** An operation whose lines were found. */
export interface LocatedOperation {
  operation: EditOperation;
  remove: Row[];
  sources: Row[];
  /** The new lines, with the bullet and indent of the line whose place they take. */
  lines: string[];
  place: Place | null;
}

/** Where new lines go. */
interface Place {
  /** Above them, from the outermost. */
  headings: string[];
  isNewFile: boolean;
  isNewHeading: boolean;
  /** The line that they follow; `null` at the beginning of the file. */
  after: Row | null;
  /** Whether they take the place of that line. */
  isInPlace: boolean;
  /** What comes in front of them: a new heading, an empty line. */
  lead: string[];
}

/** Why an operation was not found: it is out of date, or it names what is not there. */
export interface LocateFault {
  status: 'stale' | 'dropped';
  why: string;
}

/** Memory while operations change it, one after the other. */
export class Workspace {
  readonly #files = new Map<
    string,
    { file: EditedFile; rows: Row[]; lineEnd: string; endsWithEol: boolean; isOff: boolean }
  >();
  readonly #paths: ReadonlySet<string>;
  /** In the order of the operations. */
  readonly #touched = new Set<string>();

  constructor({ files, paths, fact }: EditedMemory) {
    this.#paths = paths;
    for (const file of files) this.#open(file);
    if (fact !== undefined) this.#open({ path: FACT_PATH, version: 0, content: fact });
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  /** Whether a file is there: read, or known to exist, or created by an earlier operation. */
  exists(path: string): boolean {
    return this.#files.has(path) || this.#paths.has(path);
  }

  /** Whether a file is a log or a transcript. */
  isRecord(path: string): boolean {
    return (
      isExcludedFromDreams(path.slice('user/'.length)) || this.#files.get(path)?.isOff === true
    );
  }

  /** The lines of a file that are there now. */
  live(path: string): Row[] {
    return this.#files.get(path)?.rows.filter(({ isLive }) => isLive) ?? [];
  }

  /** A file as it is now; `null` where there is none. */
  text(path: string, rows: readonly Row[] = this.live(path)): string | null {
    const file = this.#files.get(path);
    if (file === undefined) return null;
    const hasEnd = (index: number) => file.endsWithEol || index < rows.length - 1;
    const lines = rows.map(({ text }, index) => `${text}${hasEnd(index) ? file.lineEnd : ''}`);
    return joinLines(lines, file);
  }

  /** The files that operations changed, each with its content before and now. */
  changed(): { path: string; version: number; before: string | null; after: string }[] {
    return [...this.#touched].flatMap((path) => {
      const file = this.#files.get(path)?.file;
      const after = this.text(path) ?? '';
      if (file === undefined || after === file.content) return [];
      return [
        { path, version: file.version, before: file.version === 0 ? null : file.content, after },
      ];
    });
  }

  /** The paths whose text is another in `other`. */
  changedBy(other: Workspace): string[] {
    return [...this.#files.keys()].filter(
      (path) =>
        this.#files.get(path) !== other.#files.get(path) && this.text(path) !== other.text(path),
    );
  }

  /** Finds the lines of an operation, on what earlier ones left. */
  locate(operation: EditOperation): LocatedOperation | LocateFault {
    const remove: Row[] = [];
    const sources: Row[] = [];
    for (const ref of operation.remove) {
      const row = this.#find(ref);
      if ('status' in row) return row;
      if (!remove.includes(row)) remove.push(row);
    }
    for (const ref of operation.sources) {
      let row = this.#find(ref);
      if ('status' in row) return row;
      while (!row.isLive && row.movedTo !== undefined) row = row.movedTo;
      if (!remove.includes(row) && !sources.includes(row)) sources.push(row);
    }
    const gone = [...remove, ...sources].find(({ isLive }) => !isLive);
    if (gone !== undefined) {
      return { status: 'stale', why: 'An earlier operation changed one of its lines.' };
    }
    const named = new Set(sources);
    const fact = this.live(FACT_PATH).filter((row) => !named.has(row) && !isBlank(row.text));
    sources.push(...fact);
    const { add } = operation;
    if (add === null) return { operation, remove, sources, lines: [], place: null };
    const place = this.#findPlace(add, remove);
    if ('status' in place) return place;
    const replaced = place.isInPlace ? place.after : null;
    const lines = add.lines.map((line) => (replaced === null ? line : toForm(line, replaced)));
    return { operation, remove, sources, lines, place };
  }

  /** Carries out a located operation. */
  apply(located: LocatedOperation): void {
    const { operation, remove, sources, lines, place } = located;
    const { add } = operation;
    for (const { path } of [...remove, ...(add === null ? [] : [add])]) this.#touched.add(path);
    const at = Math.max(...[...remove, ...sources].map((row) => row.at ?? 0), 0) || null;
    const madeOf = groundsOf(located);
    const toRow = (text: string): Row => ({
      ...{ path: add?.path ?? '', line: null, text, isLive: true, isProtected: false, at },
      madeOf,
    });
    const added = lines.map(toRow);
    if (add !== null && place !== null) {
      if (place.isNewFile) this.#open({ path: add.path, version: 0, content: '' });
      const entry = this.#files.get(add.path);
      if (entry?.rows.length === 0) entry.endsWithEol = true;
      const from = place.after === null ? 0 : (entry?.rows.indexOf(place.after) ?? 0) + 1;
      entry?.rows.splice(from, 0, ...place.lead.map(toRow), ...added);
    }
    for (const [index, row] of remove.entries()) {
      row.isLive = false;
      if (operation.kind === 'move' && added[index] !== undefined) row.movedTo = added[index];
    }
  }

  /** Memory as an operation leaves it, beside this one. */
  fork(operation: EditOperation): Workspace {
    const workspace = new Workspace({ files: [], paths: this.#paths });
    const { remove, add } = operation;
    const touched = new Set([...remove, ...(add === null ? [] : [add])].map(({ path }) => path));
    // Only what the operation touches is copied: memory may be large, and operations many.
    for (const [path, entry] of this.#files) {
      const rows = touched.has(path) ? entry.rows.map((row) => ({ ...row })) : entry.rows;
      workspace.#files.set(path, touched.has(path) ? { ...entry, rows } : entry);
    }
    const located = workspace.locate(operation);
    if (!('status' in located)) workspace.apply(located);
    return workspace;
  }

  /** The headings above a line, from the outermost; with `isOwn`, a heading counts itself. */
  headingsOf(row: Row | null, isOwn = false): string[] {
    if (row === null) return [];
    const rows = this.live(row.path);
    const found: string[] = [];
    let level = 7;
    let at = rows.indexOf(row);
    if (!isOwn && levelOf(row) < 7) level = levelOf(row);
    for (; at >= 0; at -= 1) {
      const one = rows[at] as Row;
      const own = levelOf(one);
      if (own >= level || (one === row && !isOwn)) continue;
      level = own;
      found.unshift(parseHeading(one.text) ?? '');
    }
    return found;
  }

  /** The list items that a line is nested in, from the outermost. */
  parentsOf(row: Row): string[] {
    const rows = this.live(row.path);
    const found: string[] = [];
    let indent = indentOf(row.text);
    for (let at = rows.indexOf(row) - 1; at >= 0 && indent > 0; at -= 1) {
      const { text } = rows[at] as Row;
      if (isBlank(text)) continue;
      if (levelOf(rows[at] as Row) < 7) break;
      if (indentOf(text) >= indent) continue;
      indent = indentOf(text);
      if (isItem(text.trim())) found.unshift(text.trim());
    }
    return found;
  }

  /** The lines that hang below a list item. */
  childrenOf(row: Row): Row[] {
    const rows = this.live(row.path);
    const from = rows.indexOf(row) + 1;
    const indent = indentOf(row.text);
    if (!isItem(row.text.trim())) return [];
    const end = rows.findIndex(
      (one, at) => at >= from && (isBlank(one.text) || indentOf(one.text) <= indent),
    );
    return rows.slice(from, end === -1 ? undefined : end);
  }

  #open(file: EditedFile): void {
    const { lines, lineEnd, endsWithEol, isProtected } = parseMarkdown(file.content);
    const texts = lines.map((line) => (lineEnd === '\r' ? line.replace(/\r$/, '') : line));
    const rows = texts.map((text, index) => ({
      path: file.path,
      line: index + 1,
      text,
      isLive: true,
      isProtected: file.path !== FACT_PATH && isProtected[index] === true,
      at: file.times?.[index] ?? null,
    }));
    const isOff = file.path !== FACT_PATH && isTranscript(texts);
    this.#files.set(file.path, { file, rows, lineEnd, endsWithEol, isOff });
  }

  #find({ path, line, text }: LineRef): Row | LocateFault {
    const rows = this.#files.get(path)?.rows;
    if (rows === undefined)
      return { status: 'dropped', why: 'A file that it names was not shown to the model.' };
    const numbered = rows.find((row) => row.line === line);
    if (text === null)
      return numbered ?? { status: 'dropped', why: 'A source names a line that does not exist.' };
    const isQuote = (row: Row) =>
      path === FACT_PATH ? row.text.includes(text.trim()) : toBare(row.text) === toBare(text);
    const exact = rows.filter((row) => row.text.trim() === text.trim());
    const all = exact.length > 0 ? exact : rows.filter(isQuote);
    const [first] = all;
    if (first === undefined) return { status: 'dropped', why: 'A quoted line is not in the file.' };
    if (all.length === 1) return first;
    const named = all.find((row) => row === numbered);
    if (named !== undefined) return named;
    const live = all.filter(({ isLive }) => isLive);
    const places = new Set(live.map((row) => this.sectionOf(row)));
    const [only] = live;
    return only !== undefined && places.size === 1 && live.length === all.length
      ? only
      : {
          status: 'dropped',
          why: 'A quoted line occurs several times, and its number is that of none of them.',
        };
  }

  /** What tells the place of a line from that of an equal one. */
  sectionOf(row: Row): string {
    return JSON.stringify([row.path, this.headingsOf(row), this.parentsOf(row)]);
  }

  #findPlace(
    { path, heading }: NonNullable<EditOperation['add']>,
    remove: readonly Row[],
  ): Place | LocateFault {
    const place: Place = {
      ...{ headings: heading === null ? [] : [heading], isNewFile: false, isNewHeading: false },
      ...{ after: null, isInPlace: false, lead: [] },
    };
    if (!this.#files.has(path)) {
      if (this.#paths.has(path))
        return { status: 'dropped', why: 'A file that it names was not shown to the model.' };
      const lead = heading === null ? [] : [`# ${heading}`, ''];
      return { ...place, isNewFile: true, lead };
    }
    const rows = this.live(path);
    const titles = heading === null ? [] : this.#findTitles(rows, heading);
    const replaced = remove.find((row) => row.path === path);
    if (replaced !== undefined) {
      const above = rows.slice(0, rows.indexOf(replaced)).findLast((row) => levelOf(row) < 7);
      if (heading === null || (above !== undefined && titles.includes(above))) {
        const headings = this.headingsOf(replaced, true);
        return { ...place, headings, after: replaced, isInPlace: true };
      }
    }
    if (titles.length > 1) {
      return { status: 'dropped', why: 'The heading occurs several times in the file.' };
    }
    const [title = null] = titles;
    if (heading !== null && title === null) {
      const lead = [...(rows.length === 0 ? [] : ['']), `## ${heading}`, ''];
      const after = rows.findLast(({ text }) => !isBlank(text)) ?? null;
      return { ...place, isNewHeading: true, after, lead };
    }
    // At the end of the section, or of the file.
    const from = title === null ? 0 : rows.indexOf(title) + 1;
    const next = title === null ? -1 : rows.findIndex((row, at) => at >= from && levelOf(row) < 7);
    const section = rows.slice(from, next === -1 ? undefined : next);
    // Never right below code, a table or a pinned block: the line would become a part of it.
    const isPlain = ({ text, isProtected }: Row) => !isBlank(text) && !isProtected;
    const after = section.findLast(isPlain) ?? title;
    const headings = this.headingsOf(title ?? rows.at(-1) ?? null, true);
    const isFirst = after !== null && levelOf(after) < 7;
    return { ...place, headings, after, lead: isFirst ? [''] : [] };
  }

  /** The headings of that name, or of that trail: `Food > Drinks`. */
  #findTitles(rows: readonly Row[], heading: string): Row[] {
    const wanted = heading.toLowerCase();
    return rows.filter((row) => {
      if (levelOf(row) === 7) return false;
      const trail = this.headingsOf(row, true).join(' > ').toLowerCase();
      return trail === wanted || trail.endsWith(` > ${wanted}`);
    });
  }
}

/** A line with the indent, and where it has none the bullet, of the one whose place it takes. */
function toForm(line: string, replaced: Row): string {
  const [, indent = '', bullet = ''] = /^(\s*)([-*+]\s+)?/.exec(replaced.text) ?? [];
  if (bullet === '' || indentOf(line) > 0) return line;
  return `${indent}${isItem(line) ? '' : bullet}${line}`;
}

/** The text of a line without its bullet. */
export function toBare(text: string): string {
  return text
    .trim()
    .replace(/^(?:[-*+•]|\d{1,9}[.)])\s+/, '')
    .trim();
}

/** The texts of memory, and the fact, that an operation's new lines are made of. */
export function groundsOf({ remove, sources }: LocatedOperation): string {
  return [...remove, ...sources].map(({ text, madeOf }) => madeOf ?? text).join('\n');
}

/** The level of the heading that a line is; 7 for other lines. */
function levelOf({ text, isProtected }: Row): number {
  if (isProtected || parseHeading(text) === null) return 7;
  return text.length - text.replace(/^#+/, '').length;
}
