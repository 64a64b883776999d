import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type, { type Static, type TProperties } from 'typebox';
import { MemoryError } from '../errors.ts';
import { findPackageRoot } from '../packages/package-root.ts';
import { compileSchema } from '../schemas/validate.ts';

const object = <T extends TProperties>(properties: T, minProperties = 0) =>
  Type.Object(properties, { additionalProperties: false, minProperties });
const optional = Type.Optional;
const text = Type.String({ minLength: 1 });
const flag = Type.Boolean();
const count = Type.Integer({ minimum: 0 });
/** Reasons for writing each file, by its path. */
const record = Type.Record(Type.String(), text);
const anything = Type.Record(Type.String(), Type.Unknown());

const actions = {
  call: optional(object({ user: text, tool: text, arguments: anything })),
  ask: optional(
    object({
      route: text,
      params: optional(record),
      body: optional(anything),
    }),
  ),
  edit: optional(object({ path: text, oldText: text, newText: text, reason: text })),
  revert: optional(object({ path: text, reason: text })),
  revertDream: optional(flag),
  model: optional(object({ isDown: optional(flag), thinkingMs: optional(count) })),
};

const storySchema = object({
  days: count,
  firstNight: count,
  seed: count,
  users: Type.Array(text, { minItems: 1 }),
  rejects: Type.Array(text),
  shared: record,
  slips: Type.Array(object({ tool: text, arguments: anything })),
  events: Type.Array(object({ day: count, hour: Type.Number({ minimum: 0 }), ...actions }, 3)),
  end: Type.Array(object({ minutesBefore: count, ...actions }, 2)),
});

const factSchema = object({
  path: text,
  under: optional(text),
  text,
  reason: text,
  isTold: optional(flag),
  onDay: optional(count),
  newFile: optional(text),
});

const tidyingSchema = object({
  kind: Type.Enum(['merge', 'supersede', 'reword', 'move']),
  path: text,
  remove: Type.Array(text),
  add: Type.Array(text),
  heading: optional(text),
  sources: Type.Array(object({ path: text, text })),
  reason: text,
});

const userSchema = object({
  actor: text,
  sessions: Type.Integer({ minimum: 1 }),
  files: record,
  questions: Type.Array(text, { minItems: 1 }),
  facts: Type.Array(factSchema),
  tidyings: Type.Array(tidyingSchema),
});

export type DemoFact = Static<typeof factSchema>;
export type DemoTidying = Static<typeof tidyingSchema>;
export type DemoAction = Omit<Static<typeof storySchema>['end'][number], 'minutesBefore'>;

interface DemoFile {
  path: string;
  content: string;
  reason: string;
}
export interface DemoUser extends Omit<Static<typeof userSchema>, 'files'> {
  userId: string;
  files: DemoFile[];
}
export interface Demo extends Omit<Static<typeof storySchema>, 'users' | 'shared'> {
  users: DemoUser[];
  shared: DemoFile[];
}

/** The demo's data can't be used. The message is one line that names the file. */
export class DemoDataError extends Error {
  override readonly name = 'DemoDataError';
}

/**
 * Reads the demo's data (see `examples/demo/README.md`). Throws a {@link DemoDataError} that names the
 * file that is missing or invalid.
 */
export async function readDemo(
  directory = join(findPackageRoot().directory, 'examples/demo'),
): Promise<Demo> {
  const read = async (name: string): Promise<string> => {
    try {
      return await readFile(join(directory, name), 'utf8');
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new DemoDataError(`${join(directory, name)} cannot be read (${String(code)}).`, {
        cause,
      });
    }
  };
  const parse = async <T>(name: string, check: (value: unknown) => T): Promise<T> => {
    const json = await read(name);
    try {
      // eslint-disable-next-line no-restricted-syntax -- a file of this package
      return check(JSON.parse(json));
    } catch (cause) {
      if (!(cause instanceof MemoryError || cause instanceof SyntaxError)) throw cause;
      throw new DemoDataError(`${join(directory, name)} is invalid: ${cause.message}`, { cause });
    }
  };
  const readFiles = (folder: string, files: Record<string, string>): Promise<DemoFile[]> =>
    Promise.all(
      Object.entries(files).map(async ([path, reason]) => {
        return { path, reason, content: await read(`memory/${folder}/${path}`) };
      }),
    );

  const story = await parse('story.json', compileSchema<Static<typeof storySchema>>(storySchema));
  const checkUser = compileSchema<Static<typeof userSchema>>(userSchema);
  const users = story.users.map(async (userId) => {
    const user = await parse(`users/${userId}.json`, checkUser);
    return { ...user, userId, files: await readFiles(`users/${userId}`, user.files) };
  });
  return {
    ...story,
    users: await Promise.all(users),
    shared: await readFiles('shared', story.shared),
  };
}
