import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readFile, realpath, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXPORT_MARKER, findExportFolder } from '../archive/export-marker.ts';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import { isUuid } from '../ids/ids.ts';
import { isOwnerGone, ownerName } from '../maintenance/temporary-folders.ts';
import { MountFault } from './mounted-memory.ts';

/** Names the process that has the folder mounted. */
const LOCK = '.memory-service.lock';
const TOUCH_MS = 60_000;
const TRIES = 3;
/** Another process that found the same dead lock has made its own by then. */
const SETTLE_MS = 50;

/** A folder that this process alone has mounted. */
export interface MountClaim {
  /** Without links. */
  folder: string;
  /** Stands in the folder's marker, and names its state. */
  id: string;
  /** Since when the folder has its marker; `null` if it got it now. */
  markedAt: number | null;
  /**
   * Whether the folder is there, and the one that was mounted: not replaced, nor on a disk that went. Throws a
   * `MountFault` if another process has it mounted by now.
   */
  isThere(): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Claims a folder for a mount, and makes it if there is none. Throws a `MountFault` while another process
 * has it mounted, and for a folder that is, or lies in, one that was exported or mounted.
 */
export async function claimFolder(path: string): Promise<MountClaim> {
  await mkdir(path, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    const why =
      error.code === 'EEXIST' ? 'is not a folder' : `can't be made (${String(error.code)})`;
    throw new MountFault(`${path} ${why}.`, { cause: error });
  });
  const folder = await realpath(path);
  const outer = findExportFolder(dirname(folder));
  if (outer !== null) {
    throw new MountFault(
      `${folder} lies in ${outer}, which was exported or mounted: choose another.`,
    );
  }
  const owner = await lock(folder);
  try {
    const { id, markedAt } = await takeMarker(folder);
    const file = join(folder, LOCK);
    const touch = () => utimes(file, new Date(), new Date()).catch(() => undefined);
    const timer = setInterval(() => void touch(), TOUCH_MS);
    timer.unref();
    return {
      folder,
      id,
      markedAt,
      async isThere() {
        if ((await readMarker(folder)) !== id) return false;
        const other = await readText(file);
        if (other === null || other === owner) return true;
        throw new MountFault(`${folder} is mounted by another process by now.`);
      },
      async release() {
        clearInterval(timer);
        if ((await readText(file)) === owner) await rm(file, { force: true });
      },
    };
  } catch (error) {
    await rm(join(folder, LOCK), { force: true });
    throw error;
  }
}

async function lock(folder: string): Promise<string> {
  const file = join(folder, LOCK);
  // The random part tells two claims by one process apart.
  const owner = `${ownerName()} ${randomUUID()}`;
  for (let tries = 1; ; tries += 1) {
    try {
      await writeFile(file, owner, { flag: 'wx', mode: 0o600 });
      await sleep(SETTLE_MS);
      if ((await readText(file)) === owner) return owner;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST') {
        throw new MountFault(`${folder} can't be written to (${String(code)}).`, { cause: error });
      }
    }
    const found = await lstat(file).catch(() => null);
    const other = (await readText(file)) ?? '';
    const isGone =
      found !== null &&
      (!found.isFile() || isOwnerGone(other.split(' ')[0] ?? '', Date.now() - found.mtimeMs));
    if ((found !== null && !isGone) || tries === TRIES) {
      throw new MountFault(
        `${folder} is mounted by another process (${other.split('-')[1] ?? 'unknown'}): end that one first.`,
      );
    }
    await rm(file, { recursive: true, force: true });
  }
}

/** The id in the folder's marker, which is made where there is none. */
async function takeMarker(folder: string): Promise<Pick<MountClaim, 'id' | 'markedAt'>> {
  const file = join(folder, EXPORT_MARKER);
  const id = randomUUID();
  // It also keeps this command from loading settings that lie in the folder.
  const marker = `${JSON.stringify({ format: 'mount', id })}\n`;
  await writeFile(file, marker, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await readMarker(folder);
  if (found !== null) {
    const isNew = found === id;
    return { id: found, markedAt: isNew ? null : (await lstat(file)).mtimeMs };
  }
  throw new MountFault(
    `${folder} was written by memory-service export: mount another folder, or remove its ${EXPORT_MARKER} first.`,
  );
}

async function readMarker(folder: string): Promise<string | null> {
  const text = await readText(join(folder, EXPORT_MARKER));
  if (text === null) return null;
  try {
    const { format, id } = parseForeignJson(text) as { format?: unknown; id?: unknown };
    return format === 'mount' && typeof id === 'string' && isUuid(id) ? id : null;
  } catch {
    return null;
  }
}

async function readText(file: string): Promise<string | null> {
  const found = await lstat(file).catch(() => null);
  if (found?.isFile() !== true || found.size > 1024) return null;
  return await readFile(file, 'utf8').catch(() => null);
}
