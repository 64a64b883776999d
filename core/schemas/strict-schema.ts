import type { JsonSchema } from '../contracts/tool.ts';

/** A schema as data. */
export type Schema = Record<string, unknown>;

/**
 * What OpenAI's strict mode keeps of a schema; lengths of text are the service's to check.
 * https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
const KEPT = new Set([
  ...['type', 'title', 'description', 'enum', 'const', 'pattern', 'format'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minItems', 'maxItems'],
]);
/** Lengths that strict mode refuses: they are checked when the tool is called. */
export const LENGTHS: ReadonlySet<string> = new Set([
  ...['minLength', 'maxLength', 'uniqueItems', 'minProperties', 'maxProperties'],
]);
const DROPPED = new Set([
  ...LENGTHS,
  ...['default', 'examples', '$id', '$schema', '$comment', 'readOnly', 'writeOnly', 'deprecated'],
]);

/**
 * The schema for a model that is held to it: every member is required, and one that was optional
 * may be `null` instead. `null` for a schema that strict mode has no words for, such as an object
 * with members that it does not name.
 */
export function toStrictSchema(schema: JsonSchema): JsonSchema | null {
  try {
    return convert(schema as Schema);
  } catch (error) {
    if (error === NOT_STRICT) return null;
    throw error;
  }
}

const NOT_STRICT = Symbol('not strict');

function convert(schema: Schema): Schema {
  const strict: Schema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (KEPT.has(keyword)) strict[keyword] = value;
    else if (keyword === 'items') strict[keyword] = convertMember(value);
    else if (keyword === 'anyOf') strict[keyword] = (value as unknown[]).map(convertMember);
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- never leaves this file
    else if (!OF_OBJECTS.has(keyword) && !DROPPED.has(keyword)) throw NOT_STRICT;
  }
  if (schema['properties'] !== undefined || schema['type'] === 'object') {
    return { ...strict, ...convertObject(schema) };
  }
  if (strict['type'] === undefined && strict['anyOf'] === undefined) {
    const type = typeOf(schema);
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- never leaves this file
    if (type === null) throw NOT_STRICT;
    strict['type'] = type;
  }
  return strict;
}

const OF_OBJECTS = new Set(['properties', 'required', 'additionalProperties']);

function convertObject({ properties, required, additionalProperties }: Schema): Schema {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- never leaves this file
  if (additionalProperties !== false) throw NOT_STRICT;
  const members = isSchema(properties) ? properties : {};
  const entries = Object.entries(members).map(([name, member]) => {
    const strict = convertMember(member);
    if (toNames(required).includes(name)) return [name, strict];
    const { description, ...rest } = strict;
    const words = description === undefined ? {} : { description };
    return [name, { ...words, anyOf: [rest, { type: 'null' }] }];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(entries) as Schema,
    required: Object.keys(members),
    additionalProperties: false,
  };
}

function convertMember(member: unknown): Schema {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- never leaves this file
  if (!isSchema(member)) throw NOT_STRICT;
  return convert(member);
}

/** The type of a schema's values, where JSON Schema is content with the values; `null` if they differ. */
export function typeOf({ enum: values, const: value }: Schema): string | null {
  const all = Array.isArray(values) ? (values as unknown[]) : [value];
  const types = new Set(all.map((one) => typeof one));
  const [type] = types;
  return types.size === 1 && type !== undefined && NAMED.has(type) ? type : null;
}

const NAMED = new Set(['string', 'number', 'boolean']);

/** The names in `required`. */
export function toNames(required: unknown): readonly unknown[] {
  return Array.isArray(required) ? required : [];
}

/** Whether a value is a schema with keywords. */
export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
