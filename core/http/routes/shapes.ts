import Type, { type TSchema } from 'typebox';

/** Parts of schemas that several routes share. */

/** Strict objects: what is not known is refused, and answers have nothing else either. */
export const strict = { additionalProperties: false } as const;

export const timeSchema = Type.String({
  format: 'date-time',
  description: 'RFC 3339, UTC, with milliseconds.',
});

export const userIdSchema = Type.String({ description: 'A user id, byte for byte.' });

export const physicalPathSchema = Type.String({
  description: 'Physical path: users/<userId>/<path> or shared/<path>.',
});

/** A value or `null`. */
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const countSchema = Type.Integer({ minimum: 0 });

/** The query parameters of every list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, description: 'Rows of a page; default 50.' }),
  ),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4096, description: 'nextCursor of the page before.' }),
  ),
  order: Type.Optional(Type.Enum(['asc', 'desc'])),
};

export const sinceQuery = {
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Inclusive.' })),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'Exclusive.' })),
};

/** The answer of a list. */
export const listOf = <T extends TSchema>(item: T) =>
  Type.Object(
    {
      items: Type.Array(item),
      nextCursor: nullable(Type.String({ description: 'null at the end of the list.' })),
    },
    strict,
  );

/** A filter that is compared as a whole. */
export const filterText = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 1200, description }));
