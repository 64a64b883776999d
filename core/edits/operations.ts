import Type from 'typebox';
import type { JsonSchema } from '../contracts/tool.ts';
import { findJson, parseReply } from '../encoding/json-reply.ts';
import { DREAM_KINDS, type REPAIRS, VERDICTS } from '../schemas/dreams.ts';
import { nullable, strict, strictObject } from '../schemas/shapes.ts';
import { takeStart } from '../encoding/take-text.ts';
import { toUserPath } from '../files/paths.ts';
import { toLoose } from './loose-text.ts';
import { LINE_ID, ShownLines } from './numbered.ts';
import { toPromptLine } from './prompt-text.ts';
import type { EditedMemory } from './edited-memory.ts';

export { DREAM_KINDS, VERDICTS };

export type Verdict = (typeof VERDICTS)[number];

/** What a verdict says to a person, where an operation does not pass with it. */
export const VERDICT_WORDS: Readonly<Record<Verdict, string>> = {
  keeps: 'The verifier did not find that the source makes the old line untrue.',
  replaces: 'The verifier found that a value is replaced, and the operation was to keep it.',
  loses: 'The verifier found that a fact would be lost.',
  adds: 'The verifier found something in the new lines that no source says.',
  wrong: 'The verifier found that the result would be wrong.',
  unsure: 'The verifier could not tell whether the result is right.',
};

/**
 * What an operation does. Each caller of the engine allows some of these. `discard` removes a line of the
 * inbox; only the service uses it, no model may propose it.
 */
export type EditKind = (typeof DREAM_KINDS)[number] | 'add' | 'update' | 'discard';

/** The kinds that `memory_remember` may use. */
export const REMEMBER_KINDS: readonly EditKind[] = ['add', 'update', 'supersede', 'index'];

/** The path under which the fact of `memory_remember` is a source. */
export const FACT_PATH = 'fact';

/** A line as a model names it: what counts is its text. */
export interface LineRef {
  /** Virtual. */
  path: string;
  /** From 1. */
  line: number | null;
  text: string | null;
  /** The model named it by its id alone: the text is that of the line. */
  isUnquoted?: true;
  /** Why the id names no line. */
  fault?: string;
}

/** One operation of a model's reply, not yet found in memory. */
export interface EditOperation {
  /** Its place in the reply, from 1. */
  number: number;
  kind: EditKind;
  reason: string;
  remove: readonly LineRef[];
  add: { path: string; heading: string | null; lines: readonly string[] } | null;
  sources: readonly LineRef[];
  /** What the model got wrong and was mended. */
  repaired?: readonly (typeof REPAIRS)[number][];
}

/** A reply taken apart. `malformed` has the numbers of what is not of the form. */
export interface ParsedEdits {
  operations: EditOperation[];
  malformed: number[];
  /** The model says that the fact asks to forget something. */
  isForget?: true;
}

/**
 * Characters of the texts of one operation as the model gives them, and of the lines of memory that
 * it names.
 */
export const OPERATION_CHARACTERS = 24_000;

const LIMITS = {
  characters: 400_000,
  operations: 200,
  refs: 50,
  lines: 50,
  line: 2_000,
} as const;

const line = Type.String({ description: 'The id of a line, as in a7.' });
const added = strictObject({
  path: Type.String(),
  heading: nullable(Type.String()),
  lines: Type.Array(Type.String()),
});

/**
 * The form of a proposing reply: strict in the way that providers enforce. With `hasForget` the reply
 * says first whether the fact asks to forget something. A short one has neither reasons nor sources.
 */
export function editsSchema(
  kinds: readonly EditKind[],
  { hasForget = false, isShort = false }: { hasForget?: boolean; isShort?: boolean } = {},
): JsonSchema {
  const kind = Type.Unsafe<EditKind>({ type: 'string', enum: [...kinds] });
  const change = { remove: Type.Array(line), add: nullable(added) };
  const operation = isShort
    ? strictObject({ kind, ...change })
    : strictObject({
        kind,
        reason: Type.String({ description: 'One short sentence.' }),
        ...change,
        sources: Type.Array(line),
      });
  const forget = { forget: Type.Boolean({ description: 'The fact asks to forget something.' }) };
  return Type.Object(
    { ...(hasForget ? forget : {}), operations: Type.Array(operation) },
    { title: 'memory_edits', ...strict },
  );
}

/**
 * Takes a proposing reply apart, trusting nothing of it. A line is named by its id among the files that were
 * shown, or by path, number and text. Of a reply that was cut off, its complete operations count. `null`
 * when it has no list of operations.
 */
export function parseEdits(
  reply: string,
  kinds: readonly EditKind[],
  { files = [], home = toUserPath('') }: Partial<Pick<EditedMemory, 'files' | 'home'>> = {},
): ParsedEdits | null {
  if (reply.length > LIMITS.characters) return null;
  const read = readItems(reply);
  if (read === null) return null;
  const { items, isForget } = read;
  const operations: EditOperation[] = [];
  const malformed: number[] = [];
  const shown = { lines: new ShownLines(files), home };
  for (const [index, item] of items.slice(0, LIMITS.operations).entries()) {
    const operation = parseOperation(item, index + 1, { kinds, ...shown });
    if (operation === null) malformed.push(index + 1);
    else operations.push(operation);
  }
  return { operations, malformed, ...(isForget ? { isForget } : {}) };
}

/** An operation of a reply as the model wrote it, cut to a length that a prompt may have. */
export function quoteOperation(reply: string, number: number): string {
  return takeStart(JSON.stringify(readItems(reply)?.items[number - 1] ?? null), LIMITS.line);
}

const REPLY = { type: 'object', required: ['operations'] };

function readItems(given: string): { items: unknown[]; isForget: boolean } | null {
  const reply = findJson(given, REPLY);
  const parsed = parseReply(reply);
  if (parsed !== undefined) {
    const { operations = null, forget = false } = isObject(parsed) ? parsed : {};
    return Array.isArray(operations) ? { items: operations, isForget: forget === true } : null;
  }
  const begin = /^\s*\{\s*(?:"forget"\s*:\s*(true|false)\s*,\s*)?"operations"\s*:\s*\[/.exec(reply);
  if (begin === null) return null;
  const items = readComplete(reply, begin[0].length);
  return items.length === 0 ? null : { items, isForget: begin[1] === 'true' };
}

/** The complete objects of a list whose end is missing. */
function readComplete(text: string, from: number): unknown[] {
  const items: unknown[] = [];
  let depth = 0;
  let start = from;
  let inString = false;
  for (let at = from; at < text.length; at += 1) {
    const sign = text[at];
    if (inString) {
      if (sign === '\\') at += 1;
      else if (sign === '"') inString = false;
    } else if (sign === '"') inString = true;
    else if (sign === '{' && depth++ === 0) start = at;
    else if (sign === '}' && --depth === 0) {
      const item = parseReply(text.slice(start, at + 1));
      if (item === undefined) break;
      items.push(item);
    } else if (sign === ']' && depth === 0) break;
  }
  return items;
}

function parseOperation(
  value: unknown,
  number: number,
  { kinds, ...shown }: { kinds: readonly EditKind[] } & Shown,
): EditOperation | null {
  if (!isObject(value)) return null;
  const { kind, reason = '', remove = [], add = null, sources = [] } = value;
  if (!kinds.includes(kind as EditKind) || typeof reason !== 'string') return null;
  const toRef = (item: unknown) => parseRef(item, shown);
  const removed = parseList(remove, LIMITS.refs, toRef);
  const named = parseList(sources, LIMITS.refs, toRef);
  const added = add === null ? null : parseAdd(add, shown);
  if (removed === null || named === null || added === undefined) return null;
  if (removed.some(({ text, fault }) => text === null && fault === undefined)) return null;
  const texts = [...[...removed, ...named].map(({ text }) => text ?? ''), ...(added?.lines ?? [])];
  if (texts.join('').length > OPERATION_CHARACTERS) return null;
  const all = [...removed, ...named, ...(added === null ? [] : [added])];
  const repaired = all.flatMap(({ mended }) => (mended === null ? [] : [mended]));
  return {
    number,
    kind: kind as EditKind,
    reason: takeStart(reason, LIMITS.line),
    remove: removed.map(withoutMark),
    add: added === null ? null : withoutMark(added),
    sources: named.map(withoutMark),
    repaired: [...new Set(repaired)],
  };
}

/** What the model was shown, and what the paths of that memory start with. */
interface Shown {
  lines: ShownLines;
  home: string;
}

/** What was parsed, and what was mended: its path lacked `user/`, or its quotation differs in form. */
type Parsed<T> = T & { mended: 'path' | 'quote' | null };

function withoutMark<T extends object>({ mended: _mended, ...rest }: Parsed<T>): T {
  return rest as unknown as T;
}

function parseRef(value: unknown, { lines, home }: Shown): Parsed<LineRef> | null {
  const byId = parseId(value, lines);
  if (byId !== null) return byId;
  if (!isObject(value) || typeof value['path'] !== 'string') return null;
  const { path, text = null } = value;
  const given = value['line'] ?? null;
  const line = typeof given === 'string' && /^\d{1,6}$/.test(given) ? Number(given) : given;
  if (text !== null && (typeof text !== 'string' || text.length > LIMITS.line)) return null;
  if (line !== null && !Number.isSafeInteger(line)) return null;
  const quoted = typeof text === 'string' && text.trim() !== '' ? text : null;
  return { ...toOwnPath(path, home), line: line as number | null, text: quoted };
}

/** A line that is named by its id, with its text behind it or without; `null` for another form. */
function parseId(value: unknown, lines: ShownLines): Parsed<LineRef> | null {
  const { id, line, text } = isObject(value) ? value : { id: value };
  const given = [id, line].find((one) => typeof one === 'string');
  if (typeof given !== 'string' || given.length > LIMITS.line) return null;
  if (/^fact(?:[^a-z]|$)/i.test(given.trim()))
    return { path: FACT_PATH, line: 1, text: null, mended: null };
  const [, letters = '', number = '', behind = ''] = LINE_ID.exec(given.trim()) ?? [];
  if (letters === '') return null;
  const quoted = typeof text === 'string' && text.trim() !== '' ? text : behind;
  const found = lines.find(letters, Number(number));
  const name = `${letters}${number}`;
  if (found === null) return toUnknown(`${name} is the id of no line that was shown.`);
  if (found.text.trim() === '') return toUnknown(`${name} is an empty line.`);
  if (quoted.trim() === '') return { ...found, isUnquoted: true, mended: null };
  const shown = toPromptLine(found.text);
  if (quoted.trim() === shown.trim()) return { ...found, mended: null };
  return toLoose(quoted) === toLoose(shown)
    ? { ...found, mended: 'quote' }
    : toUnknown(`The text that is quoted behind ${name} is not that of the line.`);
}

function toUnknown(fault: string): Parsed<LineRef> {
  return { path: '', line: null, text: null, fault, mended: null };
}

/** `undefined` for what is not of the form. */
function parseAdd(
  value: unknown,
  { home }: Shown,
): Parsed<NonNullable<EditOperation['add']>> | null | undefined {
  if (!isObject(value)) return undefined;
  const { path, heading = null, lines } = value;
  if (typeof path !== 'string' || (heading !== null && typeof heading !== 'string')) {
    return undefined;
  }
  const added = parseList(lines, LIMITS.lines, (line) =>
    typeof line === 'string' && line.length <= LIMITS.line ? line.trimEnd() : null,
  );
  if (added === null) return undefined;
  const title = heading?.replace(/^#+/, '').trim() ?? '';
  if (added.length === 0) return null;
  return { ...toOwnPath(path, home), heading: title === '' ? null : title, lines: added };
}

/** A missing `user/`, or folder of the space, is supplied. */
function toOwnPath(path: string, home: string): Parsed<{ path: string }> {
  if (path === FACT_PATH || path.startsWith(home) || /^(?:user|shared)\//.test(path)) {
    return { path, mended: null };
  }
  // It may be the mark of the fact: see `repairPaths`.
  return { path: `${home}${path}`, mended: /^fact[^/]*$/i.test(path) ? null : 'path' };
}

function parseList<T>(value: unknown, most: number, parse: (item: unknown) => T | null) {
  if (!Array.isArray(value) || value.length > most) return null;
  const items = value.map(parse);
  return items.every((item) => item !== null) ? (items as T[]) : null;
}

/** Whether a value is an object, and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
