import { constants } from 'node:fs';
import { copyFile, link, lstat, mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findLink, PARTIAL, removeEmptyFolders } from '../archive/folder.ts';
import { toConflictName } from './conflict-name.ts';
import { type FileStamp, stampOf } from './file-stamp.ts';
import { readLocal } from './read-local.ts';

/** What became of a change of the folder. */
export type Placed =
  | { kind: 'placed'; stamp: FileStamp }
  /** Somebody changed the file meanwhile: nothing was touched. */
  | { kind: 'moving' }
  /** Something else stands in its place. */
  | { kind: 'occupied'; why: string };

/** What becomes of the file that stands in a place. */
export type Replacing =
  /** There is none. */
  | { kind: 'none' }
  /** The service has its text, which has this hash. */
  | { kind: 'known'; stamp: FileStamp; hash: string }
  /** Its text is nowhere else. */
  | { kind: 'kept'; stamp: FileStamp }
  /** Its text must not stay. */
  | { kind: 'gone'; stamp: FileStamp };

/** A file that was replaced, and may still be written to by a program that has it open. */
interface Aside {
  name: string;
  disk: string;
  stamp: FileStamp;
}

/** Names of files that were set aside: `old-<hash>-<number>-<name>`. */
const ASIDE = /^old-([0-9a-f]{64})-\d+-(.+)$/s;

/**
 * Changes the files of a mounted folder, and loses no text that somebody else writes at the same time. A
 * file that is replaced is set aside for one round; if it was written to meanwhile, it becomes a conflict
 * copy. Follows no link.
 */
export class FolderFiles {
  readonly #folder: string;
  readonly #staging: string;
  readonly #now: () => number;
  readonly #onCopy: (disk: string, copy: string) => void;
  #asides: Aside[] = [];
  #number = 0;

  /** `onCopy` is called with a file that changed while it was replaced, and with its copy. */
  constructor(
    folder: string,
    { now, onCopy }: { now: () => number; onCopy: (disk: string, copy: string) => void },
  ) {
    this.#folder = folder;
    this.#staging = join(folder, PARTIAL);
    this.#now = now;
    this.#onCopy = onCopy;
  }

  /** Begins: keeps what a run that was killed had set aside, where nobody else has it. */
  async open(): Promise<void> {
    const found = await lstat(this.#staging).catch(() => null);
    if (found?.isDirectory() === true) {
      for (const name of await readdir(this.#staging)) {
        const [, hash, disk] = ASIDE.exec(name) ?? [];
        if (hash === undefined || disk === undefined) continue;
        const local = await readLocal(join(this.#staging, name));
        if (local.kind === 'text' && local.hash === hash) continue;
        this.#onCopy(disk, await this.#moveToCopy(name, disk));
      }
    }
    // What stands there instead of a folder may be a link.
    await rm(this.#staging, { recursive: true, force: true });
    await mkdir(this.#staging, { mode: 0o700 });
  }

  /** Looks at what was set aside in the round before. */
  async checkAsides(): Promise<void> {
    const asides = this.#asides;
    this.#asides = [];
    for (const { name, disk, stamp } of asides) {
      const now = await stampOf(join(this.#staging, name));
      if (now === null) continue;
      if (now.content === stamp.content) await unlink(join(this.#staging, name));
      else this.#onCopy(disk, await this.#moveToCopy(name, disk));
    }
  }

  /** Removes all that was set aside, whatever it holds. */
  async dropAsides(): Promise<void> {
    const asides = this.#asides;
    this.#asides = [];
    for (const { name } of asides) await rm(join(this.#staging, name), { force: true });
  }

  /** Ends: nothing of this class stays in the folder. */
  async close(): Promise<void> {
    await this.checkAsides();
    await rm(this.#staging, { recursive: true, force: true });
  }

  /**
   * Writes a file in the place of another. The disk has it when this returns; a program that reads sees the
   * old file or the new one. Returns the conflict copy, too, where one was made.
   */
  async place(
    disk: string,
    content: string,
    replacing: Replacing,
  ): Promise<{ placed: Placed; copy: string | null }> {
    const target = join(this.#folder, disk);
    const blocked = await this.#prepare(disk);
    if (blocked !== null) return { placed: { kind: 'occupied', why: blocked }, copy: null };
    const staged = join(this.#staging, `new-${this.#next()}`);
    try {
      await this.#prepareStaging();
      await writeDurably(staged, content);
      if (replacing.kind === 'none') return { placed: await placeNew(staged, target), copy: null };
      const moved = await this.#keepOld(disk, replacing);
      if (moved === null) return { placed: { kind: 'moving' }, copy: null };
      await rename(staged, target);
      const stamp = await stampOf(target);
      return { placed: stamp === null ? { kind: 'moving' } : { kind: 'placed', stamp }, ...moved };
    } catch (error) {
      const why = OBSTACLES[(error as NodeJS.ErrnoException).code ?? ''];
      if (why === undefined) throw error;
      return { placed: { kind: 'occupied', why }, copy: null };
    } finally {
      await rm(staged, { force: true });
    }
  }

  /** Takes a file out of the folder. `false` where somebody changed it meanwhile: nothing was touched. */
  async remove(
    disk: string,
    replacing: Exclude<Replacing, { kind: 'none' }>,
  ): Promise<{ isRemoved: boolean; copy: string | null }> {
    if ((await findLink(this.#folder, disk)) !== null) return { isRemoved: false, copy: null };
    const moved = await this.#keepOld(disk, replacing);
    if (moved === null) return { isRemoved: false, copy: null };
    await rm(join(this.#folder, disk), { force: true });
    await removeEmptyFolders(this.#folder, disk);
    return { isRemoved: true, ...moved };
  }

  /** Removes a file that must not stay, whatever it holds. */
  async purge(disk: string): Promise<void> {
    if ((await findLink(this.#folder, disk)) !== null) return;
    if ((await stampOf(join(this.#folder, disk))) === null) return;
    await rm(join(this.#folder, disk), { force: true });
    await removeEmptyFolders(this.#folder, disk);
  }

  /** Makes the folder for what is on its way, where somebody has removed it, or put a link in its place. */
  async #prepareStaging(): Promise<void> {
    const found = await lstat(this.#staging).catch(() => null);
    if (found?.isDirectory() === true) return;
    // Others may do the same for their file.
    if (found !== null) await unlink(this.#staging).catch(() => undefined);
    await mkdir(this.#staging, { mode: 0o700, recursive: true });
  }

  /** Makes the folders of a path. Returns why that is not possible. */
  async #prepare(disk: string): Promise<string | null> {
    const linked = await findLink(this.#folder, disk);
    if (linked !== null) return `${linked} is a link`;
    const at = await lstat(join(this.#folder, disk)).catch(() => null);
    if (at?.isSymbolicLink() === true) return 'a link is in its place';
    try {
      await mkdir(dirname(join(this.#folder, disk)), { recursive: true });
      return null;
    } catch (error) {
      const why = OBSTACLES[(error as NodeJS.ErrnoException).code ?? ''];
      if (why === undefined) throw error;
      return why;
    }
  }

  /** Gives the file in a place a second name, before its first one goes; `null` where it has changed. */
  async #keepOld(
    disk: string,
    replacing: Exclude<Replacing, { kind: 'none' }>,
  ): Promise<{ copy: string | null } | null> {
    const target = join(this.#folder, disk);
    const { stamp } = replacing;
    if (replacing.kind === 'gone') return (await isStill(stamp, [target])) ? { copy: null } : null;
    if (replacing.kind === 'kept') {
      const copy = await this.#addName(target, disk);
      if (await isStill(stamp, [join(this.#folder, copy), target])) return { copy };
      await rm(join(this.#folder, copy), { force: true });
      return null;
    }
    const base = Buffer.from(disk.slice(disk.lastIndexOf('/') + 1))
      .subarray(0, 120)
      .toString();
    const name = `old-${replacing.hash}-${this.#next()}-${base.replaceAll('\ufffd', '')}`;
    const aside = join(this.#staging, name);
    try {
      await this.#prepareStaging();
      await addLink(target, aside);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
    if (await isStill(stamp, [aside])) {
      this.#asides.push({ name, disk, stamp });
      return { copy: null };
    }
    await rm(aside, { force: true });
    // A disk without links has a copy there, which tells nothing.
    return (await isStill(stamp, [target])) ? { copy: null } : null;
  }

  /** A second name beside a file, as that of a conflict copy that is not taken. */
  async #addName(target: string, disk: string): Promise<string> {
    const slash = disk.lastIndexOf('/') + 1;
    const at = new Date(this.#now());
    for (let number = 1; ; number += 1) {
      const name = toConflictName(disk.slice(slash), { at, number });
      const copy = `${disk.slice(0, slash)}${name}`;
      try {
        await addLink(target, join(this.#folder, copy));
        return copy;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
  }

  /** Puts what was set aside beside its place, or into the folder itself where that is gone. */
  async #moveToCopy(name: string, disk: string): Promise<string> {
    const aside = join(this.#staging, name);
    const isBehindLink = (await findLink(this.#folder, disk)) !== null;
    const parent = await lstat(dirname(join(this.#folder, disk))).catch(() => null);
    const isThere = !isBehindLink && parent?.isDirectory() === true;
    const place = isThere ? disk : disk.slice(disk.lastIndexOf('/') + 1);
    const copy = await this.#addName(aside, place);
    await unlink(aside);
    return copy;
  }

  #next(): number {
    this.#number += 1;
    return this.#number;
  }
}

const OCCUPIED = 'something else is in its place';
const REFUSED = 'this disk does not take its name';
const OBSTACLES: Readonly<Record<string, string>> = {
  EEXIST: OCCUPIED,
  ENOTDIR: OCCUPIED,
  EISDIR: OCCUPIED,
  ENOTEMPTY: OCCUPIED,
  ENAMETOOLONG: REFUSED,
  EINVAL: REFUSED,
  EILSEQ: REFUSED,
};

/** Whether one of these places has the file with this stamp. */
async function isStill({ content }: FileStamp, places: readonly string[]): Promise<boolean> {
  const stamps = await Promise.all(places.map(stampOf));
  return stamps.some((stamp) => stamp?.content === content);
}

/** Writes a new file so that it survives a power cut: an empty one would look like an edit. */
async function writeDurably(path: string, content: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function placeNew(staged: string, target: string): Promise<Placed> {
  try {
    // Unlike a rename, it replaces nothing.
    await addLink(staged, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const found = await lstat(target).catch(() => null);
    if (found?.isFile() === true) return { kind: 'moving' };
    throw error;
  }
  // Its links count in its stamp.
  await rm(staged, { force: true });
  const stamp = await stampOf(target);
  return stamp === null ? { kind: 'moving' } : { kind: 'placed', stamp };
}

/** Gives a file a second name that is not taken. On a disk without links, the second name is a copy. */
async function addLink(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'].includes(code))
      throw error;
    await copyFile(from, to, constants.COPYFILE_EXCL);
  }
}
