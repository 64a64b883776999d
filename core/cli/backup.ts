import { existsSync } from 'node:fs';
import { copyFile, link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { describeDatabase, loadConfig } from '../config/index.ts';
import type { BackupFile } from '../contracts/admin.ts';
import { noteCopy } from '../erase/copies.ts';
import { backUpBeside } from '../maintenance/backup.ts';
import { createIdSource } from '../ids/ids.ts';
import { preparePartial } from '../maintenance/temporary-folders.ts';
import { toStorage } from '../storage/storage.ts';
import { StartError } from './failure.ts';
import type { Command, CommandContext } from './command.ts';
import { withStorage, workOnMemory } from './open-memory.ts';
import { createProgress } from './running-server.ts';
import { writeOutput } from './streams.ts';

/**
 * `memory-service backup <file>`: copies a SQLite database as of one moment, with or without a
 * running server. The copy appears as a whole or not at all; an existing file is replaced only with
 * `--force`.
 */
export const backup: Command = {
  summary: 'Copy a SQLite database into a file while it is served.',
  argument: 'file',
  flags: { force: { value: null, summary: 'Replace the file when it exists.' } },
  run,
};

/** How a database is copied that has tools of its own for it. */
const OWN_TOOLS: Readonly<Record<string, string>> = {
  mysql:
    'For MySQL: mysqldump --single-transaction, for MariaDB: mariadb-dump --single-transaction.',
  postgres: 'For PostgreSQL: pg_dump --format=custom, and pg_restore to read it back.',
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const { name, filename } = describeDatabase(loaded);
  const ownTools = OWN_TOOLS[name];
  if (ownTools !== undefined) throw new StartError(`backup copies a SQLite file. ${ownTools}`);
  if (filename === null || !existsSync(filename)) {
    throw new StartError(
      `There is no database file to copy${filename === null ? '' : ` at ${filename}`}.`,
    );
  }
  const target = resolve(context.cwd, context.argument ?? '');
  const isForced = context.flags.has('force');
  if (await isSameFile(target, filename)) {
    throw new StartError(`${target} is the database itself.`);
  }
  if (!isForced && existsSync(target)) throw new StartError(takenBy(target));
  await checkDirectory(dirname(target));

  process.umask(0o077);
  const progress = createProgress('bytes');
  const made = await workOnMemory<BackupFile>(loaded, {
    there: (server) => server.runJob('backup', { progress }),
    async here(config) {
      const { storage } = config;
      const beside = await backUpBeside(storage, { ids: createIdSource(Date.now), progress });
      // Opening a database of an earlier version would change its schema: that is not asked for.
      const isCurrent = (await toStorage(storage).planMigration()).steps.length === 0;
      if (isCurrent && dirname(target) === dirname(resolve(filename))) {
        await withStorage(loaded, config, (open) => noteCopy(open, beside.file));
      }
      return beside;
    },
  });
  await moveToItsPlace(join(dirname(filename), made.file), target, isForced);
  writeOutput(`The database was copied to ${target}: ${made.bytes} bytes.\n`);
}

/**
 * Moves a finished file to its place by a rename or link, so the target never exists in part. Throws
 * a `StartError` for a target that exists, unless `isForced`.
 */
export async function moveToItsPlace(
  made: string,
  target: string,
  isForced: boolean,
): Promise<void> {
  try {
    await place(made, target, isForced);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    // The target is on another file system: copy it next to the target first.
    const partial = await preparePartial(target);
    try {
      await copyFile(made, partial);
      const file = await open(partial, 'r+');
      await file.sync();
      await file.close();
      await place(partial, target, isForced);
    } finally {
      await rm(partial, { force: true });
    }
  } finally {
    await rm(made, { force: true });
  }
  const directory = await open(dirname(target), 'r');
  await directory.sync();
  await directory.close();
}

async function place(made: string, target: string, isForced: boolean): Promise<void> {
  if (isForced) return await rename(made, target);
  try {
    // Unlike a rename, a link never replaces a file that appeared meanwhile.
    await link(made, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'EEXIST' ? new StartError(takenBy(target), { cause: error }) : error;
  }
}

/** Compares the files themselves, whatever their names and links. */
async function isSameFile(one: string, other: string): Promise<boolean> {
  const [found, wanted] = await Promise.all(
    [one, other].map((path) => stat(path, { bigint: true }).catch(() => null)),
  );
  return found?.dev === wanted?.dev && found?.ino === wanted?.ino && found !== null;
}

async function checkDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => null);
  if (found?.isDirectory() !== true) throw new StartError(`There is no directory ${directory}.`);
}

function takenBy(target: string): string {
  return `${target} exists: choose another file, or replace it with --force.`;
}
