import { existsSync } from 'node:fs';
import { type Database, describeDatabase, type LoadedConfig, openConfig } from '../config/index.ts';
import type { MemoryServiceConfig } from '../config/service.ts';
import { StartError } from './failure.ts';
import { createCommandLog } from './log.ts';
import { claimDatabase, findServer } from './owner.ts';
import { type RunningServer, talkToServer } from './running-server.ts';
import type { Storage } from '../contracts/storage.ts';
import { toStorage } from '../storage/storage.ts';

/** The two ways to do a command's work. */
interface Workers<T> {
  /** Used when a server has the database open. */
  there(server: RunningServer, address: string): Promise<T>;
  /** Used otherwise. `config` holds a storage that is not open yet. */
  here(config: MemoryServiceConfig, database: Database): Promise<T>;
  /** Whether the work may begin with a database that is not there yet. */
  mayCreate?: boolean;
}

/**
 * Lets the server that has the database open do the work. Without one, this process does it, and
 * holds the claim meanwhile so that no server can start. A database that is not a file has no such
 * server. Throws a `StartError` if the configured database file is missing: opening would create an
 * empty database, and what a command finds in it would look like an answer.
 */
export async function workOnMemory<T>(loaded: LoadedConfig, workers: Workers<T>): Promise<T> {
  const database = describeDatabase(loaded);
  const address = await findServer(database);
  if (address !== null) {
    return await workers.there(await talkToServer(address, loaded, database), address);
  }
  const { filename } = database;
  if (workers.mayCreate !== true && filename !== null && !existsSync(filename)) {
    throw new StartError(
      `There is no database at ${filename}. Run the command where the service runs, or say with --config or --database-url which one it is.`,
    );
  }
  const claim = await claimDatabase(database);
  try {
    return await workers.here((await openConfig(loaded)).service, database);
  } finally {
    await claim.release();
  }
}

/** Opens the storage of a configuration for some work, and closes it. */
export async function withStorage<T>(
  loaded: LoadedConfig,
  { storage: database }: MemoryServiceConfig,
  work: (storage: Storage) => Promise<T>,
): Promise<T> {
  const storage = toStorage(database);
  await storage.init({ log: createCommandLog(loaded.values.logLevel), now: Date.now });
  try {
    return await work(storage);
  } finally {
    await storage.close();
  }
}
