import { MemoryError } from '../../errors.ts';
import { isExcludedFromDreams } from '../../files/dream-exclusion.ts';
import { groundedShare, isDenied, missingSpecifics, termsOf } from '../evidence.ts';
import { bringsInstruction } from '../../edits/instructions.ts';
import { findLinks } from '../../files/links.ts';
import { parseUserId, parseVirtualPath } from '../../files/paths.ts';
import type { Pause } from '../../pause.ts';
import { nameSecret } from '../../edits/secrets.ts';
import type { KnownLines } from './known-lines.ts';
import type { Operation } from './operations.ts';
import { parseHeading, type ShownFile, type Snapshot } from './shown-file.ts';
import { timesOf } from './times.ts';

/** The catalog of a user's memory. */
export const INDEX_PATH = 'user/index.md';

/** An operation as it is checked: with its texts, and what stood before it. */
export interface Candidate {
  operation: Operation;
  fact: string;
  snapshot: Snapshot;
  /** The file that it changes, if the model was shown it. */
  file: ShownFile | null;
  /** The operations before it. */
  earlier: readonly Operation[];
  /** All of them. */
  operations: readonly Operation[];
  /** Today, as `2026-01-31`: a line may say since when it holds. */
  today: string;
  /** The lines of the files that the model was shown, without the catalog. */
  known: KnownLines;
  pause: Pause;
}

/** Why an operation is refused, and the words of the model's own that it is refused for. */
export interface Objection {
  message: string;
  words: readonly string[];
}

/** A rule: why the operation is refused, or `null`. Those that take long pause between two lines. */
export type Check = (candidate: Candidate) => Verdict | Promise<Verdict>;

type Verdict = string | Objection | null;

/** A share of a line's terms below which it says something else than the fact. */
const LEAST_GROUNDED = 0.6;
/** What comes may be this much longer than the fact and what goes. */
const GROWTH = { factor: 3, characters: 400 } as const;

const ANYONE = parseUserId('anyone');

/** The rules by name, in the order in which they are asked. */
export const CHECKS: Readonly<Record<string, Check>> = {
  /** A fact of one user never comes to where another one reads it. */
  scope({ operation: { path } }) {
    if (!path.startsWith('user/')) return 'only files below user/ may change';
    try {
      parseVirtualPath(path, ANYONE);
      return null;
    } catch (error) {
      if (error instanceof MemoryError) return 'that is no path that a memory file can have';
      throw error;
    }
  },

  reserved({ operation: { path } }) {
    return isExcludedFromDreams(path.slice('user/'.length)) ? 'logs are written by others' : null;
  },

  kind({ operation, snapshot, file }) {
    const { kind, path, heading, removed, lines } = operation;
    const exists = snapshot.paths.has(path);
    if (kind === 'create') {
      if (exists) return 'the file exists';
      if (!path.endsWith('.md')) return 'a new file ends in .md';
      if (path === INDEX_PATH) return 'the catalog is made by people';
      return removed === null && heading === null && lines.length > 0 ? null : SHAPE;
    }
    if (file === null) return 'only a file that was shown may change';
    if (kind === 'append') return removed === null && lines.length > 0 ? null : SHAPE;
    if (kind === 'patch') return removed !== null && lines.length > 0 ? null : SHAPE;
    if (kind === 'supersede') return removed !== null && lines.length === 0 ? null : SHAPE;
    if (path !== INDEX_PATH) return 'index changes user/index.md alone';
    return removed !== null || lines.length > 0 ? null : SHAPE;
  },

  /** A model that misremembers a line does not get to replace it. */
  line({ operation: { removed }, file }) {
    if (removed === null || file === null) return null;
    const isThere =
      file.shown.has(removed.line) &&
      file.lines[removed.line - 1]?.trimEnd() === removed.text.trimEnd();
    return isThere ? null : 'oldText is not what stands in that line';
  },

  once({ operation: { path, removed }, earlier }) {
    const isTaken = earlier.some(
      (other) => other.path === path && other.removed?.line === removed?.line,
    );
    return removed !== null && isTaken ? 'two operations change the same line' : null;
  },

  /** One file is created once. */
  again({ operation: { kind, path }, earlier }) {
    const isTaken = earlier.some((other) => other.kind === 'create' && other.path === path);
    return kind === 'create' && isTaken ? 'the same file is created twice' : null;
  },

  protected({ operation: { removed, heading }, file }) {
    if (file === null) return null;
    if (removed !== null) {
      if (file.isProtected[removed.line - 1] === true) return 'that line is protected';
      if (typeof file.headings[removed.line - 1] === 'string') return 'that line is a heading';
    }
    if (heading === null) return null;
    const at = file.headings.findIndex((it) => it?.toLowerCase() === heading.toLowerCase());
    return at !== -1 && file.isProtected[at] === true ? 'that section is pinned' : null;
  },

  structure({ operation: { kind, lines } }) {
    for (const line of lines) {
      if (/^\s{0,3}(?:---|\.\.\.|===|```|~~~)/.test(line) || /<!--|-->/.test(line)) {
        return 'a mark of the structure is added as a line';
      }
      if (kind === 'create') continue;
      if (line.trim() === '') return 'an empty line is added';
      if (parseHeading(line) !== null) return 'a heading is added as a line';
    }
    return null;
  },

  secrets({ operation: { lines, heading, path } }) {
    const secret = [...lines, heading ?? '', path].map(nameSecret).find((name) => name !== null);
    return secret === undefined ? null : 'a line looks like a secret';
  },

  async instructions(candidate) {
    const { lines, heading, path } = candidate.operation;
    const grounds = toGrounds(candidate);
    for (const text of [...lines, heading ?? '', path]) {
      await candidate.pause();
      if (bringsInstruction(text, grounds)) {
        return 'a line reads like an instruction that the fact does not give';
      }
    }
    return null;
  },

  /** Each line says what the fact says, for the most part in its words. */
  async grounded(candidate) {
    const grounds = toGrounds(candidate);
    for (const line of candidate.operation.lines) {
      await candidate.pause();
      if (line.trim() === '' || parseHeading(line) !== null) continue;
      if (groundedShare(line, grounds) < LEAST_GROUNDED) return 'a line says more than the fact';
    }
    return null;
  },

  /** A line does not turn the fact into its contrary. */
  async denied({ operation: { lines, kind }, fact, pause }) {
    if (kind === 'index') return null;
    for (const line of lines) {
      await pause();
      if (isDenied(line, fact)) return 'a line says what the fact denies';
    }
    return null;
  },

  /** No number, date, name or address is made up. */
  async specifics(candidate) {
    const { lines, heading } = candidate.operation;
    const grounds = toGrounds(candidate);
    for (const line of lines) {
      await candidate.pause();
      const text = parseHeading(line) === null ? withoutLinks(line) : '';
      const words = missingSpecifics(text, grounds);
      if (words.length > 0) {
        return { message: 'a line has a number, name or address that the fact lacks', words };
      }
    }
    const titles = [heading ?? '', ...lines.map((line) => parseHeading(line) ?? '')];
    return titles.some((title) => title.length > 60 || /\p{Nd}{5}|:\/\/|@/u.test(title))
      ? 'a heading is too long, or has a number or an address'
      : null;
  },

  /** What the fact does not speak of stays: it names it, or takes the place of a part of it. */
  related({ operation: { removed, kind, lines }, operations, fact }) {
    if (removed === null || kind === 'index') return null;
    const [said, goes] = [termsOf(fact), termsOf(removed.text)];
    const comes = termsOf((kind === 'patch' ? lines : allLines(operations)).join('\n'));
    const isNamed = [...goes].some((term) => said.has(term));
    const isReplaced =
      [...goes].some((term) => comes.has(term)) &&
      [...comes].some((term) => said.has(term) && !goes.has(term));
    return isNamed || isReplaced ? null : 'the fact does not speak of the line that goes';
  },

  /** What a line says beside the fact survives: as much goes as the fact brings. */
  lost({ operation: { removed, kind }, operations, fact }) {
    if (removed === null || kind === 'index') return null;
    const after = allLines(operations).join('\n');
    const words = missingSpecifics(removed.text, `${after}\n${fact}`);
    const brought = missingSpecifics(after, removed.text).length;
    return words.length > Math.max(brought, 1)
      ? { message: 'the line that goes says more, and that would be lost', words }
      : null;
  },

  /** A fact that is there is not written a second time. */
  async second({ operation: { kind, lines, removed, path }, known, operations }) {
    if (kind === 'index' || kind === 'supersede') return null;
    const going = new Set(
      operations.flatMap((it) => (it.removed === null ? [] : [`${it.path}:${it.removed.line}`])),
    );
    for (const line of lines) {
      if (line.trim() === '' || parseHeading(line) !== null) continue;
      const same = await known.findSame(
        line,
        (place) =>
          !going.has(`${place.path}:${place.line}`) &&
          !(place.path === path && place.line === removed?.line),
      );
      if (same !== null) return `${same.path} says that already: correct its line, or leave it`;
    }
    return null;
  },

  /** A catalog that leads nowhere, or to less than before, is not true. */
  index({ operation: { kind, path, lines, removed }, snapshot, operations }) {
    if (kind !== 'index')
      return path === INDEX_PATH ? 'user/index.md is changed by index alone' : null;
    const created = new Set(operations.filter((it) => it.kind === 'create').map((it) => it.path));
    const before = findLinks(removed?.text ?? '', INDEX_PATH);
    const after = findLinks(lines.join('\n'), INDEX_PATH);
    const isTrue = (link: string) =>
      snapshot.paths.has(link) || created.has(link) || before.includes(link);
    if (!after.every(isTrue)) return 'a line of the catalog links to a file that is not there';
    if (lines.some((line) => findLinks(line, INDEX_PATH).length === 0)) {
      return 'a line of the catalog has no link to a memory file';
    }
    if (removed !== null && before.length === 0) return 'that line is no entry of the catalog';
    return before.every((link) => after.includes(link)) ? null : 'the catalog would lose a file';
  },

  /** A short fact makes no long memory. */
  volume({ fact, operations }) {
    const comes = allLines(operations).join('\n').length;
    const goes = operations.reduce((sum, { removed }) => sum + (removed?.text.length ?? 0), 0);
    const most = GROWTH.factor * fact.length + goes + GROWTH.characters;
    return comes > most ? 'much more is written than the fact says' : null;
  },
};

const SHAPE = 'the operation has not what its kind needs, or more than that';

function allLines(operations: readonly Operation[]): string[] {
  return operations.flatMap(({ lines }) => lines);
}

/** What the lines that come may be made of. */
function toGrounds(candidate: Candidate): string {
  const { fact, operation, operations, file, today } = candidate;
  // A line may take in what another operation takes away: two lines become one.
  const gone = operations.map(({ removed }) => removed?.text ?? '');
  const named = operation.kind === 'index' ? namedText(candidate) : [];
  const place = file === null ? [toWords(operation.path)] : [];
  return [fact, ...gone, timesOf(fact, today), ...place, ...named].join('\n');
}

/** What a line of the catalog tells of: the files that it links to. */
function namedText({ operation: { lines }, operations, snapshot }: Candidate): string[] {
  return findLinks(lines.join('\n'), INDEX_PATH).flatMap((link) => [
    toWords(link),
    ...listShown(snapshot.files.get(link)),
    ...operations.filter(({ path }) => path === link).flatMap((it) => it.lines),
  ]);
}

/** The model can't have more from a file than it was shown. */
function listShown(file: ShownFile | undefined): string[] {
  if (file === undefined) return [];
  return [...file.shown].map((line) => file.lines[line - 1] ?? '');
}

function toWords(path: string): string {
  return path.replace(/^user\//, '').replaceAll(/[/._-]/g, ' ');
}

/** Where a link leads is looked at by the rule of the catalog. */
function withoutLinks(line: string): string {
  return without(without(line, '](', ')'), '[[', ']]');
}

function without(line: string, open: string, close: string): string {
  const [first = '', ...parts] = line.split(open);
  return first + parts.map((part) => part.slice(Math.max(0, part.indexOf(close)))).join(' ');
}
