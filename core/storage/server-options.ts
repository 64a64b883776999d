import { readFileSync } from 'node:fs';
import Type from 'typebox';
import { ConfigError } from '../config/error.ts';
import type { OptionTable } from '../config/option.ts';

/** The options that every database with a server has in common. */
export const SERVER_OPTIONS = {
  tlsFiles: {
    schema: Type.Object(
      {
        ca: Type.Optional(Type.String()),
        cert: Type.Optional(Type.String()),
        key: Type.Optional(Type.String()),
      },
      { additionalProperties: false },
    ),
    default: {},
    allowed: 'an object with paths for ca, cert and key',
    description:
      "Paths of PEM files: authorities in place of the system's own (`ca`), the client's certificate (`cert`) and key (`key`).",
  },
  connections: {
    schema: Type.Integer({ minimum: 1, maximum: 500 }),
    default: 10,
    description: 'Connections of tool calls.',
  },
  lockTimeoutMs: {
    schema: Type.Integer({ minimum: 1_000, maximum: 600_000 }),
    default: 2_000,
    description: "Milliseconds that a write waits for another's lock.",
  },
  statementTimeoutMs: {
    schema: Type.Integer({ minimum: 1_000, maximum: 600_000 }),
    default: 5_000,
    description: 'Milliseconds to wait for a statement, or for a free connection.',
  },
  startTimeoutMs: {
    schema: Type.Integer({ minimum: 0, maximum: 3_600_000 }),
    default: 30_000,
    description: "Milliseconds that the start waits for a database that can't be reached.",
  },
} as const satisfies OptionTable;

/** What the files of `tlsFiles` hold. `names` says what a URL calls them, for the `ConfigError`. */
export function readTlsFiles<Name extends 'ca' | 'cert' | 'key'>(
  files: Readonly<Partial<Record<Name, string>>>,
  names: Readonly<Record<Name, string>>,
): Partial<Record<Name, string>> {
  const contents: Partial<Record<Name, string>> = {};
  for (const name of Object.keys(names) as Name[]) {
    const path = files[name];
    if (path === undefined) continue;
    try {
      contents[name] = readFileSync(path, 'utf8');
    } catch (cause) {
      throw new ConfigError(null, `The file of ${names[name]} can not be read.`, { cause });
    }
  }
  return contents;
}

/** A part of a database's URL without its percent-encoding. Throws a `ConfigError`. */
export function decodeUrlPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ConfigError(
      null,
      'The URL of the database is not well-formed: percent-encode its password.',
    );
  }
}
