import { code, table } from './markdown.mjs';

/**
 * The parts of JSON Schema that the definitions use.
 *
 * @typedef {object} Schema
 * @property {string | readonly string[]} [type]
 * @property {string} [format]
 * @property {string} [description]
 * @property {Record<string, Schema>} [properties]
 * @property {string[]} [required]
 * @property {Schema} [items]
 * @property {Schema[]} [anyOf]
 * @property {unknown[]} [enum]
 * @property {unknown} [const]
 * @property {Record<string, Schema>} [patternProperties]
 * @property {Schema} [then]
 * @property {Schema} [else]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {number} [minLength]
 * @property {number} [maxLength]
 * @property {number} [minItems]
 * @property {number} [maxItems]
 */

/**
 * A table of an object's members, nested ones with their path (`files[].path`).
 *
 * @param {object} schema
 * @param {{ required: boolean }} options whether to say which members are required
 * @returns {string | null} `null` for an object without members
 */
export function describeMembers(schema, { required }) {
  const rows = [...membersOf(/** @type {Schema} */ (schema), '')].map((row) => [
    code(row.name),
    row.type,
    ...(required ? [row.isRequired ? 'yes' : ''] : []),
    row.description,
  ]);
  if (rows.length === 0) return null;
  return table(['name', 'type', ...(required ? ['required'] : []), 'meaning'], rows);
}

/**
 * @param {Schema} schema
 * @param {string} prefix
 * @returns {Generator<{ name: string, type: string, isRequired: boolean, description: string }>}
 */
function* membersOf(schema, prefix) {
  for (const branch of branchesOf(schema)) {
    for (const [name, member] of Object.entries(branch.properties ?? {})) {
      yield {
        name: prefix + name,
        type: describeType(member),
        isRequired: branch.required?.includes(name) ?? false,
        description: describeWords(member),
      };
      yield* membersOf(member, `${prefix}${name}.`);
      for (const inner of branchesOf(member)) {
        if (inner.items !== undefined) yield* membersOf(inner.items, `${prefix}${name}[].`);
      }
    }
  }
}

/**
 * A schema as the alternatives that it offers: itself, when it offers none.
 *
 * @param {Schema} schema
 * @returns {Schema[]}
 */
function branchesOf(schema) {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap(branchesOf);
  if (schema.then !== undefined && schema.else !== undefined) return [schema.else, schema.then];
  return [schema];
}

/**
 * @param {Schema} schema
 * @returns {string}
 */
function describeType(schema) {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(describeType))].join(' or ');
  if (schema.enum !== undefined) return schema.enum.map((one) => code(String(one))).join(', ');
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.type === 'array') {
    const items = schema.items === undefined ? '' : ` of ${describeType(schema.items)}`;
    return `array${items}`;
  }
  if (schema.format === 'date-time') return 'time';
  return [schema.type ?? 'any'].flat().join(' or ');
}

/** @param {Schema} schema */
function describeWords(schema) {
  const words = schema.description ?? schema.anyOf?.find((one) => one.description)?.description;
  return [words ?? '', describeBounds(schema)].filter((part) => part !== '').join(' ');
}

/** @param {Schema} schema */
function describeBounds(schema) {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  const bounds = [
    describeRange(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum, ''),
    describeRange(minLength, maxLength, ' characters'),
    describeRange(minItems, maxItems, ' items'),
  ];
  return bounds.filter((bound) => bound !== null).join(' ');
}

/**
 * @param {number | undefined} from
 * @param {number | undefined} to
 * @param {string} unit
 */
function describeRange(from, to, unit) {
  const text = (/** @type {number} */ value) => value.toLocaleString('en-US');
  if (from !== undefined && to !== undefined) return `${text(from)} to ${text(to)}${unit}.`;
  if (to !== undefined) return `At most ${text(to)}${unit}.`;
  return null;
}
