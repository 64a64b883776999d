import type { JsonSchema, ToolDescription } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { isSchema } from './strict-schema.ts';

/** The length that model providers allow for the name of a tool. */
const NAME_LENGTH = 64;
const PREFIX = /^[A-Za-z_][A-Za-z0-9_-]{0,31}$/;

/** The names of a memory's tools as a model knows them, with a prefix where an agent has two memories. */
export interface ToolNames {
  /** The tools with the model's names, also where their descriptions name each other. */
  tools: ToolDescription[];
  /** A tool's name as a model knows it. */
  toShown(name: string): string;
  /** The plain name of a tool that a model names; `null` for one without the prefix. */
  toPlain(name: string): string | null;
  /** A text for a model with the names of the tools as it knows them. */
  rename(text: string): string;
}

/**
 * Names tools with a prefix. Throws `INVALID_REQUEST` for a prefix with other characters than letters,
 * digits, `_` and `-`, and where a name would be longer than the 64 characters that providers allow.
 */
export function nameTools(tools: readonly ToolDescription[], prefix = ''): ToolNames {
  if (prefix === '') {
    return {
      tools: [...tools],
      toShown: (name) => name,
      toPlain: (name) => name,
      rename: (text) => text,
    };
  }
  checkToolPrefix(prefix);
  const names = tools.map(({ name }) => name);
  const longest = Math.max(0, ...names.map(({ length }) => length));
  if (prefix.length + longest > NAME_LENGTH) {
    throw invalidPrefix(`may have at most ${NAME_LENGTH - longest} characters with these tools`);
  }
  const known = new Set(names);
  const rename = (text: string) =>
    text.replace(/[\w./-]+/g, (word) => {
      // A sentence may end with the name.
      const name = word.endsWith('.') ? word.slice(0, -1) : word;
      return known.has(name) ? `${prefix}${word}` : word;
    });
  return {
    tools: tools.map((tool) => ({
      ...tool,
      name: `${prefix}${tool.name}`,
      description: rename(tool.description),
      inputSchema: renameDescriptions(tool.inputSchema, rename),
      outputSchema: renameDescriptions(tool.outputSchema, rename),
    })),
    toShown: (name) => `${prefix}${name}`,
    toPlain: (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : null),
    rename,
  };
}

/** Refuses a prefix that some provider takes in no name of a tool; an empty one is none. */
export function checkToolPrefix(prefix: unknown): void {
  if (prefix === '' || (typeof prefix === 'string' && PREFIX.test(prefix))) return;
  throw invalidPrefix(
    'must be 1 to 32 letters, digits, "_" or "-", and begin with a letter or "_", like "team_"',
  );
}

function invalidPrefix(message: string): MemoryError {
  const issues = [{ path: '/toolPrefix', message }];
  return new MemoryError('INVALID_REQUEST', `toolPrefix ${message}.`, { details: { issues } });
}

function renameDescriptions(schema: JsonSchema, rename: (text: string) => string): JsonSchema {
  const convert = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(convert);
    if (!isSchema(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        key,
        key === 'description' && typeof member === 'string' ? rename(member) : convert(member),
      ]),
    );
  };
  return convert(schema) as JsonSchema;
}
