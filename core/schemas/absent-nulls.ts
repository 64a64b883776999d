import type { JsonSchema } from '../contracts/tool.ts';
import { isSchema, type Schema, toNames } from './strict-schema.ts';

/**
 * Returns the value without the optional members that are `null`, at any depth. Python frameworks and
 * strict modes fill in what a model leaves out with `null`. A member whose schema allows `null` keeps
 * it, and so does one that the schema does not know or requires: the check then names it.
 */
export function removeAbsentNulls(schema: JsonSchema, value: unknown): unknown {
  const { properties, required, items, anyOf, oneOf } = schema as Schema;
  const branches = [anyOf, oneOf].flatMap((list) =>
    Array.isArray(list) ? list.filter(isSchema) : [],
  );
  if (branches.length > 0) {
    return branches.reduce((rest: unknown, branch) => removeAbsentNulls(branch, rest), value);
  }
  if (Array.isArray(value)) {
    return isSchema(items) ? value.map((item) => removeAbsentNulls(items, item)) : value;
  }
  if (!isSchema(value) || !isSchema(properties)) return value;
  const entries = Object.entries(value).flatMap(([name, member]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isSchema(known)) return [[name, member]];
    const isRequired = toNames(required).includes(name);
    if (member === null && !isRequired && !allowsNull(known)) return [];
    return [[name, removeAbsentNulls(known, member)]];
  });
  return Object.fromEntries(entries);
}

function allowsNull({ type, enum: values, const: value, anyOf, oneOf }: Schema): boolean {
  if (type !== undefined) return [type].flat().includes('null');
  if (Array.isArray(values)) return values.includes(null);
  if (value !== undefined) return value === null;
  const branches: unknown = anyOf ?? oneOf;
  return (
    Array.isArray(branches) && branches.some((branch) => isSchema(branch) && allowsNull(branch))
  );
}
