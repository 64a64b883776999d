import type { InspectionStore } from '../contracts/inspection.ts';
import type { PrunedRevision, RevisionRecord, ScopeKey, ScopeState } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { readByKey, readRows } from '../lists/page.ts';
import { chainedHash, chainStart, linkHash } from './chain.ts';

const PAGE_ROWS = 500;
/** How often a break is read again: a prune may come between the reads of two pages. */
const RETRIES = 3;

/** A revision of a chain, or what is kept of a pruned one. */
export type ChainEntry =
  ({ type: 'kept' } & RevisionRecord) | ({ type: 'pruned' } & PrunedRevision);

/** How far a chain was walked. */
export interface ChainPlace {
  /** The last revision; `null` at the start of the history. */
  id: string | null;
  /** Its chain hash, and the one before that. */
  hash: string;
  before: string | null;
}

/** The start of a scope's chain. */
export function toChainStart({ scope, chainAfter }: ScopeState): ChainPlace {
  return { id: chainAfter, hash: chainStart(scope, chainAfter), before: null };
}

/**
 * Walks the chain of a scope from a place on, by id, and reads in pages. Yields each entry with the
 * place before it. Entries that don't follow that place are read again first.
 */
export async function* walkChain(
  stores: { revisions: Pick<Storage['revisions'], 'list'>; inspection: InspectionStore },
  scope: ScopeKey,
  start: ChainPlace,
): AsyncGenerator<{ entry: ChainEntry; place: ChainPlace }, void> {
  let place = start;
  for (let tries = 0; ;) {
    let isBroken = false;
    for await (const entry of mergeById(stores, scope, place.id)) {
      isBroken = !doesFollow(entry, place) && tries < RETRIES;
      if (isBroken) break;
      tries = 0;
      yield { entry, place };
      place = { id: entry.id, hash: hashAfter(entry, place), before: place.hash };
    }
    if (!isBroken) return;
    tries += 1;
  }
}

/** Whether an entry names the chain hash of the place before it. */
export function doesFollow(entry: ChainEntry, { hash }: ChainPlace): boolean {
  if (entry.type === 'kept') return entry.previousHash === hash;
  return linkHash(hash, entry.rowHash) === entry.chainHash;
}

/** The chain hash of an entry, which an inserted revision may lack. */
export function hashAfter(entry: ChainEntry, { hash }: ChainPlace): string {
  if (entry.type === 'pruned') return entry.chainHash;
  return entry.chainHash ?? linkHash(hash, chainedHash(entry));
}

async function* mergeById(
  { revisions, inspection }: Parameters<typeof walkChain>[0],
  scope: ScopeKey,
  after: string | null,
): AsyncGenerator<ChainEntry, void> {
  const kept = readRows((page) => revisions.list({ scope }, page), {
    after: after === null ? null : [after],
  });
  const pruned = readByKey((from) => inspection.pruned(scope, { after: from, limit: PAGE_ROWS }), {
    keyOf: ({ id }) => id,
    after,
  });
  let [one, other] = [await kept.next(), await pruned.next()];
  while (one.done !== true || other.done !== true) {
    if (one.done !== true && (other.done === true || one.value.id <= other.value.id)) {
      const { id } = one.value;
      yield { type: 'kept', ...one.value };
      one = await kept.next();
      // It was pruned, and an import brought it back.
      if (other.done !== true && other.value.id === id) other = await pruned.next();
    } else if (other.done !== true) {
      yield { type: 'pruned', ...other.value };
      other = await pruned.next();
    }
  }
}
