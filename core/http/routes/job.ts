import Type, { type TSchema } from 'typebox';
import { countSchema, nullable, strict } from './shapes.ts';

/** How far a job is, with the schema of its result. */
export const jobSchema = (result: TSchema) =>
  Type.Object(
    {
      state: Type.Enum(['running', 'completed', 'failed']),
      done: Type.Integer({ minimum: 0, description: 'Steps that are done.' }),
      total: countSchema,
      result: nullable(result),
      error: nullable(Type.String({ description: 'Code of what it failed with.' })),
    },
    strict,
  );
