/** What an operation does; there is no free rewrite, and no deletion. */
export const OPERATION_KINDS = ['merge', 'supersede', 'reword', 'move', 'index'] as const;

export type OperationKind = (typeof OPERATION_KINDS)[number];

/** A line of the snapshot: a virtual path, and a number from 1. */
export interface LineRef {
  path: string;
  line: number;
}

/** What the model proposes: lines that go, lines that come, and the lines that say so. */
export interface Operation {
  kind: OperationKind;
  reason: string;
  /** With the text that the model believes to stand there. */
  remove: readonly (LineRef & { text: string })[];
  /** Where the first removed line of that file stood, or at the end of the heading's section. */
  add: { path: string; heading: string | null; lines: readonly string[] } | null;
  sources: readonly LineRef[];
}

/** Operations that one reply may hold; the rest is not looked at. */
const MAX_OPERATIONS = 200;
const MAX_LINES = 100;
const MAX_TEXT = 2_000;
const MAX_REASON = 500;

/**
 * Takes a model's reply apart, trusting nothing of it: what is no operation is counted and left
 * out. `null` when the reply as a whole is not of the form that it must be.
 */
export function parseReply(text: string): { operations: Operation[]; malformed: number } | null {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return null;
  }
  const list = isObject(reply) ? reply['operations'] : undefined;
  if (!Array.isArray(list)) return null;
  const operations = list.slice(0, MAX_OPERATIONS).map(parseOperation);
  const valid = operations.filter((operation) => operation !== null);
  return { operations: valid, malformed: list.length - valid.length };
}

/** Sources that the operation itself leaves where they are. */
export function stayingSources({ remove, sources }: Operation): LineRef[] {
  const gone = new Set(remove.map(toKey));
  return sources.filter((ref) => !gone.has(toKey(ref)));
}

/** A line as one text, to be looked up by. */
export function toKey({ path, line }: LineRef): string {
  return `${path}:${line}`;
}

/** The files that an operation changes. */
export function pathsOf({ remove, add }: Operation): string[] {
  return [...new Set([...remove.map(({ path }) => path), ...(add === null ? [] : [add.path])])];
}

/** For each file that gives lines the others that what replaces them stands in. */
export function needsOf(operation: Operation): Map<string, Set<string>> {
  const needs = new Map<string, Set<string>>();
  const held = [
    ...(operation.add === null ? [] : [operation.add.path]),
    ...stayingSources(operation).map(({ path }) => path),
  ];
  for (const { path } of operation.remove) {
    const others = held.filter((other) => other !== path);
    if (others.length > 0) needs.set(path, new Set(others));
  }
  return needs;
}

function parseOperation(value: unknown): Operation | null {
  if (!isObject(value)) return null;
  const { kind, reason, remove, add, sources } = value;
  if (!OPERATION_KINDS.includes(kind as OperationKind) || typeof reason !== 'string') return null;
  const removed = parseList(remove, parseRemoved);
  const cited = parseList(sources ?? [], parseRef);
  const added = add === null || add === undefined ? null : parseAdded(add);
  if (removed === null || cited === null || added === undefined) return null;
  return {
    kind: kind as OperationKind,
    reason: toPlainLine(reason).slice(0, MAX_REASON).toWellFormed(),
    remove: removed,
    add: added,
    sources: cited,
  };
}

function parseRef(value: unknown): LineRef | null {
  if (!isObject(value)) return null;
  const { path, line } = value;
  if (typeof path !== 'string' || !Number.isSafeInteger(line)) return null;
  return { path, line: line as number };
}

function parseRemoved(value: unknown): (LineRef & { text: string }) | null {
  const ref = parseRef(value);
  const text = (value as { text?: unknown } | null)?.text;
  return ref === null || typeof text !== 'string' ? null : { ...ref, text };
}

/** `undefined` for what is no addition. */
function parseAdded(value: unknown): NonNullable<Operation['add']> | undefined {
  if (!isObject(value)) return undefined;
  const { path, heading = null, lines } = value;
  const parsed = parseList(lines, (line) =>
    typeof line === 'string' && line.length <= MAX_TEXT && isOneLine(line) ? line.trimEnd() : null,
  );
  if (typeof path !== 'string' || parsed === null || parsed.length === 0) return undefined;
  if (heading !== null && (typeof heading !== 'string' || !isOneLine(heading))) return undefined;
  const title = heading === null ? null : heading.replace(/^#+/, '').trim();
  return { path, heading: title === '' ? null : title, lines: parsed };
}

function parseList<T>(value: unknown, parse: (item: unknown) => T | null): T[] | null {
  if (!Array.isArray(value) || value.length > MAX_LINES) return null;
  const items = value.map(parse);
  return items.every((item) => item !== null) ? (items as T[]) : null;
}

/** A line of memory: no line ends of any kind, no control characters. */
function isOneLine(text: string): boolean {
  return text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text.replaceAll('\t', ' '));
}

function toPlainLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').trim();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
