import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formatsModule from 'ajv-formats';
import type { JsonSchema } from './contracts/tool.ts';
import { MemoryError } from './errors.ts';

/** What is wrong with one value: where it stands (`/edits/0/oldText`), and why. */
export interface SchemaIssue {
  path: string;
  message: string;
}

const addFormats = formatsModule.default;
const ISSUE_LIMIT = 20;

const strict = addFormats(new Ajv2020({ allErrors: true, strict: true }));
// Query strings arrive as text: numbers and booleans are taken from it, and nothing else is.
const coercing = addFormats(new Ajv2020({ allErrors: true, strict: true, coerceTypes: true }));

/**
 * Compiles a schema into a check that returns the value typed, or throws `INVALID_REQUEST` with
 * `details.issues`, at most 20. Unknown members are named when the schema forbids them.
 *
 * @param options.coerce takes numbers and booleans from text, in place: for query strings alone.
 */
export function compileSchema<T>(
  schema: JsonSchema,
  options: { coerce?: boolean } = {},
): (value: unknown) => T {
  const validate = (options.coerce ? coercing : strict).compile(schema);
  return (value) => {
    if (validate(value)) return value as T;
    const issues = toIssues(validate);
    const first = issues[0];
    throw new MemoryError(
      'INVALID_REQUEST',
      first === undefined ? undefined : `${first.path === '' ? 'The value' : first.path} ${first.message}.`,
      { details: { issues } },
    );
  };
}

function toIssues(validate: ValidateFunction): SchemaIssue[] {
  return (validate.errors ?? []).slice(0, ISSUE_LIMIT).map((error) => {
    if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
      const key = String(error.params['additionalProperty'] ?? error.params['unevaluatedProperty']);
      return { path: `${error.instancePath}/${key.slice(0, 100)}`, message: 'is not known' };
    }
    if (error.keyword === 'enum') {
      const allowed = (error.params['allowedValues'] as unknown[]).map((value) => JSON.stringify(value));
      return { path: error.instancePath, message: `must be one of ${allowed.join(', ')}` };
    }
    if (error.keyword === 'const') {
      return {
        path: error.instancePath,
        message: `must be ${JSON.stringify(error.params['allowedValue'])}`,
      };
    }
    return { path: error.instancePath, message: error.message ?? 'is not valid' };
  });
}
