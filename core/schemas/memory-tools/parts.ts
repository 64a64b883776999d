import Type from 'typebox';
import { requestTime } from '../shapes.ts';

/** Parts of schemas that several tools share. Lengths are generous: the parsers say what is off. */

export const pathSchema = Type.String({
  minLength: 1,
  maxLength: 1200,
  description:
    'Virtual path: user/<path> for this user, spaces/<spaceId>/<path> for a space, shared/<path> for shared memory.',
});

export const prefixSchema = Type.String({
  maxLength: 1200,
  description: 'Only paths that start with this, as in user/projects/. Default: everything.',
});

export const reasonSchema = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: 'Why the memory changes; kept with the revision.',
});

export const ifVersionSchema = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description:
    'Write only if the file is at this version; 0: only if it does not exist. Otherwise VERSION_CONFLICT.',
});

export const versionSchema = Type.Integer({
  minimum: 1,
  description: 'Version of the file: 1 when created, +1 on every write.',
});

export const revisionIdSchema = Type.String({ description: 'Id of the revision.' });

export const timeSchema = Type.String({ format: 'date-time', description: 'RFC 3339, UTC.' });

/** Only offered where the operator lets agents see history. */
/** In the answers of find and context. */
export const expiredCountSchema = Type.Optional(
  Type.Integer({
    minimum: 1,
    description: 'How many files and lines were left out because they have expired.',
  }),
);

export const asOfSchema = requestTime(
  'Memory as it stood at this moment, RFC 3339; found by words alone. Redacted and erased text is not in it.',
);
