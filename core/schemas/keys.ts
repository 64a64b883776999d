import Type, { type Static } from 'typebox';
import { nullable, strictObject, text, timeSchema } from './shapes.ts';

const patterns = (maxItems: number, description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 140 }), { maxItems, description });

const rules = {
  users: nullable(
    patterns(
      1_000,
      'Whose memory: ids of users, prefixes as in acme:*, or *. null or absent: all.',
    ),
  ),
  spaces: patterns(
    1_000,
    'The most that a context may ask for: acme:write, docs:read, acme:*:read. The entry with the id of the space counts, or else the longest prefix. Absent: no spaces.',
  ),
  tools: nullable(patterns(100, 'Names of tools, or read or write. null or absent: all.')),
  rateLimit: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Calls a minute, by all instances together. null or absent: no limit.',
    }),
  ),
  actor: nullable(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The actor of all its calls. null or absent: the caller names one.',
    }),
  ),
  manage: Type.Boolean({ description: 'May do what can’t be undone. Absent: no.' }),
};

const nameSchema = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'One of 64 characters at most that no other has.',
});

/** What a new key may do, by whom, and until when. */
export const KeyRequest = strictObject({
  name: nameSchema,
  users: Type.Optional(rules.users),
  spaces: Type.Optional(nullable(rules.spaces)),
  tools: Type.Optional(rules.tools),
  rateLimit: Type.Optional(rules.rateLimit),
  actor: Type.Optional(rules.actor),
  manage: Type.Optional(nullable(rules.manage)),
  expiresAt: Type.Optional(nullable(timeSchema)),
});
export type KeyRequest = Static<typeof KeyRequest>;

const kept = {
  id: Type.String(),
  name: Type.String(),
  createdAt: timeSchema,
  createdBy: nullable(text('The operator who made it.')),
  expiresAt: nullable(timeSchema),
  lastUsedAt: nullable(timeSchema, { description: 'To a minute; null: never.' }),
  previousUntil: nullable(timeSchema, {
    description: 'How long the text from before the last rotation is valid; null: there is none.',
  }),
};

/** A named key of the tools API, without its text. */
export const AdminKey = strictObject({ ...kept, ...rules });
export type AdminKey = Static<typeof AdminKey>;

/** A key with its text, which is shown this once. */
export const MadeKeyAnswer = strictObject({
  ...AdminKey.properties,
  key: text('To be sent as Authorization: Bearer <key>. It is stored nowhere.'),
});
export type MadeKeyAnswer = Static<typeof MadeKeyAnswer>;

/** How a key or a token is rotated. */
export const RotateRequest = strictObject({
  overlapMinutes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 10_080,
      description: 'How long the present text stays valid; default 60.',
    }),
  ),
});

const role = Type.Enum(['viewer', 'operator', 'admin'], {
  description:
    'viewer reads, without contents; operator also sees and changes memory; admin may do everything.',
});
const contents = Type.Boolean({
  description: 'Whether a viewer sees contents. Other roles always do.',
});

/** Who the new operator is. */
export const OperatorRequest = strictObject({
  name: nameSchema,
  role,
  contents: Type.Optional(contents),
});
export type OperatorRequest = Static<typeof OperatorRequest>;

/** A named operator, without the token. */
export const AdminOperator = strictObject({ ...kept, role, contents });
export type AdminOperator = Static<typeof AdminOperator>;

/** An operator with the token, which is shown this once. */
export const MadeOperatorAnswer = strictObject({
  ...AdminOperator.properties,
  token: text('To be sent as x-admin-secret. It is stored nowhere.'),
});
export type MadeOperatorAnswer = Static<typeof MadeOperatorAnswer>;

/** The operators, and whom a proxy signs in. */
export const OperatorList = strictObject({
  items: Type.Array(AdminOperator),
  proxy: nullable(
    strictObject({
      header: text('The header with the name.'),
      roles: Type.Array(
        strictObject({ pattern: text('A name, or * and the end of names.'), role, contents }),
        { description: 'The exact name counts, or else the first end that fits.' },
      ),
    }),
    { description: 'The sign-in by a proxy; null: none is configured.' },
  ),
});
export type OperatorList = Static<typeof OperatorList>;

/** Who uses the admin API. */
export const AdminMe = strictObject({ name: Type.String(), role, contents });
export type AdminMe = Static<typeof AdminMe>;

/** What the operator who asks may do. */
export const AdminAccessRights = strictObject({
  operator: AdminMe,
  routes: Type.Array(
    strictObject({
      method: Type.String(),
      path: text('With :name for a segment, and *name for the rest.'),
      summary: Type.String(),
      role: Type.Enum(['viewer', 'contents', 'operator', 'admin'], {
        description: 'The least that it needs; contents: a viewer who sees contents.',
      }),
      allowed: Type.Boolean({ description: 'Whether the operator who asks may use it.' }),
    }),
    { description: 'All routes of the admin API, also of plugins.' },
  ),
});
export type AdminAccessRights = Static<typeof AdminAccessRights>;
