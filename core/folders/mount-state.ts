import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import Type, { type Static } from 'typebox';
import type { ScopeKey } from '../contracts/records.ts';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import { compileSchema } from '../schemas/validate.ts';
import { MountFault, type ServiceMark } from './mounted-memory.ts';

const FORMAT = 1;
const MANY = 20_000_000;
/** A few hundred bytes for each file of a memory. */
const LIMITS = { chars: 256 * 1024 ** 2, depth: 6, values: MANY, containers: MANY, keys: MANY };

const KnownFile = Type.Object({
  path: Type.String(),
  disk: Type.String(),
  version: Type.Number(),
  revisionId: Type.String(),
  hash: Type.String(),
  stamp: Type.Object({
    content: Type.String(),
    changed: Type.String(),
    size: Type.Number(),
    at: Type.Number(),
  }),
  checkedAt: Type.Number(),
});

/** A file that both sides had alike. */
export interface KnownFile {
  /** Its path in the folder. */
  disk: string;
  version: number;
  revisionId: string;
  /** Of the text that both sides had. */
  hash: string;
  stamp: Static<typeof KnownFile>['stamp'];
  /** When the stamp was taken: a change right after it may leave the same stamp. */
  checkedAt: number;
}

/** A conflict copy: of which file, and from which of its versions the folder's text was made. */
export interface ConflictCopy {
  path: string;
  version: number;
}

const StoredState = Type.Object({
  format: Type.Literal(FORMAT),
  scope: Type.String(),
  service: Type.String(),
  mark: Type.Union([
    Type.Null(),
    Type.Object({
      revisions: Type.String(),
      audit: Type.String(),
      erasures: Type.String(),
      isErasing: Type.Boolean(),
      redactions: Type.String(),
      imports: Type.String(),
    }),
  ]),
  files: Type.Array(KnownFile),
  copies: Type.Array(
    Type.Object({ disk: Type.String(), path: Type.String(), version: Type.Number() }),
  ),
  held: Type.Array(Type.Object({ disk: Type.String(), hash: Type.String() })),
});

/** What a mount knows of both sides. */
export interface MountState {
  /** Whose memory it is, and where: a folder is never brought together with another one. */
  scope: ScopeKey;
  service: string;
  mark: ServiceMark | null;
  /** By their path in memory. */
  files: Map<string, KnownFile>;
  /** By their path in the folder. */
  copies: Map<string, ConflictCopy>;
  /** Files that may have erased or redacted text: the hash of the text that is never sent. */
  held: Map<string, string>;
}

const parseState = compileSchema<Static<typeof StoredState>>(StoredState);

/** What a mount knows that begins. */
export function newState(owner: Pick<MountState, 'scope' | 'service'>): MountState {
  return { ...owner, mark: null, files: new Map(), copies: new Map(), held: new Map() };
}

/** Reads what an earlier mount knew; `null` without one. Throws a `MountFault` if it is damaged. */
export async function readState(file: string): Promise<MountState | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new MountFault(`${file} can't be read (${String(error.code)}).`, { cause: error });
  });
  if (text === null) return null;
  try {
    const { scope, files, copies, held, ...rest } = parseState(parseForeignJson(text, LIMITS));
    return {
      ...rest,
      scope: scope as ScopeKey,
      files: new Map(files.map(({ path, ...known }) => [path, known])),
      copies: new Map(copies.map(({ disk, ...copy }) => [disk, copy])),
      held: new Map(held.map(({ disk, hash }) => [disk, hash])),
    };
  } catch (error) {
    throw new MountFault(
      `${file} is damaged. Remove it and mount again: nothing is deleted then, and of files that differ both texts stay.`,
      { cause: error },
    );
  }
}

/** Writes the state; a crash leaves the one before. */
export async function writeState(file: string, state: MountState): Promise<void> {
  const stored: Static<typeof StoredState> = {
    format: FORMAT,
    ...state,
    files: Array.from(state.files, ([path, known]) => ({ path, ...known })),
    copies: Array.from(state.copies, ([disk, copy]) => ({ disk, ...copy })),
    held: Array.from(state.held, ([disk, hash]) => ({ disk, hash })),
  };
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const partial = `${file}.partial`;
  await rm(partial, { force: true });
  const written = await open(partial, 'wx', 0o600);
  try {
    await written.writeFile(`${JSON.stringify(stored)}\n`);
    await written.datasync();
  } finally {
    await written.close();
  }
  await rename(partial, file);
}
