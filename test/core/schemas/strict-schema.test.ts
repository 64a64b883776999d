import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCore } from '../../../core/service.ts';
import { toStrictSchema } from '../../../core/schemas/strict-schema.ts';
import { compileSchema } from '../../../core/schemas/validate.ts';
import { checkStrictSchema } from '../../support/model-server/check.ts';
import { sqlite } from '../../support/databases.ts';

// Never opened: it is there to be asked for its definitions.
const { definitions } = createCore({
  storage: sqlite({ filename: ':memory:' }),
  tools: { delete: true, move: true },
}).tools;

interface Schema {
  type?: string;
  format?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
}

/** Values that fit a schema of the kinds that tools have. */
function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const {
    type,
    format,
    enum: values,
    properties = {},
    required = [],
    items = {},
    minimum = 0,
  } = schema;
  if (values !== undefined) return fc.constantFrom(...values);
  if (format === 'date-time') {
    const times = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true });
    return times.map((time) => time.toISOString());
  }
  if (type === 'string') return fc.string({ minLength: 1, maxLength: 20 });
  if (type === 'integer') return fc.integer({ min: minimum, max: schema.maximum ?? minimum + 99 });
  if (type === 'boolean') return fc.boolean();
  if (type === 'array') return fc.array(valuesOf(items), { minLength: 1, maxLength: 3 });
  const members = Object.entries(properties).map(([name, one]) => [name, valuesOf(one)]);
  return fc.record(Object.fromEntries(members) as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: required,
  });
}

/** What a model in strict mode writes for a value: null for what is left out. */
function withNulls({ properties, items = {} }: Schema, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => withNulls(items, one));
  if (properties === undefined) return value;
  const given = value as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [
      name,
      name in given ? withNulls(one, given[name]) : null,
    ]),
  );
}

describe.each(definitions.map(({ name, inputSchema }) => [name, inputSchema as Schema] as const))(
  'the strict schema of %s',
  (name, inputSchema) => {
    const strict = toStrictSchema(inputSchema) as Schema;

    it('has nothing that OpenAI refuses', () => {
      expect(() => checkStrictSchema(name, strict)).not.toThrow();
    });

    it('takes what the tool takes, with null for what is left out, and gives it back', () => {
      const check = compileSchema(strict);
      const checkCall = compileSchema(inputSchema, { nullIsAbsent: true });
      fc.assert(
        fc.property(valuesOf(inputSchema), (value) => {
          const written = withNulls(inputSchema, value);
          expect(() => check(written)).not.toThrow();
          expect(checkCall(written)).toEqual(value);
        }),
        { numRuns: 50 },
      );
    });
  },
);

describe('toStrictSchema', () => {
  const object = (properties: object, more: object = {}) => ({
    type: 'object',
    properties,
    additionalProperties: false,
    ...more,
  });

  it.each([
    ['an open object', { type: 'object', properties: {} }],
    ['any members', object({}, { additionalProperties: { type: 'string' } })],
    ['one of several schemas', object({ a: { oneOf: [{ type: 'string' }] } })],
    ['a member of any kind', object({ a: true })],
    ['values of two kinds', object({ a: { enum: [1, 'one'] } })],
    ['a schema below an array', object({ a: { type: 'array', items: { not: {} } } })],
  ])('has no words for %s', (_, schema) => {
    expect(toStrictSchema(schema)).toBeNull();
  });

  it('names the type of values that stand alone', () => {
    expect(toStrictSchema(object({ a: { const: 'x' } }, { required: ['a'] }))).toMatchObject({
      properties: { a: { const: 'x', type: 'string' } },
    });
  });
});
