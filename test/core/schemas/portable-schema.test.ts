import { describe, expect, it } from 'vitest';
import { toPortableSchema } from '../../../core/schemas/portable-schema.ts';
import { compileSchema } from '../../../core/schemas/validate.ts';

const closed = { additionalProperties: false };

describe('toPortableSchema', () => {
  it('says of each optional member, and of no other, that it may be null', () => {
    const edit = {
      type: 'object',
      properties: { oldText: { type: 'string', minLength: 1 }, all: { type: 'boolean' } },
      required: ['oldText'],
      ...closed,
    };
    const schema = {
      type: 'object',
      properties: {
        path: { type: 'string', maxLength: 5, description: 'Path.' },
        limit: { type: 'integer', minimum: 1 },
        mode: { enum: ['auto', 'text'] },
        edits: { type: 'array', items: edit, maxItems: 3 },
      },
      required: ['path'],
      ...closed,
    };
    expect(toPortableSchema(schema)).toEqual({
      type: 'object',
      properties: {
        path: { type: 'string', description: 'Path.' },
        limit: { type: ['integer', 'null'], nullable: true, minimum: 1 },
        mode: { type: 'string', enum: ['auto', 'text'], nullable: true },
        edits: {
          type: ['array', 'null'],
          nullable: true,
          maxItems: 3,
          items: {
            type: 'object',
            properties: {
              oldText: { type: 'string' },
              all: { type: ['boolean', 'null'], nullable: true },
            },
            required: ['oldText'],
          },
        },
      },
      required: ['path'],
    });
  });

  it('leaves what it has no rule for as it is', () => {
    for (const member of [
      true,
      { oneOf: [{ type: 'string' }, { type: 'number' }] },
      { type: ['string', 'number'] },
      { type: 'object', additionalProperties: { type: 'string' } },
      { $ref: '#/$defs/a' },
    ]) {
      const schema = { type: 'object', properties: { member }, required: ['member'] };
      expect(toPortableSchema(schema)).toEqual(schema);
    }
  });

  it('takes a member named as a keyword for a member', () => {
    const properties = { required: { type: 'string' }, maxLength: { type: 'string' } };
    const portable = toPortableSchema({ type: 'object', properties, required: ['maxLength'] });
    const check = compileSchema(portable);
    expect(() => check({ required: null, maxLength: 'x' })).not.toThrow();
    expect(() => check({ required: 'x' })).toThrow('/maxLength is required.');
  });
});
