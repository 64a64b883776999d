import Type, { type TSchema } from 'typebox';
import { count, nullable, strictObject, text } from '../../schemas/shapes.ts';

/** The state of a job, with the schema of its result. */
export const jobOf = <Result extends TSchema>(result: Result) =>
  strictObject({
    state: Type.Enum(['running', 'completed', 'failed']),
    done: count('Steps that are done.'),
    total: count(),
    result: nullable(result),
    error: nullable(text('Code of what it failed with.')),
  });
