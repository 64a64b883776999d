import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder of this process that only its user can read; removed at a later start if it is killed. */
export interface TemporaryFolder {
  path: string;
  remove(): Promise<void>;
}

/** `memory-service-<kind>-<owner>-<random>`. The name says whose it is, so no moment is without an owner. */
const NAME = /^memory-service-(?:import|folder|database)-(.{1,64})-[A-Za-z0-9]{6}$/;
/**
 * `<place>-<pid>-<start>`. Place: this boot of this machine, and the container; start: when the
 * process began, since a pid is used again.
 */
const OWNER = /^([0-9a-f]{12})-(\d{1,10})-(\d{1,20})$/;
/** Of releases whose names told no owner. */
const NAME_BEFORE = /^memory-service-(?:import|folder)-[A-Za-z0-9]{6}$/;

/** How often a living process touches its folders. */
const TOUCH_MS = 60_000;
/** Where no pid can be looked up, a folder that was not touched for this long has no owner. */
const STALE_MS = 15 * TOUCH_MS;
const STALE_BEFORE_MS = 24 * 60 * TOUCH_MS;

/** Makes a folder in the temporary folder of the machine, and removes what killed processes left. */
export async function makeTemporaryFolder(
  kind: 'import' | 'folder' | 'database',
): Promise<TemporaryFolder> {
  await removeLeftovers();
  const path = await mkdtemp(join(tmpdir(), `memory-service-${kind}-${ownerName()}-`));
  const timer = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, TOUCH_MS);
  timer.unref();
  return {
    path,
    async remove() {
      clearInterval(timer);
      await rm(path, { recursive: true, force: true });
    },
  };
}

/**
 * Removes the folders of processes that are gone. Leaves alone what belongs to another user of the
 * machine, links, and folders of living processes, also of those in other containers.
 */
export async function removeLeftovers(): Promise<void> {
  for (const { name, path, touchedAt } of await listFolders()) {
    const age = Date.now() - touchedAt;
    const owner = NAME.exec(name)?.[1];
    if (owner === undefined ? age < STALE_BEFORE_MS : !isOwnerGone(owner, age)) continue;
    // Another process may be removing it, too; what can't be removed is still listed.
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

/**
 * The name of a file beside `target` that becomes the target when it is whole; not the target's name
 * with an ending, which may be too long for the disk. Removes what killed processes left there.
 */
export async function preparePartial(target: string): Promise<string> {
  const parent = dirname(target);
  const prefix = '.memory-service.partial-';
  for (const name of await readdir(parent).catch((): string[] => [])) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile() !== true || !isOwn(stats)) continue;
    if (!isOwnerGone(name.slice(prefix.length), Date.now() - stats.mtimeMs)) continue;
    await rm(path, { force: true }).catch(() => undefined);
  }
  return join(parent, `${prefix}${ownerName()}`);
}

/** The temporary folders that hold memory, of this process and of others, by path. */
export async function listTemporaryFolders(): Promise<string[]> {
  const folders = await listFolders();
  return folders.filter(({ name }) => !name.includes('-database-')).map(({ path }) => path);
}

interface FoundFolder {
  name: string;
  path: string;
  touchedAt: number;
}

async function listFolders(): Promise<FoundFolder[]> {
  const parent = tmpdir();
  const names = await readdir(parent).catch((): string[] => []);
  const found: FoundFolder[] = [];
  for (const name of names) {
    if (!NAME.test(name) && !NAME_BEFORE.test(name)) continue;
    const path = join(parent, name);
    const stats = await lstat(path).catch(() => null);
    if (stats?.isDirectory() === true && isOwn(stats)) {
      found.push({ name, path, touchedAt: stats.mtimeMs });
    }
  }
  return found.sort((one, other) => (one.path < other.path ? -1 : 1));
}

function isOwn({ uid }: { uid: number }): boolean {
  // On Windows every file has the owner 0, and getuid is missing.
  return uid === (process.getuid?.() ?? 0);
}

/** This process, in a name. */
export function ownerName(): string {
  return [PLACE, process.pid, readStart(process.pid) ?? 0].join('-');
}

/** Whether the process of that name is gone. `age`: milliseconds since it touched the file. */
export function isOwnerGone(owner: string, age: number): boolean {
  const [, place, pid, start] = OWNER.exec(owner) ?? [];
  if (place === undefined) return false;
  if (place !== PLACE) return age > STALE_MS;
  const number = Number(pid);
  if (!isRunning(number)) return true;
  const startNow = readStart(number);
  return startNow === null ? age > STALE_MS : String(startNow) !== start;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs as another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** When a process started, in ticks since the boot; `null` where the system has no /proc. */
function readStart(pid: number): string | null {
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The name before it is in parentheses, and may have spaces and parentheses.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

/** Where a pid means the same process. */
const PLACE = createHash('sha256')
  .update(
    JSON.stringify([
      hostname(),
      orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
      orNull(() => readlinkSync('/proc/self/ns/pid')),
    ]),
  )
  .digest('hex')
  .slice(0, 12);

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
