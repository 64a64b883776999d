import { accessSync, constants, copyFileSync, existsSync, statfsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { ToolResponse } from '../../core/contracts/tool.ts';
import type { Storage } from '../../core/contracts/storage.ts';
import type { ToolContext } from '../../core/schemas/tools.ts';
import { type Core, type CoreConfig, type CoreOptions, createCore } from '../../core/service.ts';
import { freshDatabase } from './mariadb.ts';
import { quiet } from './quiet-log.ts';
import { mysql, postgres, sqlite } from './databases.ts';
import { freshPostgres } from './postgres.ts';

/** What the directories of the tests may need together. */
const ROOM_BYTES = 2 * 1024 ** 3;

/**
 * The parent of all directories of tests: in memory where there is room, because to wait for the
 * disk takes most of a test's time. TMPDIR names another place. Tests of what a disk does, or of
 * processes that are killed, make their own directories.
 */
const TEMPORARY_ROOT = findTemporaryRoot();

function findTemporaryRoot(): string {
  const inMemory = '/dev/shm';
  if (process.env['TMPDIR'] !== undefined) return tmpdir();
  try {
    accessSync(inMemory, constants.W_OK);
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize < ROOM_BYTES ? tmpdir() : inMemory;
  } catch {
    return tmpdir();
  }
}

/** A directory of the test's own, removed when the test ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(TEMPORARY_ROOT, 'memory-service-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/**
 * An empty storage: a real SQLite file, or a database of the tests' MariaDB or PostgreSQL where the
 * project of the run says so (vitest.config.ts).
 */
export async function makeStorage(): Promise<Storage> {
  if (process.env['MEMORY_TEST_DATABASE'] === 'mariadb') {
    return mysql({ url: await freshDatabase() });
  }
  if (process.env['MEMORY_TEST_DATABASE'] === 'postgres') {
    return postgres({ url: await freshPostgres() });
  }
  return sqlite({ filename: await temporaryDatabase() });
}

let emptyDatabase: Promise<Buffer> | null = null;

/**
 * A SQLite file of the test's own with the tables of the newest schema and no rows. It is a copy:
 * to run all migrations costs more than most tests.
 */
export async function temporaryDatabase(): Promise<string> {
  const filename = path.join(await temporaryDirectory(), 'memory.db');
  await writeFile(filename, await (emptyDatabase ??= migrateEmptyDatabase()));
  return filename;
}

/**
 * The SQLite files of a test by their names, with the tables of the newest schema: the same name is
 * the same file.
 */
export async function temporaryDatabases(): Promise<(name: string) => string> {
  const empty = await temporaryDatabase();
  return (name) => {
    const filename = path.join(path.dirname(empty), `${name}.db`);
    if (!existsSync(filename)) copyFileSync(empty, filename);
    return filename;
  };
}

async function migrateEmptyDatabase(): Promise<Buffer> {
  const directory = await mkdtemp(path.join(TEMPORARY_ROOT, 'memory-service-'));
  try {
    const filename = path.join(directory, 'memory.db');
    const storage = sqlite({ filename });
    await storage.init({ log: quiet, now: Date.now });
    await storage.close();
    return await readFile(filename);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * A service without HTTP, on an empty storage of its own; closed when the test ends. A busy
 * machine changes no result: calls and finds wait longer than by default, and no call counts as
 * slow.
 */
export async function openCore(
  config: Partial<CoreConfig> = {},
  options: CoreOptions = {},
): Promise<Core> {
  const storage = config.storage ?? (await makeStorage());
  const search = { embedTimeoutMs: 60_000, ...config.search };
  const sla = { slowCallMs: 600_000, ...config.sla };
  const core = createCore(
    { ...config, storage, search, sla },
    { callDeadlineMs: 120_000, ...options },
  );
  onTestFinished(() => core.close());
  await core.ready();
  return core;
}

/** Calls a tool as an agent of `userId`. */
export async function call<Result = Record<string, unknown>>(
  core: Core,
  userId: string,
  tool: string,
  args: object,
  more: Pick<ToolContext, 'actor' | 'spaces'> & {
    idempotencyKey?: string;
    traceparent?: string;
  } = {},
): Promise<ToolResponse<Result>> {
  const { actor, spaces, ...request } = more;
  return (await core.tools.execute(tool, {
    context: {
      userId,
      ...(actor !== undefined && { actor }),
      ...(spaces !== undefined && { spaces }),
    },
    arguments: args,
    ...request,
  })) as ToolResponse<Result>;
}
