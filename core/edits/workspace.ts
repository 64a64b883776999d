import { nestHeading } from '../markdown/sections.ts';
import { parseHeading } from '../markdown/structure.ts';
import { atOnce } from '../time/pause.ts';
import { isExcludedFromDreams } from '../files/dream-exclusion.ts';
import {
  indentOf,
  isBlank,
  isItem,
  type LineHeading,
  type MarkdownText,
  parseInSteps,
  parseMarkdown,
} from './markdown.ts';
import { type EditOperation, FACT_PATH, type LineRef, OPERATION_CHARACTERS } from './operations.ts';
import { toPromptLine } from './prompt-text.ts';
import { sharesWord } from './alike.ts';
import type { EditedFile, EditedMemory } from './edited-memory.ts';
import { toBare } from './loose-text.ts';
import { isTranscript } from './transcript.ts';
import { isVirtualPath, toUserPath } from '../files/paths.ts';
import { readSurroundings } from '../values/language.ts';

/** A line of a file, also after it was removed. */
export interface Row {
  path: string;
  /** Its number in the file as it was read; `null` for one that was added. */
  line: number | null;
  /** Without its line end. */
  text: string;
  /** What it ended with when it was read; empty for one that was added or was the last one. */
  end: string;
  /** The heading whose first line it is. */
  heading: LineHeading | null;
  isLive: boolean;
  /** Front matter, code, a table, a quotation or pinned. */
  isProtected: boolean;
  at: number | null;
  /** For an added line, the texts of memory and the fact that it was made of. */
  madeOf?: string;
  /** Where a move put it. */
  movedTo?: Row;
  /** The text as a prompt shows it, once it was asked for. */
  shown?: string;
  /** The text without what a repeat may differ in, once it was asked for. */
  plain?: string;
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

/** Where a line stands; lines in the same place may share it. */
class RowPlace {
  /** Above it, from the outermost. */
  readonly headings: readonly string[];
  /** The list items that it is nested in, from the outermost. */
  readonly parents: readonly string[];
  #key: string | null = null;

  constructor(headings: readonly string[], parents: readonly string[]) {
    this.headings = headings;
    this.parents = parents;
  }

  /** The same for places with the same headings and items. */
  get key(): string {
    return (this.#key ??= JSON.stringify([this.headings, this.parents]));
  }
}

/** A file as it is now. What is asked for is kept: files are large, and questions many. */
class LiveFile {
  readonly rows: Row[];
  readonly #form: Pick<OpenFile, 'lineEnd' | 'endsWithEol'>;
  #text: string | null = null;
  #markdown: MarkdownText | null = null;
  #places: ReadonlyMap<Row, RowPlace> | null = null;

  constructor({ rows, lineEnd, endsWithEol }: OpenFile) {
    this.rows = rows.filter(({ isLive }) => isLive);
    this.#form = { lineEnd, endsWithEol };
  }

  get text(): string {
    return (this.#text ??= this.#join());
  }

  get markdown(): MarkdownText {
    return (this.#markdown ??= parseMarkdown(this.text));
  }

  get places(): ReadonlyMap<Row, RowPlace> {
    return (this.#places ??= atOnce(readPlaces(this.rows)));
  }

  /** Makes what {@link places} gives; yields now and then. */
  *preparePlaces(): Generator<null, void> {
    this.#places ??= yield* readPlaces(this.rows);
  }

  /** Makes what {@link markdown} gives; yields now and then. */
  *prepareMarkdown(): Generator<null, void> {
    const { text } = this;
    yield null;
    this.#markdown ??= yield* parseInSteps(text);
  }

  /** Each line keeps its end, whatever those of others are. */
  #join(): string {
    const { lineEnd, endsWithEol } = this.#form;
    const last = this.rows.length - 1;
    const lines = this.rows.map(({ text, end }, index) =>
      index < last || endsWithEol ? `${text}${end === '' ? lineEnd : end}` : text,
    );
    return lines.join('');
  }
}

/** A file of a {@link Workspace}. */
interface OpenFile {
  file: EditedFile;
  /** Also those that were removed. */
  rows: Row[];
  lineEnd: string;
  endsWithEol: boolean;
  /** Whether it was a transcript when it was read; `null` until it is asked for. */
  isOff: boolean | null;
  /** `null` until it is asked for, and after a change. */
  live: LiveFile | null;
}

/** Lines of a file that tell its languages. */
const SAMPLED_LINES = 40;

/** Memory while operations change it, one after the other. */
export class Workspace {
  readonly #files = new Map<string, OpenFile>();
  readonly #paths: ReadonlySet<string>;
  readonly #home: string;
  #languages: readonly string[] | null = null;
  /** In the order of the operations. */
  readonly #touched = new Set<string>();

  private constructor({ paths, home = toUserPath('') }: Pick<EditedMemory, 'paths' | 'home'>) {
    this.#paths = paths;
    this.#home = home;
  }

  /** Opens memory; yields wherever others may have their turn. */
  static *open(memory: EditedMemory): Generator<null, Workspace> {
    const { files, fact } = memory;
    const workspace = new Workspace(memory);
    const said = fact === undefined ? [] : [{ path: FACT_PATH, version: 0, content: fact }];
    for (const file of [...files, ...said]) {
      const markdown = yield* parseInSteps(file.content);
      yield null;
      workspace.#open(file, markdown);
      yield null;
    }
    return workspace;
  }

  /** The languages that memory and the fact are in, the most frequent first. */
  get languages(): readonly string[] {
    return (this.#languages ??= readSurroundings(this.#sample()));
  }

  /** Lines from the beginning of each file. */
  *#sample(): Generator<string> {
    for (const { rows } of this.#files.values()) {
      for (let at = 0; at < Math.min(rows.length, SAMPLED_LINES); at += 1)
        yield rows[at]?.text ?? '';
    }
  }

  /** What the paths of its files start with. */
  get home(): string {
    return this.#home;
  }

  /** The path of its catalog. */
  get catalog(): string {
    return `${this.#home}index.md`;
  }

  /** The path below its home; `null` of a path of other memory. */
  below(path: string): string | null {
    return path.startsWith(this.#home) && isVirtualPath(path)
      ? path.slice(this.#home.length)
      : null;
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
    if (isExcludedFromDreams(this.below(path) ?? path)) return true;
    const file = this.#files.get(path);
    if (file === undefined) return false;
    return (file.isOff ??= isTranscript(
      file.rows.flatMap(({ line, text }) => (line === null ? [] : [text])),
    ));
  }

  /** The lines of a file that are there now. */
  live(path: string): Row[] {
    return this.#live(path)?.rows ?? [];
  }

  /** A file as it is now; `null` where there is none. */
  text(path: string): string | null {
    return this.#live(path)?.text ?? null;
  }

  /** A file as it is now, taken apart; without a line where there is none. */
  markdown(path: string): MarkdownText {
    return this.#live(path)?.markdown ?? parseMarkdown('');
  }

  /** Makes what {@link markdown} gives, a part at a time: a file may be large. */
  *prepareMarkdown(path: string): Generator<null, void> {
    const live = this.#live(path);
    yield null;
    if (live !== null) yield* live.prepareMarkdown();
  }

  #live(path: string): LiveFile | null {
    const file = this.#files.get(path);
    return file === undefined ? null : (file.live ??= new LiveFile(file));
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

  /** Finds the lines of an operation, on what earlier ones left; yields between them. */
  *locate(operation: EditOperation): Generator<null, LocatedOperation | LocateFault> {
    const remove: Row[] = [];
    const sources: Row[] = [];
    const { add } = operation;
    const named = [...operation.remove, ...operation.sources, ...(add === null ? [] : [add])];
    for (const path of new Set(named.map((one) => one.path))) {
      const live = this.#live(path);
      yield null;
      if (live !== null) yield* live.preparePlaces();
    }
    for (const ref of operation.remove) {
      const row = yield* this.#find(ref);
      if ('status' in row) return row;
      if (!remove.includes(row)) remove.push(row);
      yield null;
    }
    for (const ref of operation.sources) {
      let row = yield* this.#find(ref);
      if ('status' in row) return row;
      while (!row.isLive && row.movedTo !== undefined) row = row.movedTo;
      if (!remove.includes(row) && !sources.includes(row)) sources.push(row);
      yield null;
    }
    const gone = [...remove, ...sources].find(({ isLive }) => !isLive);
    if (gone !== undefined) {
      return { status: 'stale', why: 'An earlier operation changed one of its lines.' };
    }
    // By their numbers alone, long lines may be named, and lines that were made of many.
    const texts = [...remove, ...sources]
      .filter(({ path }) => path !== FACT_PATH)
      .map(({ text, madeOf }) => madeOf ?? text);
    if (texts.join('').length > OPERATION_CHARACTERS) {
      const why = `The lines that it names have more than ${OPERATION_CHARACTERS} characters. Name fewer.`;
      return { status: 'dropped', why };
    }
    const listed = new Set(sources);
    const fact = this.live(FACT_PATH).filter((row) => !listed.has(row) && !isBlank(row.text));
    sources.push(...fact);
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
    for (const path of touchedBy(operation)) this.#touched.add(path);
    const at = Math.max(...[...remove, ...sources].map((row) => row.at ?? 0), 0) || null;
    const madeOf = groundsOf(located);
    const toRow = (text: string): Row => ({
      path: add?.path ?? '',
      line: null,
      text,
      end: '',
      heading: null,
      isLive: true,
      isProtected: false,
      at,
      madeOf,
    });
    const toLeadRow = (text: string): Row => {
      const heading = parseHeading(text);
      return { ...toRow(text), heading: heading && { ...heading, lineCount: 1 } };
    };
    const added = lines.map(toRow);
    if (add !== null && place !== null) {
      if (place.isNewFile) {
        this.#open({ path: add.path, version: 0, content: '' }, parseMarkdown(''));
      }
      const entry = this.#files.get(add.path);
      if (entry?.rows.length === 0) entry.endsWithEol = true;
      const from = place.after === null ? 0 : (entry?.rows.indexOf(place.after) ?? 0) + 1;
      entry?.rows.splice(from, 0, ...place.lead.map(toLeadRow), ...added);
    }
    for (const [index, row] of remove.entries()) {
      row.isLive = false;
      if (operation.kind === 'move' && added[index] !== undefined) row.movedTo = added[index];
    }
    for (const path of touchedBy(operation)) {
      const entry = this.#files.get(path);
      if (entry !== undefined) entry.live = null;
    }
  }

  /** Memory as a located operation leaves it, beside this one. */
  fork(located: LocatedOperation): Workspace {
    const workspace = new Workspace({ paths: this.#paths, home: this.#home });
    workspace.#languages = this.languages;
    const { operation, remove, place } = located;
    const touched = touchedBy(operation);
    // Only what the operation touches is copied: memory may be large, and operations many.
    const copies = new Map(remove.map((row) => [row, { ...row }]));
    const copyOf = (row: Row): Row => copies.get(row) ?? row;
    for (const [path, entry] of this.#files) {
      const isTouched = touched.has(path);
      const fresh = { ...entry, rows: isTouched ? entry.rows.map(copyOf) : [], live: null };
      workspace.#files.set(path, isTouched ? fresh : entry);
    }
    workspace.apply({
      ...located,
      remove: remove.map(copyOf),
      place: place === null ? null : { ...place, after: place.after && copyOf(place.after) },
    });
    return workspace;
  }

  /** The headings above a line, from the outermost; with `isOwn`, a heading counts itself. */
  headingsOf(row: Row | null, isOwn = false): readonly string[] {
    const headings = (row === null ? undefined : this.#placeOf(row))?.headings ?? [];
    const own = isOwn ? row?.heading : null;
    return own ? [...headings, own.title] : headings;
  }

  /** The list items that a line is nested in, from the outermost. */
  parentsOf(row: Row): readonly string[] {
    return this.#placeOf(row)?.parents ?? [];
  }

  #placeOf(row: Row): RowPlace | undefined {
    return this.#placesOf(row.path)?.get(row);
  }

  #placesOf(path: string): ReadonlyMap<Row, RowPlace> | undefined {
    return this.#live(path)?.places;
  }

  /** The lines that hang below a list item. */
  childrenOf(row: Row): Row[] {
    const rows = this.live(row.path);
    const from = rows.indexOf(row) + 1;
    const indent = indentOf(row.text);
    if (!isItem(row.text.trim())) return [];
    let end = from;
    const isChild = ({ text }: Row) => !isBlank(text) && indentOf(text) > indent;
    while (end < rows.length && isChild(rows[end] as Row)) end += 1;
    return rows.slice(from, end);
  }

  #open(file: EditedFile, markdown: MarkdownText): void {
    const { lines, ends, lineEnd, endsWithEol, isProtected, headings } = markdown;
    const rows = lines.map((text, index) => ({
      path: file.path,
      line: index + 1,
      text,
      end: ends[index] ?? '',
      heading: file.path === FACT_PATH ? null : (headings[index] ?? null),
      isLive: true,
      isProtected: file.path !== FACT_PATH && isProtected[index] === true,
      at: file.times?.[index] ?? null,
    }));
    this.#files.set(file.path, {
      file,
      rows,
      lineEnd,
      endsWithEol,
      isOff: null,
      live: null,
    });
  }

  *#find({ path, line, text, fault }: LineRef): Generator<null, Row | LocateFault> {
    if (fault !== undefined) return { status: 'dropped', why: fault };
    const rows = this.#files.get(path)?.rows;
    if (rows === undefined)
      return { status: 'dropped', why: 'A file that it names was not shown to the model.' };
    const numbered = rows.find((row) => row.line === line);
    if (text === null)
      return numbered ?? { status: 'dropped', why: 'A source names a line that does not exist.' };
    // A line is quoted as the prompt shows it, where no line has a break or a control character.
    const shown = toPromptLine(text);
    const quoted = shown.trim();
    const bare = toBare(shown);
    const shownOf = (row: Row) => (row.shown ??= toPromptLine(row.text));
    const isQuote = (row: Row) =>
      path === FACT_PATH
        ? shownOf(row).includes(quoted)
        : shownOf(row).includes(bare) && toBare(shownOf(row)) === bare;
    const exact = rows.filter(
      (row) => shownOf(row).includes(quoted) && shownOf(row).trim() === quoted,
    );
    yield null;
    const all = exact.length > 0 ? exact : rows.filter(isQuote);
    const [first] = all;
    if (first === undefined) return { status: 'dropped', why: 'A quoted line is not in the file.' };
    if (all.length === 1) return first;
    const named = all.find((row) => row === numbered);
    if (named !== undefined) return named;
    yield null;
    const isOne = all.every((row) => row.isLive && this.isInSection(row, first));
    return isOne
      ? first
      : {
          status: 'dropped',
          why: 'A quoted line occurs several times, and its number is that of none of them.',
        };
  }

  /** Whether a line stands under the same headings and items as another. */
  isInSection(row: Row, other: Row): boolean {
    const [place, otherPlace] = [this.#placeOf(row), this.#placeOf(other)];
    return row.path === other.path && (place === otherPlace || place?.key === otherPlace?.key);
  }

  #findPlace(
    { path, heading }: NonNullable<EditOperation['add']>,
    remove: readonly Row[],
  ): Place | LocateFault {
    const place: Place = {
      headings: heading === null ? [] : [heading],
      isNewFile: false,
      isNewHeading: false,
      after: null,
      isInPlace: false,
      lead: [],
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
      const above = rows
        .slice(0, rows.indexOf(replaced))
        .findLast(({ heading }) => heading !== null);
      if (heading === null || (above !== undefined && titles.includes(above))) {
        const headings = [...this.headingsOf(replaced, true)];
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
    const from = title === null ? 0 : rows.indexOf(title) + (title.heading?.lineCount ?? 1);
    const next =
      title === null ? -1 : rows.findIndex(({ heading }, at) => at >= from && heading !== null);
    const section = rows.slice(from, next === -1 ? undefined : next);
    // Never right below code, a table or a pinned block: the line would become a part of it.
    const isPlain = ({ text, isProtected }: Row) => !isBlank(text) && !isProtected;
    const plain = section.findLast(isPlain) ?? null;
    const above = title === null ? rows.findLast(({ text }) => !isBlank(text)) : rows[from - 1];
    const after = plain ?? above ?? null;
    const headings = [...this.headingsOf(title ?? rows.at(-1) ?? null, true)];
    const isFirst = after !== null && (plain === null || after.heading !== null);
    return { ...place, headings, after, lead: isFirst ? [''] : [] };
  }

  /** The headings of that name, or of that trail: `Food > Drinks`. */
  #findTitles(rows: readonly Row[], heading: string): Row[] {
    const wanted = heading.toLowerCase();
    return rows.filter((row) => {
      const title = row.heading?.title ?? null;
      if (title === null || !wanted.endsWith(title.toLowerCase())) return false;
      const trail = this.headingsOf(row, true).join(' > ').toLowerCase();
      return trail === wanted || trail.endsWith(` > ${wanted}`);
    });
  }
}

/** The files that an operation changes. */
export function touchedBy({ remove, add }: EditOperation): Set<string> {
  return new Set([...remove, ...(add === null ? [] : [add])].map(({ path }) => path));
}

/** Lines between two steps. */
const LINES_PER_STEP = 1_000;

/** Where each line of a file stands; yields now and then. */
function* readPlaces(rows: readonly Row[]): Generator<null, ReadonlyMap<Row, RowPlace>> {
  const places = new Map<Row, RowPlace>();
  let titles: readonly LineHeading[] = [];
  let top = new RowPlace([], []);
  /** Lines that others may hang below, each deeper than the one before; `below` is made when needed. */
  let above: { indent: number; text: string; place: RowPlace; below: RowPlace | null }[] = [];
  for (const [at, row] of rows.entries()) {
    if (at % LINES_PER_STEP === 0) yield null;
    const { heading } = row;
    if (heading !== null) {
      const outer = nestHeading(titles, heading).slice(0, -1);
      places.set(row, new RowPlace(toTitles(outer), []));
      titles = [...outer, heading];
      top = new RowPlace(toTitles(titles), []);
      above = [];
      continue;
    }
    const indent = indentOf(row.text);
    const outer = above.findLast((one) => one.indent < indent);
    if (outer !== undefined) {
      outer.below ??= isItem(outer.text)
        ? new RowPlace(outer.place.headings, [...outer.place.parents, outer.text])
        : outer.place;
    }
    const place = outer?.below ?? top;
    places.set(row, place);
    if (isBlank(row.text)) continue;
    while ((above.at(-1)?.indent ?? -1) >= indent) above.pop();
    above.push({ indent, text: row.text.trim(), place, below: null });
  }
  return places;
}

/** A line with the indent, and where it has none the bullet, of the one whose place it takes. */
function toForm(line: string, replaced: Row): string {
  const [, indent = '', bullet = ''] = /^(\s*)([-*+]\s+)?/.exec(replaced.text) ?? [];
  if (bullet === '' || indentOf(line) > 0) return line;
  return `${indent}${isItem(line) ? '' : bullet}${line}`;
}

/** The lines of memory, and of the fact, that an operation's new lines are made of, each once. */
export function groundsOf({ remove, sources }: LocatedOperation): string {
  const texts = [...remove, ...sources].map(({ text, madeOf }) => madeOf ?? text);
  return [...new Set(texts.flatMap((text) => text.split('\n')))].join('\n');
}

/**
 * Whether new lines are to take the place of lines that the model named by their ids alone, and have no word
 * or number in common with one of them; nor does the fact.
 */
export function hasNothingInCommon({
  operation,
  remove,
  sources,
  lines,
}: LocatedOperation): boolean {
  const isUnquoted = operation.remove.some(({ isUnquoted }) => isUnquoted === true);
  if (!isUnquoted || lines.length === 0) return false;
  const fact = sources.filter(({ path }) => path === FACT_PATH).map(({ text }) => text);
  const said = [...lines, ...fact].join('\n');
  return remove.some(({ text }) => !sharesWord(text, said));
}

function toTitles(headings: readonly LineHeading[]): string[] {
  return headings.map(({ title }) => title);
}
