import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox';

/** Refuses unknown members in requests, and keeps answers to the members that they declare. */
export const strict = { additionalProperties: false } as const;

/** An object without further members. */
export const strictObject = <Fields extends TProperties>(
  fields: Fields,
  options: { title?: string; description?: string } = {},
): TObject<Fields> => Type.Object(fields, { ...strict, ...options });

/** A value or `null`. */
export const nullable = <T extends TSchema>(schema: T, options: { description?: string } = {}) =>
  Type.Union([schema, Type.Null()], options);

/** Text; the description says of what. */
export const text = (description: string) => Type.String({ description });

/** A whole number from 0. */
export const count = (description?: string) =>
  Type.Integer({ minimum: 0, ...(description === undefined ? {} : { description }) });

/** A point in time. */
export const timeSchema = Type.String({
  format: 'date-time',
  description: 'RFC 3339, UTC, with milliseconds.',
});

/** Whose memory. */
export const userIdSchema = Type.String({
  format: 'user-id',
  description: 'A user id, byte for byte.',
});

/** Whose memory: that of a space. */
export const spaceIdSchema = Type.String({
  format: 'space-id',
  description: 'A space id, byte for byte.',
});

/** Whose memory something is: of a user or a space; both null for shared memory. */
export const ownerFields = {
  userId: nullable(userIdSchema),
  spaceId: nullable(spaceIdSchema),
};

/** The users and spaces whose ids start alike. */
export const idPrefixSchema = Type.String({
  minLength: 1,
  maxLength: 129,
  description: 'The start of ids, ending in :*, .*, -* or _* after at least one character: acme:*',
});

/** Where a file is, as operators see it. */
export const physicalPathSchema = Type.String({
  format: 'physical-path',
  description: 'Physical path: users/<userId>/<path>, spaces/<spaceId>/<path> or shared/<path>.',
});

/** Version of a file. */
export const versionSchema = Type.Integer({ minimum: 1 });

/** Neighbouring lines of a file. */
export const LineRange = strictObject({
  startLine: Type.Integer({ minimum: 1, description: 'From 1.' }),
  endLine: Type.Integer({ minimum: 1, description: 'Included.' }),
});
/** Neighbouring lines of a file, counted from 1; both ends are included. */
export type LineRange = Static<typeof LineRange>;

/** A time that a request names. */
export const requestTime = (description: string) =>
  Type.String({ format: 'date-time', description });

/** A query parameter that is compared as a whole. */
export const filterText = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 1200, description }));

/** An optional switch. */
export const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

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

/** The query parameters of a range of times. */
export const sinceQuery = {
  since: Type.Optional(requestTime('Inclusive.')),
  until: Type.Optional(requestTime('Exclusive.')),
};

/** The cursor of a list's answer. */
export const nextCursorSchema = nullable(text('null at the end of the list.'));

/** The answer of a list. */
export const listOf = <T extends TSchema>(item: T) =>
  strictObject({ items: Type.Array(item), nextCursor: nextCursorSchema });

/** The part of a list's query that pages it. */
export type PageQuery = Static<TObject<typeof pageQuery>>;

/** The answer of a list of `Item`. Only `nextCursor: null` ends the list: a page may be short. */
export interface ListAnswer<Item> {
  items: Item[];
  nextCursor: string | null;
}
