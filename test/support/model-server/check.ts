import { Ajv2020 } from 'ajv/dist/2020.js';

const ajv = new Ajv2020({ strict: false, allErrors: false, discriminator: true });

/** Compiles a schema of a provider's API into a check that says what is wrong, and where. */
export function compileCheck(schema: object): (value: unknown) => void {
  const validate = ajv.compile(schema);
  return (value) => {
    if (validate(value)) return;
    const faults = (validate.errors ?? []).map(({ instancePath, message = '', params }) => {
      const { additionalProperty: name } = params as { additionalProperty?: string };
      return `body${instancePath} ${message}${name === undefined ? '' : `: ${name}`}`;
    });
    throw new Error(faults.join('; '));
  };
}

/** Objects of the API: what it does not document, it does not take. */
export function closed(properties: Record<string, object>, required: readonly string[]): object {
  return { type: 'object', properties, required, additionalProperties: false };
}

export const TEXT = { type: 'string' };
export const MAYBE_TEXT = { type: ['string', 'null'] };
export const BOOLEAN = { type: 'boolean' };
export const NUMBER = { type: 'number' };
export const ANY_OBJECT = { type: 'object' };

/** A tool’s schema is a schema, of an object, and has no place for a user. */
export function checkToolSchema(name: string, schema: unknown): void {
  const { type } = schema as { type?: unknown };
  if (type !== 'object') throw new Error(`${name}: the schema of a tool is one of an object.`);
  if (ajv.validateSchema(schema as object) !== true) {
    throw new Error(`${name}: ${ajv.errorsText()}`);
  }
  if (/user_?id/i.test(JSON.stringify(schema))) throw new Error(`${name}: it names a user id.`);
}

/** Each call has one answer, and no answer is without its call. */
export function checkAnswers(calls: readonly string[], answers: readonly string[]): void {
  for (const id of calls) {
    const count = answers.filter((answer) => answer === id).length;
    if (count !== 1) throw new Error(`The call ${id} has ${count} outputs.`);
  }
  for (const id of answers) {
    if (!calls.includes(id)) throw new Error(`There is no call ${id} to answer.`);
  }
}

export function checkNames(names: readonly string[]): void {
  if (new Set(names).size !== names.length) throw new Error('Two tools have one name.');
}

const STRICT_KEYWORDS = new Set([
  ...['type', 'title', 'description', 'properties', 'required', 'additionalProperties', 'items'],
  ...['enum', 'const', 'anyOf', '$ref', '$defs', 'pattern', 'format', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems'],
]);

/** https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
export function checkStrictSchema(name: string, schema: unknown): void {
  const members = schema as Record<string, unknown>;
  const unknown = Object.keys(members).filter((keyword) => !STRICT_KEYWORDS.has(keyword));
  if (unknown.length > 0) throw new Error(`${name}: strict mode has no ${unknown.join(', ')}.`);
  const { type, properties, required, additionalProperties, items, anyOf } = members;
  if (type === undefined && anyOf === undefined && members['$ref'] === undefined) {
    throw new Error(`${name}: strict mode wants a type.`);
  }
  if (type === 'object') {
    const names = Object.keys(properties as object).sort();
    if (additionalProperties !== false) throw new Error(`${name}: additionalProperties is open.`);
    if (JSON.stringify([...(required as string[])].sort()) !== JSON.stringify(names)) {
      throw new Error(`${name}: strict mode requires every property.`);
    }
  }
  for (const [member, value] of Object.entries((properties ?? {}) as object)) {
    checkStrictSchema(`${name}.${member}`, value);
  }
  if (items !== undefined) checkStrictSchema(`${name}[]`, items);
  for (const branch of (anyOf ?? []) as unknown[]) checkStrictSchema(name, branch);
}
