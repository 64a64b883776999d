import type { JsonSchema } from '../contracts/tool.ts';
import { isSchema, LENGTHS, type Schema, toNames, typeOf } from './strict-schema.ts';

/**
 * The schema of a tool in the one form that all MCP clients understand. It differs from the tool's own
 * schema in what their converters need, and the service takes the same calls:
 *
 * - an optional member may be `null`, said twice: in `type`, which strict modes keep when they make
 *   every member required, and as `nullable`, without which smolagents calls it required;
 * - an enum has its type, and no `null` among its values, which Gemini refuses;
 * - objects don't forbid further members, since google-genai fails on `false` where a schema can be;
 * - no lengths of text, which OpenAI's strict mode refuses.
 *
 * `docs/decisions/one-schema-for-all-clients.md` has the table of frameworks.
 */
export function toPortableSchema(schema: JsonSchema): JsonSchema {
  const { properties, required, items, anyOf, additionalProperties, ...rest } = schema as Schema;
  const portable: Schema = Object.fromEntries(
    Object.entries(rest).filter(([keyword]) => !LENGTHS.has(keyword)),
  );
  const type = typeOf(rest);
  if (rest['type'] === undefined && type !== null) portable['type'] = type;
  if (isSchema(properties)) {
    const entries = Object.entries(properties).map(([name, member]) => {
      if (!isSchema(member)) return [name, member];
      const converted = toPortableSchema(member) as Schema;
      return [name, toNames(required).includes(name) ? converted : toNullable(converted)];
    });
    portable['properties'] = Object.fromEntries(entries) as Schema;
    if (required !== undefined) portable['required'] = required;
  }
  if (items !== undefined) portable['items'] = isSchema(items) ? toPortableSchema(items) : items;
  if (Array.isArray(anyOf)) {
    portable['anyOf'] = anyOf.map((one: unknown) => (isSchema(one) ? toPortableSchema(one) : one));
  }
  if (additionalProperties !== undefined && additionalProperties !== false) {
    portable['additionalProperties'] = additionalProperties;
  }
  return portable;
}

/** `nullable` without a type would be no valid schema for some. */
function toNullable(schema: Schema): Schema {
  const { type, enum: values, const: value } = schema;
  if (typeof type !== 'string') return schema;
  if (values !== undefined || value !== undefined) return { ...schema, nullable: true };
  return { ...schema, type: [type, 'null'], nullable: true };
}
