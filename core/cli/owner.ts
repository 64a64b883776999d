import { existsSync } from 'node:fs';
import type { Database } from '../config/index.ts';
import { importPlugin } from '../config/factories.ts';
import { MemoryError } from '../errors.ts';
import { StartError } from './failure.ts';

/** The exclusive right to serve a database file. */
export interface Claim {
  /**
   * Publishes the server's address for command-line tools that find the file claimed. Throws a
   * `StartError` if another process holds the claim by now.
   */
  announce(address: string): Promise<void>;
  release(): Promise<void>;
}

/** The exports of storage-sqlite beside its factory. It is imported by name, like every plugin. */
interface OwnerModule {
  claimOwner(filename: string, options: { address: string; driver?: unknown }): Promise<Claim>;
  readOwner(
    filename: string,
    options: { driver?: unknown },
  ): Promise<{ address: string; pid: number } | null>;
}

/**
 * Claims the database file for this process. A database that is not a file needs no claim. Throws a
 * `StartError` with the address of the server that holds the claim.
 */
export async function claimDatabase({ filename, driver }: Database): Promise<Claim> {
  if (filename === null) return NO_CLAIM;
  const { claimOwner } = await importOwner();
  const options = { address: 'starting', ...(driver === undefined ? {} : { driver }) };
  const claim = await explainOther(filename, () => claimOwner(filename, options));
  return {
    announce: (address) => explainOther(filename, () => claim.announce(address)),
    release: () => claim.release(),
  };
}

/** Turns the error about another server on the file into a `StartError` that names its address. */
async function explainOther<T>(filename: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MemoryError) || error.details?.['address'] === undefined) throw error;
    const { address } = error.details;
    const where = address === 'starting' ? 'which is starting' : `at ${String(address)}`;
    throw new StartError(
      `Another server has ${filename} open, ${where}: stop it, or choose another file with SERVICE_DATABASE_URL.`,
      { cause: error },
    );
  }
}

/**
 * The address of the server that has the database file open; `null` without a server or file.
 * Throws a `StartError` while that server is still starting.
 */
export async function findServer({ filename, driver }: Database): Promise<string | null> {
  if (filename === null || !existsSync(filename)) return null;
  const { readOwner } = await importOwner();
  const owner = await readOwner(filename, driver === undefined ? {} : { driver });
  if (owner === null) return null;
  if (owner.address.startsWith('http')) return owner.address;
  throw new StartError(`A server is starting on ${filename}: try again when it is ready.`);
}

async function importOwner(): Promise<OwnerModule> {
  const lookup = { directory: process.cwd(), origin: 'SERVICE_DATABASE_URL' };
  return (await importPlugin('storage-sqlite', lookup)) as unknown as OwnerModule;
}

const NO_CLAIM: Claim = {
  announce: () => Promise.resolve(),
  release: () => Promise.resolve(),
};
