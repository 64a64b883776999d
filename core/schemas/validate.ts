import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formatsModule from 'ajv-formats';
import type { JsonSchema } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { removeAbsentNulls } from './absent-nulls.ts';
import { takeStart } from '../encoding/take-text.ts';

/** One fault of a value: where, as a JSON pointer (`/edits/0/oldText`), and why. */
export interface SchemaIssue {
  path: string;
  message: string;
}

const addFormats = formatsModule.default;
const ISSUE_LIMIT = 20;
/** Values with at most so many members and items get all of their faults reported. */
const THOROUGH_LIMIT = 1_000;
const NAME_LIMIT = 100;

// Two services with the same plugin compile the same $id twice: schemas are not cached by it. The
// strict mode refuses what is unknown; the schema of schemas would take longer to compile than ours.
const options = {
  strict: true,
  allowUnionTypes: true,
  addUsedSchema: false,
  validateSchema: false,
} as const;
const quick = addRules(new Ajv2020(options));
/** It makes an object for each fault, without a limit. */
let thorough: Ajv2020 | null = null;

/** The parsers of ids and paths decide, with codes of their own: these formats only describe. */
function addRules(ajv: Ajv2020): Ajv2020 {
  return addFormats(ajv)
    .addFormat('user-id', true)
    .addFormat('space-id', true)
    .addFormat('physical-path', true);
}

/**
 * Returns a function that checks values against a schema (JSON Schema 2020-12). The function returns
 * the value with its type, or throws `INVALID_REQUEST`. `details.issues` lists at most 20 faults, and
 * only the first one if the value has more than 1,000 members and items. Missing members are named,
 * and unknown ones if the schema forbids them. Nothing is coerced. With `nullIsAbsent`, an optional
 * member that is `null` counts as left out.
 *
 * The schema is compiled at the first call. {@link assertSchema} reports a wrong schema earlier.
 */
export function compileSchema<T>(
  schema: JsonSchema,
  { nullIsAbsent = false }: { nullIsAbsent?: boolean } = {},
): (value: unknown) => T {
  let validate: ValidateFunction | null = null;
  let validateAll: ValidateFunction | null = null;
  return (given) => {
    validate ??= quick.compile(schema);
    if (validate(given)) return given as T;
    const value = nullIsAbsent ? removeAbsentNulls(schema, given) : given;
    if (nullIsAbsent && validate(value)) return value as T;
    let errors = validate.errors ?? [];
    if (hasAtMost(THOROUGH_LIMIT, value)) {
      thorough ??= addRules(new Ajv2020({ ...options, allErrors: true }));
      validateAll ??= thorough.compile(schema);
      validateAll(value);
      errors = validateAll.errors ?? errors;
    }
    // `if` only says that its `then` or `else` failed, which says why by itself.
    const faults = errors.filter(({ keyword }) => keyword !== 'if');
    throw invalidRequest((faults.length > 0 ? faults : errors).slice(0, ISSUE_LIMIT).map(toIssue));
  };
}

/** Throws an `Error` for a schema with an unknown keyword, type or format. */
export function assertSchema(schema: JsonSchema): void {
  quick.compile(schema);
}

/** Whether a value has no more members and items, at any depth. */
function hasAtMost(limit: number, value: unknown): boolean {
  const seen: unknown[] = [value];
  // Grows while it is walked.
  for (const one of seen) {
    if (typeof one !== 'object' || one === null) continue;
    const members = Object.values(one);
    if (seen.length + members.length > limit) return false;
    seen.push(...members);
  }
  return true;
}

function toIssue(error: ErrorObject): SchemaIssue {
  const { instancePath, params } = error;
  const { missingProperty, additionalProperty, unevaluatedProperty } = params as Record<
    string,
    unknown
  >;
  switch (error.keyword) {
    case 'required':
      return { path: toPointer(instancePath, missingProperty), message: 'is required' };
    case 'additionalProperties':
      return { path: toPointer(instancePath, additionalProperty), message: 'is not known' };
    case 'unevaluatedProperties':
      return { path: toPointer(instancePath, unevaluatedProperty), message: 'is not known' };
    default:
      return { path: instancePath, message: describeFault(error) };
  }
}

function describeFault({ keyword, message, params }: ErrorObject): string {
  const { allowedValues, allowedValue, limit, type, format } = params as Record<string, unknown>;
  switch (keyword) {
    case 'enum':
      return `must be one of ${(allowedValues as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`;
    case 'const':
      return `must be ${JSON.stringify(allowedValue)}`;
    case 'type':
      return `must be ${nameTypes(type as string | readonly string[])}`;
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${String(limit)} characters`;
    case 'maxLength':
      return `must have at most ${String(limit)} characters`;
    case 'minItems':
      return limit === 1 ? 'must not be empty' : `must have at least ${String(limit)} items`;
    case 'maxItems':
      return `must have at most ${String(limit)} items`;
    case 'minimum':
      return `must be at least ${String(limit)}`;
    case 'maximum':
      return `must be at most ${String(limit)}`;
    case 'format':
      if (format === 'date-time') return 'must be a time as in 2026-01-31T12:00:00Z';
  }
  return message ?? 'is not valid';
}

/** `a string`, `an integer or null`. */
function nameTypes(types: string | readonly string[]): string {
  const names = typeof types === 'string' ? [types] : types;
  return names
    .map((name) => (name === 'null' ? name : `${/^[aio]/.test(name) ? 'an' : 'a'} ${name}`))
    .join(' or ');
}

/** RFC 6901; the caller chooses the name of a member, so it is cut. */
function toPointer(parent: string, name: unknown): string {
  const cut = takeStart(String(name), NAME_LIMIT);
  return `${parent}/${cut.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function invalidRequest(issues: readonly SchemaIssue[]): MemoryError {
  const [first] = issues;
  const message =
    first === undefined
      ? undefined
      : `${first.path === '' ? 'The value' : first.path} ${first.message}.`;
  return new MemoryError('INVALID_REQUEST', message, { details: { issues } });
}
