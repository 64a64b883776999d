import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Database, LoadedConfig } from '../../config/index.ts';
import { placeOfSecrets } from '../secrets.ts';
import { type Finding, ok, problem } from './finding.ts';

/** With less, the next import or rewrite of the file may fail. */
const LITTLE_ROOM_BYTES = 1024 ** 3;
/** With less, writes are about to fail. */
const NO_ROOM_BYTES = 64 * 1024 ** 2;

/** Room and rights where the database is, and files with secrets that others can read. */
export async function checkDisk(
  { cwd, origins }: LoadedConfig,
  { filename }: Database,
): Promise<Finding> {
  const secrets = placeOfSecrets(filename, cwd);
  const files = [secrets, join(cwd, '.env'), ...(filename === null ? [] : [filename])];
  const open = (await Promise.all(files.map(isOpenToOthers))).flatMap((isOpen, at) =>
    isOpen ? [`Other users can read ${files[at]}: chmod 600 ${files[at]}`] : [],
  );
  if (filename === null) {
    const text = 'the database is not a file on this machine';
    return { state: open.length === 0 ? 'ok' : 'warning', text, details: open };
  }
  const folder = await findFolder(dirname(filename));
  const setting = origins.databaseUrl.name || 'SERVICE_DATABASE_URL';
  for (const place of [folder, filename]) {
    const code = await access(place, constants.W_OK).then(
      () => null,
      (error: NodeJS.ErrnoException) => error.code ?? 'no reason',
    );
    if (code === null || code === 'ENOENT') continue;
    const advice = `Give this user the right to, or choose another place with ${setting}.`;
    return problem(`${place} cannot be written (${code})`, advice, ...open);
  }
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const text = `${toSize(free)} free in ${folder}`;
  if (free < NO_ROOM_BYTES) return problem(text, 'Make room: writes are about to fail.', ...open);
  const little =
    free < LITTLE_ROOM_BYTES ? ['Make room: a vacuum needs as much as the database has.'] : [];
  const details = [...little, ...open];
  return details.length === 0 ? ok(text) : { state: 'warning', text, details };
}

/** The folder, or the nearest one above it that exists. */
async function findFolder(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  const above = dirname(path);
  return found !== null || above === path ? path : await findFolder(above);
}

async function isOpenToOthers(path: string): Promise<boolean> {
  if (process.platform === 'win32') return false;
  const found = await stat(path).catch(() => null);
  return found?.isFile() === true && (found.mode & 0o077) !== 0;
}

function toSize(bytes: number): string {
  return bytes >= 1024 ** 3
    ? `${(bytes / 1024 ** 3).toFixed(1)} GB`
    : `${Math.floor(bytes / 1024 ** 2)} MB`;
}
