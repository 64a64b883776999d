import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../../core/schemas/validate.ts';
import { rejection } from '../../support/rejection.ts';

const text = { type: 'string' };
const object = (properties: object, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const checkOf = (schema: object) => compileSchema<unknown>(schema, { nullIsAbsent: true });

describe('null for an optional member', () => {
  it('counts as left out, in objects, in lists and in alternatives', () => {
    const edit = object({ oldText: text, replaceAll: { type: 'boolean' } }, ['oldText']);
    const check = checkOf(
      object({ a: text, edits: { type: 'array', items: edit }, either: { anyOf: [edit, text] } }),
    );
    const given = { oldText: 'x', replaceAll: null };
    const taken = { oldText: 'x' };
    expect(check({ a: null, edits: [given], either: given })).toEqual({
      edits: [taken],
      either: taken,
    });
    expect(check({ a: null, edits: null, either: null })).toEqual({});
  });

  it('stays where the schema allows it', () => {
    const schema = object({
      ofTypes: { type: ['string', 'null'] },
      ofValues: { enum: ['x', null] },
      ofAlternatives: { anyOf: [text, { type: 'null' }] },
      b: text,
    });
    const nulls = { ofTypes: null, ofValues: null, ofAlternatives: null };
    expect(checkOf(schema)({ ...nulls, b: null })).toEqual(nulls);
  });

  it('is a fault where a member is required or unknown, and where nobody asked for it', () => {
    const schema = object({ a: text, b: text }, ['a']);
    const faults = async (value: unknown, check = checkOf(schema)) => {
      const error = await rejection(Promise.resolve().then(() => check(value)));
      return error.details?.['issues'];
    };
    return Promise.all([
      expect(faults({ a: null, b: null })).resolves.toEqual([
        { path: '/a', message: 'must be a string' },
      ]),
      expect(faults({ a: 'x', toString: null })).resolves.toEqual([
        { path: '/toString', message: 'is not known' },
      ]),
      expect(faults({ a: 'x', b: null }, compileSchema(schema))).resolves.toEqual([
        { path: '/b', message: 'must be a string' },
      ]),
    ]);
  });

  it('leaves the given value as it was', () => {
    const given = Object.freeze({ a: 'x', b: null });
    expect(checkOf(object({ a: text, b: text }))(given)).toEqual({ a: 'x' });
  });
});
