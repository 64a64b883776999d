import { lstat, open, readdir, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { DatabaseCopy } from '../contracts/admin.ts';
import type { Storage } from '../contracts/storage.ts';

/** The files that the service itself makes, and what a copy that was cut off leaves beside them. */
const OWN = /^\.(?:schema-\d+\.backup(?:\.partial)?|copy-[0-9a-f-]{36})(?:-journal|-wal|-shm)?$/;
/** The database itself, its log, and the claim on it. */
const IN_USE = /^(?:-wal|-shm|\.owner(?:-wal|-shm|-journal)?)?$/;
/** The first bytes of every SQLite database, and of a rollback journal. */
const DATABASE = Buffer.from('SQLite format 3\0', 'latin1');
const JOURNAL = Buffer.from('d9d505f920a163d7', 'hex');

/** The setting with the backups that were made, and how many of them it has at most. */
const BACKUPS = 'database_backups';
const MOST_BACKUPS = 50;

type Copied = Pick<Storage, 'filename' | 'config'>;

/** A copy, with where it is. */
interface FoundCopy extends DatabaseCopy {
  path: string;
  isOwn: boolean;
}

/**
 * The whole copies of a database that stand beside it, by name: those that the service makes before it
 * changes the schema, the backups that it made there, and other files with the name of the database in
 * front that are SQLite's. They have what was erased or redacted since they were made.
 */
export async function listCopies(storage: Copied): Promise<DatabaseCopy[]> {
  return (await findCopies(storage)).map(toAnswer);
}

/**
 * Removes the copies that the service has made, and none that an operator has. Returns all of them, with
 * what became of each.
 */
export async function removeCopies(storage: Copied): Promise<DatabaseCopy[]> {
  const copies: DatabaseCopy[] = [];
  for (const copy of await findCopies(storage)) {
    const removed = copy.isOwn && (await isRemoved(copy.path));
    copies.push({ ...toAnswer(copy), removed });
  }
  return copies;
}

/**
 * Records the identity of a backup that was just made beside the database (inode, size and time), so that
 * it is recognised after a rename. A backup that somebody has written to is no longer recognised.
 */
export async function noteCopy({ filename = '', config }: Copied, name: string): Promise<void> {
  const path = join(dirname(resolve(filename)), name);
  const known = await readBackups({ config });
  await config.set({ [BACKUPS]: [...known, await identify(path)].slice(-MOST_BACKUPS) }, null);
}

async function readBackups({ config }: Pick<Storage, 'config'>): Promise<string[]> {
  const kept = (await config.entries(BACKUPS))[BACKUPS];
  return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : [];
}

/** Device, inode, size and time of change. */
async function identify(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs].join(' ');
}

async function isRemoved(path: string): Promise<boolean> {
  try {
    await rm(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

async function findCopies({ filename, config }: Copied): Promise<FoundCopy[]> {
  if (filename === undefined || filename === ':memory:') return [];
  const backups = new Set(await readBackups({ config }));
  // Copies before a change of the schema stand beside the file itself, others beside its given name.
  const given = resolve(filename);
  const real = await realpath(given).catch(() => given);
  const found = new Map<string, FoundCopy>();
  for (const database of new Set([given, real])) {
    const directory = dirname(database);
    const base = basename(database);
    for (const name of await readdir(directory).catch(() => [])) {
      const rest = name.startsWith(base) ? name.slice(base.length) : null;
      const path = join(directory, name);
      if (path === given || path === real) continue;
      if (rest === null ? backups.size === 0 : IN_USE.test(rest)) continue;
      const file = await lstat(path).catch(() => null);
      if (file?.isFile() !== true) continue;
      const isOwn =
        (rest !== null && OWN.test(rest)) ||
        (backups.size > 0 && backups.has(await identify(path).catch(() => '')));
      if (!isOwn && (rest === null || !(await isSqlite(path)))) continue;
      found.set(path, { path, name, bytes: file.size, isOwn, removed: false });
    }
  }
  return [...found.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

async function isSqlite(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'r');
    try {
      const start = Buffer.alloc(DATABASE.length);
      await file.read(start, 0, start.length, 0);
      return start.equals(DATABASE) || start.subarray(0, JOURNAL.length).equals(JOURNAL);
    } finally {
      await file.close();
    }
  } catch {
    // It can't be read: so it may be one.
    return true;
  }
}

function toAnswer({ name, bytes, removed }: FoundCopy): DatabaseCopy {
  return { name, bytes, removed };
}
