import type { JsonSchema } from '../../core/contracts/tool.ts';

/** What a prompt ends with where a server takes no schema beside it. */
export function askForJson(system: string, schema: JsonSchema): string {
  return (
    `${system}\n\nAnswer with one JSON value of this JSON Schema, and with nothing else: ` +
    `no words before or after it, no code fence.\n${JSON.stringify(schema)}`
  );
}

/** What the tool is for whose arguments are the reply, where a model is asked to call one. */
export const ANSWER_TOOL = { description: 'Takes your answer: call it once.' } as const;

/** The name of a schema, and of the tool that takes it: its title, where providers accept that. */
export function nameOf(schema: JsonSchema): string {
  const { title } = schema as { title?: unknown };
  return typeof title === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(title) ? title : 'answer';
}

/** A tool's arguments, whose schema is always of an object. */
export type ToolSchema = Record<string, unknown> & { type: 'object' };

/** The schema of a tool that takes JSON of a schema: one that is no object is put into one. */
export function toToolSchema(schema: JsonSchema): ToolSchema {
  if (isObjectSchema(schema)) return schema;
  return {
    type: 'object',
    properties: { value: schema },
    required: ['value'],
    additionalProperties: false,
  };
}

/** The JSON that a tool of {@link toToolSchema} was called with. */
export function unwrapToolInput(input: Record<string, unknown>, schema: JsonSchema): string {
  return JSON.stringify(isObjectSchema(schema) ? input : (input['value'] ?? null));
}

function isObjectSchema(schema: JsonSchema): schema is ToolSchema {
  return (schema as { type?: unknown }).type === 'object';
}

/** The keys that the strict forms of providers take; others are not enforced, or refused. */
const PLAIN_KEYS = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'enum',
  'const',
  'description',
  'title',
  'anyOf',
]);

/**
 * Whether a schema can be asked for strictly: an object whose every property is required and which
 * has no others, of plain keys, all the way down.
 */
export function isStrictSchema(schema: unknown): boolean {
  return (
    typeof schema === 'object' &&
    schema !== null &&
    (schema as { type?: unknown }).type === 'object' &&
    isStrictPart(schema)
  );
}

function isStrictPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return false;
  const { type, properties, required, additionalProperties, items, anyOf } = part as Record<
    string,
    unknown
  >;
  if (Object.keys(part).some((key) => !PLAIN_KEYS.has(key))) return false;
  if (type === 'object') {
    if (additionalProperties !== false || typeof properties !== 'object' || properties === null) {
      return false;
    }
    const names = Object.keys(properties);
    if (!Array.isArray(required) || names.some((name) => !required.includes(name))) return false;
    if (!Object.values(properties).every(isStrictPart)) return false;
  }
  if (items !== undefined && !isStrictPart(items)) return false;
  return anyOf === undefined || (Array.isArray(anyOf) && anyOf.every(isStrictPart));
}
