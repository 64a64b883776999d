import Type, { type Static } from 'typebox';
import { nullable, ownerFields, strictObject, text, timeSchema } from './shapes.ts';

/** Whose writes are to be stopped, why, and for how long. Exactly one of the first four is named. */
export const FreezeRequest = strictObject({
  userId: Type.Optional(
    Type.String({
      format: 'user-id',
      description: 'Writes to this user’s memory, and all writes of calls for the user.',
    }),
  ),
  spaceId: Type.Optional(
    Type.String({ format: 'space-id', description: 'Writes to the memory of this space.' }),
  ),
  actor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'Writes by this actor, for any user. Also one of the service’s own: dream-agent, filing-agent, folder, import, playground.',
    }),
  ),
  keyId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Writes of calls with this API key, by its id.',
    }),
  ),
  all: Type.Optional(Type.Literal(true, { description: 'All writes.' })),
  reason: Type.String({
    minLength: 1,
    maxLength: 1000,
    description: 'For operators and the audit; agents don’t see it.',
  }),
  minutes: Type.Integer({
    minimum: 1,
    maximum: 10_080,
    description: 'When it ends by itself: after at most a week.',
  }),
});
export type FreezeRequest = Static<typeof FreezeRequest>;

/** Writes that an operator has stopped. */
export const AdminFreeze = strictObject({
  id: Type.String(),
  ...ownerFields,
  actor: nullable(Type.String()),
  keyId: nullable(Type.String()),
  all: Type.Boolean(),
  reason: Type.String(),
  at: timeSchema,
  until: timeSchema,
  address: nullable(text('From where it was asked for.')),
});
export type AdminFreeze = Static<typeof AdminFreeze>;
