import type { JsonSchema } from '../contracts/tool.ts';
import { PATH_PATTERNS } from '../files/paths.ts';
import * as access from '../schemas/access.ts';
import * as audit from '../schemas/audit.ts';
import * as dreams from '../schemas/dreams.ts';
import * as events from '../schemas/events.ts';
import * as files from '../schemas/files.ts';
import * as jobs from '../schemas/jobs.ts';
import * as observability from '../schemas/observability.ts';
import * as revisions from '../schemas/revisions.ts';
import * as status from '../schemas/status.ts';
import { isSchema, type Schema, typeOf } from '../schemas/strict-schema.ts';
import * as tools from '../schemas/tools.ts';
import * as users from '../schemas/users.ts';

const MODULES = [
  ...[access, audit, dreams, events, files, jobs],
  ...[observability, revisions, status, tools, users],
];

/** The named schemas of an OpenAPI description. */
export interface Components {
  readonly schemas: Record<string, Schema>;
  /**
   * Moves each object and enum of a schema to `schemas`, and returns the schema with references to
   * them. A schema from `core/schemas` is named after its export, one with a title after its title,
   * and any other after the place of its first use, which begins with `name`.
   */
  hoist(schema: JsonSchema, name: string): Schema;
}

/** Starts an empty set of components. */
export function createComponents(): Components {
  const schemas: Record<string, Schema> = {};
  const enums = new Map<string, Schema>();
  const exported = namesOfExports();

  function hoist(schema: JsonSchema, name: string): Schema {
    const given = toPlainForms(schema as Schema);
    const { properties, enum: values, type, title } = given;
    const known = exported.get(JSON.stringify(given)) ?? (title as string | undefined);
    const hoisted = hoistMembers(given, known ?? name);
    if (Array.isArray(values)) return toEnum(hoisted, known ?? name);
    const isNamed = isSchema(properties) && type === 'object';
    return isNamed ? toReference(hoisted, known ?? name) : hoisted;
  }

  function hoistMembers(schema: Schema, name: string): Schema {
    const { properties, items, anyOf, additionalProperties, format, ...rest } = schema;
    const hoisted: Schema = { ...rest };
    if (format !== undefined) Object.assign(hoisted, toFormat(String(format)));
    if (isSchema(properties)) {
      hoisted['properties'] = Object.fromEntries(
        Object.entries(properties).map(([key, member]) => [
          key,
          hoist(member as JsonSchema, name + toPascalCase(key)),
        ]),
      );
    }
    if (isSchema(items)) hoisted['items'] = hoist(items, name.replace(/s$/, ''));
    if (Array.isArray(anyOf)) {
      hoisted['anyOf'] = (anyOf as JsonSchema[]).map((one) => hoist(one, name));
    }
    if (additionalProperties !== undefined) {
      hoisted['additionalProperties'] = isSchema(additionalProperties)
        ? hoist(additionalProperties, `${name}Value`)
        : additionalProperties;
    }
    return hoisted;
  }

  /** Equal values get one name everywhere. The description stays in its place. */
  function toEnum({ description, ...schema }: Schema, name: string): Schema {
    const type = typeOf(schema);
    const typed = type === null ? schema : { type, ...schema };
    const key = JSON.stringify(typed);
    const reference = enums.get(key) ?? toReference(typed, name);
    enums.set(key, reference);
    return description === undefined ? reference : { ...reference, description };
  }

  /** Different schemas in one place, such as the branches of `anyOf`, get a number. */
  function toReference(schema: Schema, name: string, attempt = 1): Schema {
    const title = attempt === 1 ? name : `${name}${attempt}`;
    const component = { ...schema, title };
    const taken = schemas[title];
    if (taken !== undefined && JSON.stringify(taken) !== JSON.stringify(component)) {
      return toReference(schema, name, attempt + 1);
    }
    schemas[title] = component;
    return { $ref: `#/components/schemas/${title}` };
  }

  return { schemas, hoist };
}

/** `memory_write` → `MemoryWrite`. */
export function toPascalCase(name: string): string {
  return name
    .split(/[^A-Za-z0-9]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/**
 * A tool's arguments as the service accepts them: an optional member may be `null`, at any depth.
 */
export function withNulls(schema: JsonSchema): Schema {
  const { properties, required, items, ...rest } = schema as Schema;
  const allowing: Schema = { ...rest };
  if (isSchema(items)) allowing['items'] = withNulls(items);
  if (isSchema(properties)) {
    const names = Array.isArray(required) ? (required as unknown[]) : [];
    const entries = Object.entries(properties).map(([name, member]) => {
      if (!isSchema(member)) return [name, member];
      const { description, ...converted } = withNulls(member);
      const words = description === undefined ? {} : { description };
      if (names.includes(name)) return [name, { ...converted, ...words }];
      return [name, { anyOf: [converted, { type: 'null' }], ...words }];
    });
    allowing['properties'] = Object.fromEntries(entries) as Schema;
  }
  return required === undefined ? allowing : { ...allowing, required };
}

/** Rewrites schemas to equivalents that client generators understand. */
function toPlainForms(schema: Schema): Schema {
  const { if: condition, then: one, else: other, patternProperties, ...rest } = schema;
  if (condition !== undefined) return { anyOf: [one, other] };
  // A record.
  const values = isSchema(patternProperties) ? patternProperties['^.*$'] : undefined;
  return values === undefined ? schema : { ...rest, additionalProperties: values };
}

/** Describes the formats that our parsers check, in terms of OpenAPI. */
function toFormat(format: string): Schema {
  if (!Object.hasOwn(PATH_PATTERNS, format)) return { format };
  return { ...PATH_PATTERNS[format as keyof typeof PATH_PATTERNS] };
}

/**
 * Maps the JSON of each exported object and enum to its name, because an optional member is a copy
 * of it.
 */
function namesOfExports(): Map<string, string> {
  const schemas = MODULES.flatMap((module) => Object.entries<unknown>(module)).filter(
    ([, value]) => isSchema(value) && (value['type'] === 'object' || 'enum' in value),
  );
  return new Map(schemas.map(([name, schema]) => [JSON.stringify(schema), name]));
}
