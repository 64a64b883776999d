import type { JsonSchema } from '../contracts/tool.ts';
import { invalidField } from '../errors.ts';
import { compileSchema } from '../schemas/validate.ts';
import { takeStart } from '../encoding/take-text.ts';

type Query = Record<string, unknown>;

const NO_PARAMETERS: JsonSchema = { type: 'object', additionalProperties: false };

/**
 * Compiles the parser of a route's query string. It decodes each parameter once, and converts text
 * to numbers and booleans where the schema declares them. It throws `INVALID_REQUEST` and names
 * parameters that are unknown, repeated, malformed or invalid.
 */
export function compileQuery(schema: JsonSchema = NO_PARAMETERS): (querystring: string) => Query {
  const check = compileSchema<Query>(schema);
  const types = typesOf(schema);
  return (querystring) => {
    const query = parse(querystring);
    for (const key of Object.keys(query)) {
      query[key] = toDeclared(query[key] as string, types.get(key));
    }
    return check(query);
  };
}

function typesOf(schema: JsonSchema): Map<string, unknown> {
  const { properties = {} } = schema as { properties?: Record<string, { type?: unknown }> };
  return new Map(Object.entries(properties).map(([key, property]) => [key, property.type]));
}

const DECIMAL = /^-?\d{1,15}(?:\.\d{1,15})?$/;

/**
 * Text that is not a number or boolean stays text, so that the schema refuses it and names the
 * parameter.
 */
function toDeclared(text: string, type: unknown): unknown {
  if (type === 'integer' || type === 'number') return DECIMAL.test(text) ? Number(text) : text;
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function parse(querystring: string): Query {
  // Without a prototype, `__proto__` is an ordinary unknown name.
  const query = Object.create(null) as Query;
  for (const pair of querystring.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const key = decode(equals < 0 ? pair : pair.slice(0, equals), null);
    if (key in query) {
      throw invalidField(`/${takeStart(key, 100)}`, 'is given more than once');
    }
    query[key] = equals < 0 ? '' : decode(pair.slice(equals + 1), key);
  }
  return query;
}

function decode(text: string, key: string | null): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    const message = 'has a malformed escape';
    if (key === null) throw invalidField('', message, 'The query string');
    throw invalidField(`/${takeStart(key, 100)}`, message);
  }
}
