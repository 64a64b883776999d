import type { JsonSchema } from '../../contracts/tool.ts';

/** What an operation does; there is no free rewrite, and no deletion of a file. */
export const OPERATION_KINDS = ['create', 'append', 'patch', 'supersede', 'index'] as const;

export type OperationKind = (typeof OPERATION_KINDS)[number];

/** What the model proposes: one line that goes, or none, and lines that come. */
export interface Operation {
  kind: OperationKind;
  /** Virtual. */
  path: string;
  /** Lines that are added go to the end of this section; `null`: to the end of the file. */
  heading: string | null;
  /** The line that goes, with the text that the model believes to stand there. */
  removed: { line: number; text: string } | null;
  lines: readonly string[];
}

/** A model's reply: files that it asks to see, or what it proposes. */
export interface Reply {
  read: readonly string[];
  operations: readonly Operation[];
}

/** Characters of a reply, and what may stand in it. */
const REPLY_LIMITS = {
  characters: 65_536,
  reads: 20,
  operations: 50,
  lines: 50,
  lineLength: 2_000,
} as const;

/** The form of a reply: strict in the way that providers enforce. */
export const REPLY_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    read: {
      type: 'array',
      description: 'Files to be shown before you propose; empty when you have seen enough.',
      items: { type: 'string' },
    },
    operations: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          kind: { type: 'string', enum: [...OPERATION_KINDS] },
          path: { type: 'string' },
          heading: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          line: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
          oldText: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          lines: { type: 'array', items: { type: 'string' } },
        },
        required: ['kind', 'path', 'heading', 'line', 'oldText', 'lines'],
        additionalProperties: false,
      },
    },
  },
  required: ['read', 'operations'],
  additionalProperties: false,
};

/**
 * Takes a model's reply apart, trusting nothing of it; `null` when anything in it is not of the form
 * that it must be, for half of what was meant is not what was meant.
 */
export function parseReply(text: string): Reply | null {
  if (text.length > REPLY_LIMITS.characters) return null;
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(reply)) return null;
  const { read = [], operations = [] } = reply;
  const reads = parseList(read, REPLY_LIMITS.reads, (path) =>
    typeof path === 'string' ? path : null,
  );
  const parsed = parseList(operations, REPLY_LIMITS.operations, parseOperation);
  return reads === null || parsed === null ? null : { read: reads, operations: parsed };
}

function parseOperation(value: unknown): Operation | null {
  if (!isObject(value)) return null;
  const { kind, path, heading = null, line = null, oldText = null, lines } = value;
  if (!OPERATION_KINDS.includes(kind as OperationKind) || typeof path !== 'string') return null;
  if (heading !== null && (typeof heading !== 'string' || !isOneLine(heading))) return null;
  const added = parseList(lines, REPLY_LIMITS.lines, (text) =>
    typeof text === 'string' && isOneLine(text) ? text.trimEnd() : null,
  );
  if (added === null) return null;
  const isBare = line === null && oldText === null;
  if (!isBare && (!Number.isSafeInteger(line) || typeof oldText !== 'string')) return null;
  const title = heading?.replace(/^#+/, '').trim() ?? '';
  return {
    kind: kind as OperationKind,
    path,
    heading: title === '' ? null : title,
    removed: isBare ? null : { line: line as number, text: oldText as string },
    lines: added,
  };
}

function parseList<T>(
  value: unknown,
  limit: number,
  parse: (item: unknown) => T | null,
): T[] | null {
  if (!Array.isArray(value) || value.length > limit) return null;
  const items = value.map(parse);
  return items.every((item) => item !== null) ? (items as T[]) : null;
}

/** No line ends of any kind, no control characters, and none that turn or hide text. */
function isOneLine(text: string): boolean {
  return (
    text.length <= REPLY_LIMITS.lineLength &&
    text.isWellFormed() &&
    !/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u.test(
      text.replaceAll('\t', ' '),
    )
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
