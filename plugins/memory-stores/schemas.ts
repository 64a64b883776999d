import Type, { type TProperties, type TSchema } from 'typebox';

/** Schemas of the wire format. Members that are not known are let through, as clients of later versions send them. */

/** An object that may have further members. */
export const open = <Fields extends TProperties>(fields: Fields) => Type.Object(fields);

export const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  page: Type.Optional(Type.String({ maxLength: 8192 })),
};

export const viewQuery = {
  view: Type.Optional(Type.Enum(['basic', 'full'])),
};

export const createdQuery = {
  'created_at[gte]': Type.Optional(Type.String({ format: 'date-time' })),
  'created_at[lte]': Type.Optional(Type.String({ format: 'date-time' })),
};

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const Store = open({
  type: Type.Literal('memory_store'),
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  metadata: Type.Record(Type.String(), Type.String()),
  created_at: Type.String(),
  updated_at: Type.String(),
  archived_at: nullable(Type.String()),
});

export const Memory = open({
  type: Type.Literal('memory'),
  id: Type.String(),
  memory_store_id: Type.String(),
  memory_version_id: Type.String(),
  path: Type.String(),
  content: nullable(Type.String()),
  content_sha256: Type.String(),
  content_size_bytes: Type.Integer(),
  created_at: Type.String(),
  updated_at: Type.String(),
});

export const MemoryPrefix = open({ type: Type.Literal('memory_prefix'), path: Type.String() });

export const Version = open({
  type: Type.Literal('memory_version'),
  id: Type.String(),
  memory_id: Type.String(),
  memory_store_id: Type.String(),
  operation: Type.Enum(['created', 'modified', 'deleted']),
  path: nullable(Type.String()),
  content: nullable(Type.String()),
  content_sha256: nullable(Type.String()),
  content_size_bytes: nullable(Type.Integer()),
  created_at: Type.String(),
  created_by: nullable(open({ type: Type.String() })),
  redacted_at: nullable(Type.String()),
  redacted_by: nullable(open({ type: Type.String() })),
});

/** The answer of a list. */
export const listAnswer = (item: TSchema) =>
  open({ data: Type.Array(item), next_page: nullable(Type.String()) });
