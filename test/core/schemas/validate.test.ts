import Type from 'typebox';
import { describe, expect, it, vi } from 'vitest';

import type { JsonSchema } from '../../../core/contracts/tool.ts';
import { MemoryError } from '../../../core/errors.ts';
import { assertSchema, compileSchema, type SchemaIssue } from '../../../core/schemas/validate.ts';

const strict = { additionalProperties: false } as const;
const edit = Type.Object(
  { oldText: Type.String({ minLength: 1 }), newText: Type.String() },
  strict,
);
const request = Type.Object(
  {
    path: Type.String({ minLength: 1, maxLength: 10 }),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
    order: Type.Optional(Type.Enum(['asc', 'desc'])),
    always: Type.Optional(Type.Literal(true)),
    at: Type.Optional(Type.String({ format: 'date-time' })),
    edits: Type.Optional(Type.Array(edit, { maxItems: 100 })),
    'a/b~c': Type.Optional(Type.Integer()),
  },
  strict,
);
const check = compileSchema<unknown>(request);

describe('compileSchema', () => {
  it('returns the value itself when it is valid', () => {
    const value = { path: 'a', limit: 500, order: 'asc', edits: [{ oldText: 'a', newText: '' }] };
    expect(check(value)).toBe(value);
    expect(check({ path: '😀'.repeat(10) })).toBeDefined();
  });

  it.each<[string, unknown, SchemaIssue[]]>([
    ['a member that is missing', {}, [{ path: '/path', message: 'is required' }]],
    [
      'a member that is missing inside',
      { path: 'a', edits: [{ oldText: 'a', newText: 'b' }, { newText: 'b' }] },
      [{ path: '/edits/1/oldText', message: 'is required' }],
    ],
    [
      'a member that is not known',
      { path: 'a', Limit: 5 },
      [{ path: '/Limit', message: 'is not known' }],
    ],
    [
      'a member that is not known inside',
      { path: 'a', edits: [{ oldText: 'a', newText: 'b', all: true }] },
      [{ path: '/edits/0/all', message: 'is not known' }],
    ],
    ['another type', { path: 7 }, [{ path: '/path', message: 'must be a string' }]],
    [
      'a number as text',
      { path: 'a', limit: '5' },
      [{ path: '/limit', message: 'must be an integer' }],
    ],
    ['a fraction', { path: 'a', limit: 1.5 }, [{ path: '/limit', message: 'must be an integer' }]],
    ['too little', { path: 'a', limit: 0 }, [{ path: '/limit', message: 'must be at least 1' }]],
    ['too much', { path: 'a', limit: 501 }, [{ path: '/limit', message: 'must be at most 500' }]],
    [
      'a text that is too long',
      { path: 'a'.repeat(11) },
      [{ path: '/path', message: 'must have at most 10 characters' }],
    ],
    ['a text that is empty', { path: '' }, [{ path: '/path', message: 'must not be empty' }]],
    [
      'a word that is not of the list',
      { path: 'a', order: 'up' },
      [{ path: '/order', message: 'must be one of "asc", "desc"' }],
    ],
    [
      'another constant',
      { path: 'a', always: false },
      [{ path: '/always', message: 'must be true' }],
    ],
    [
      'a time that is none',
      { path: 'a', at: 'now' },
      [{ path: '/at', message: 'must be a time as in 2026-01-31T12:00:00Z' }],
    ],
    ['an array', [], [{ path: '', message: 'must be an object' }]],
    ['null', null, [{ path: '', message: 'must be an object' }]],
    ['nothing', undefined, [{ path: '', message: 'must be an object' }]],
  ])('names where it stands and what is wrong: %s', (_, value, issues) => {
    const refused = refusal(value);
    expect(refused).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
    expect(refused.details).toEqual({ issues });
    const [{ path, message }] = issues as [SchemaIssue];
    expect(refused.message).toBe(`${path === '' ? 'The value' : path} ${message}.`);
  });

  it('names each type of a union, and a fault of a branch without the branch', () => {
    const schema: JsonSchema = {
      type: 'object',
      properties: { id: { type: ['integer', 'null'] }, name: {} },
      if: { properties: { id: {} }, required: ['id'] },
      else: { properties: { name: {} }, required: ['name'] },
    };
    const issues = (value: unknown) => {
      try {
        compileSchema(schema)(value);
      } catch (error) {
        return (error as MemoryError).details?.['issues'];
      }
    };
    expect(issues({ id: 'x' })).toEqual([{ path: '/id', message: 'must be an integer or null' }]);
    expect(issues({})).toEqual([{ path: '/name', message: 'is required' }]);
  });

  it('writes paths as JSON pointers do, also for members that are not known', () => {
    expect(issuesOf({ path: 'a', 'a/b~c': 'x' })).toEqual([
      { path: '/a~1b~0c', message: 'must be an integer' },
    ]);
    expect(issuesOf({ path: 'a', 'x/y~z': 1 })).toEqual([
      { path: '/x~1y~0z', message: 'is not known' },
    ]);
  });

  it('names several faults at once, 20 at most', () => {
    expect(issuesOf({ limit: 0, x: 1 })).toHaveLength(3);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, 1]));
    expect(issuesOf(many)).toHaveLength(20);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'knows no member that objects inherit: %s',
    (key) => {
      const value: unknown = JSON.parse(`{"path":"a","${key}":{"limit":1}}`);
      expect(issuesOf(value)).toEqual([{ path: `/${key}`, message: 'is not known' }]);
      expect(({} as Record<string, unknown>)['limit']).toBeUndefined();
    },
  );

  it('cuts the names of members that are not known, and none in two', () => {
    const [issue] = issuesOf({ path: 'a', [`${'k'.repeat(99)}😀${'k'.repeat(1_000)}`]: 1 });
    expect(issue?.path.length).toBeLessThanOrEqual(101);
    expect(issue?.path.isWellFormed()).toBe(true);
  });

  it('quotes no value', () => {
    const { message, details } = refusal({
      path: 'my secret',
      limit: 'my secret',
      order: 'secret',
    });
    expect(JSON.stringify({ message, details })).not.toContain('secret');
  });

  it('tells the first fault alone of a value so large that all of them would fill the memory', () => {
    const edits = Array.from({ length: 500_000 }, () => 0);
    const refused = refusal({ path: 'a', edits });
    expect(refused.details?.['issues']).toEqual([
      { path: '/edits', message: 'must have at most 100 items' },
    ]);
  });

  it('takes two schemas of one $id, as two services with one plugin have', () => {
    const schema = (): JsonSchema => ({ $id: 'https://example.com/note', type: 'string' });
    expect(compileSchema(schema())('a')).toBe('a');
    expect(compileSchema(schema())('b')).toBe('b');
  });

  it('takes a union of types, and prints nothing', () => {
    const printed = ['log', 'warn', 'error'].map((name) =>
      vi.spyOn(console, name as 'log').mockImplementation(() => undefined),
    );
    const check = compileSchema({ type: ['string', 'integer', 'null'] });
    expect(check(null)).toBeNull();
    expect(check(7)).toBe(7);
    expect(() => check(true)).toThrow(MemoryError);
    for (const spy of printed) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });

  it.each<[string, JsonSchema]>([
    ['a keyword that is not known', { type: 'object', requried: ['a'] }],
    ['a type that is not known', { type: 'text' }],
    ['a format that is not known', { type: 'string', format: 'markdown' }],
  ])('tells that a schema has %s before it is used', (_, schema) => {
    expect(() => assertSchema(schema)).toThrow();
  });
});

function refusal(value: unknown): MemoryError {
  try {
    check(value);
  } catch (error) {
    if (error instanceof MemoryError) return error;
    throw error;
  }
  throw new Error('The value was taken.');
}

function issuesOf(value: unknown): SchemaIssue[] {
  return refusal(value).details?.['issues'] as SchemaIssue[];
}
