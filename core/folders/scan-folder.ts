import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findUnsafeName } from '../archive/unsafe-names.ts';
import { EXPORT_MARKER } from '../archive/export-marker.ts';
import type { ScopeKey } from '../contracts/records.ts';
import { MemoryError } from '../errors.ts';
import { homeOf, parsePhysicalPath } from '../files/paths.ts';
import { isConflictName } from './conflict-name.ts';
import { type FileStamp, stampOf } from './file-stamp.ts';
import { MountFault } from './mounted-memory.ts';

/** More files than a memory has: somebody named the wrong folder. */
const MOST_ENTRIES = 200_000;

const NOT_UTF8 = 'its name is not UTF-8';

/** A plain file of the folder. */
export interface FoundFile {
  /** Its path in the folder, as the disk spells it, with `/`. */
  disk: string;
  stamp: FileStamp;
}

/** What a folder holds. */
export interface FolderScan {
  /** The files that memory may have, by their path in memory. */
  files: ReadonlyMap<string, FoundFile>;
  /** Conflict copies, by their path on the disk. */
  copies: ReadonlySet<string>;
  /** Paths in memory that are no plain readable file here; one that ends in `/` stands for all below. */
  blocked: ReadonlySet<string>;
}

/** Options of {@link scanFolder}. */
export interface ScanOptions {
  scope: ScopeKey;
  /** The path in memory of a file whose name on this disk is another one. */
  pathOf(disk: string): string | undefined;
  /** Called for each file that is not carried over; not for hidden ones. */
  onLeftOut(disk: string, why: string): void;
}

/**
 * Lists a folder. Follows no link. Leaves out hidden names, names that programs run or obey, names that
 * memory does not take, and folders that are exported or mounted themselves.
 */
export async function scanFolder(folder: string, options: ScanOptions): Promise<FolderScan> {
  const files = new Map<string, FoundFile>();
  const copies = new Set<string>();
  const blocked = new Set<string>();
  let entries = 0;

  async function scan(below: string, inMemory: string): Promise<void> {
    for (const entry of await listEntries(folder, below)) {
      entries += 1;
      if (entries > MOST_ENTRIES) {
        throw new MountFault(
          `${folder} has more than ${MOST_ENTRIES} files: mount another folder.`,
        );
      }
      if (entry.name.startsWith('.')) continue;
      const disk = `${below}${entry.name}`;
      const path = options.pathOf(disk) ?? `${inMemory}${entry.name.normalize('NFC')}`;
      if (entry.isDirectory()) await enter(disk, path);
      else if (!entry.isFile()) {
        blocked.add(path);
        options.onLeftOut(disk, entry.isSymbolicLink() ? 'it is a link' : 'it is not a plain file');
      } else await add(disk, path);
    }
  }

  async function enter(disk: string, path: string): Promise<void> {
    const why = findUnsafeName({ scope: options.scope, path: `${path}/x` });
    if (why !== null) return options.onLeftOut(disk, why);
    if ((await stampOf(join(folder, disk, EXPORT_MARKER))) !== null) {
      blocked.add(`${path}/`);
      return options.onLeftOut(disk, 'it is exported or mounted by itself');
    }
    try {
      await scan(`${disk}/`, `${path}/`);
    } catch (error) {
      if (error instanceof MountFault) throw error;
      blocked.add(`${path}/`);
      options.onLeftOut(disk, toReason(error as NodeJS.ErrnoException, disk));
    }
  }

  async function add(disk: string, path: string): Promise<void> {
    const name = disk.slice(disk.lastIndexOf('/') + 1);
    if (isConflictName(name)) return void copies.add(disk);
    const why = options.pathOf(disk) === undefined ? findFault(options.scope, path) : null;
    if (why !== null) return options.onLeftOut(disk, why);
    const other = files.get(path);
    if (other !== undefined) {
      return options.onLeftOut(disk, `memory has the same name for it as for ${other.disk}`);
    }
    // Gone again, or something else by now: the next look tells.
    const stamp = await stampOf(join(folder, disk)).catch(() => null);
    if (stamp === null) {
      blocked.add(path);
      if (disk.includes('\ufffd')) options.onLeftOut(disk, NOT_UTF8);
    } else files.set(path, { disk, stamp });
  }

  await scan('', '');
  return { files, copies, blocked };
}

/** Whether a path in memory stands at, or below, something that can't be read now. */
export function isBlocked({ blocked }: FolderScan, path: string): boolean {
  if (blocked.size === 0) return false;
  if (blocked.has(path)) return true;
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    if (blocked.has(path.slice(0, slash)) || blocked.has(path.slice(0, slash + 1))) return true;
  }
  return false;
}

/** Why a file of this name is never carried over; `null` for most. */
export function findFault(scope: ScopeKey, path: string): string | null {
  if (isConflictName(path)) return 'its name is that of a conflict copy';
  try {
    return findUnsafeName(parsePhysicalPath(`${homeOf(scope)}${path}`));
  } catch (error) {
    if (error instanceof MemoryError) return error.message;
    throw error;
  }
}

async function listEntries(folder: string, below: string): Promise<Dirent[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  // In one order, so that of two names which are one in memory the same one counts each time.
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function toReason(error: NodeJS.ErrnoException, disk: string): string {
  if (error.code === undefined) throw error;
  // Node reads other bytes as U+FFFD, and then finds no such folder.
  if (disk.includes('\ufffd')) return NOT_UTF8;
  return `it can't be read (${error.code})`;
}
