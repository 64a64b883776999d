import type { InspectionStore } from '../contracts/inspection.ts';
import type { PrunedRevision, RevisionRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { toPhysicalPath } from '../files/paths.ts';
import {
  chainHeadOf,
  checkChained,
  hashRedaction,
  isListed,
  NOT_LISTED,
} from '../history/chain.ts';
import {
  type ChainEntry,
  type ChainPlace,
  doesFollow,
  hashAfter,
  toChainStart,
  walkChain,
} from '../history/walk-chain.ts';
import type { Finding } from '../schemas/jobs.ts';

/** How often the end of a chain is read again: a write may come after the last page. */
const RETRIES = 3;

/**
 * Recomputes the chain of a scope, oldest revision first, and names each break of it: the first
 * one is where the history was changed first. After a break it goes on from the stored hash. Reads
 * in pages. `unchained` counts the revisions from before the chain; `after` is the newest of them, with
 * which the chain starts, or `null` if the chain has all revisions. Returns `null` if the storage
 * doesn't show what that needs.
 */
export async function verifyChain({ revisions, inspection }: Storage, scope: ScopeKey) {
  let state = (await inspection?.scope(scope)) ?? null;
  if (inspection === undefined || state === null) return null;
  const { chainAfter } = state;
  const isListedNow = createListCheck(inspection, scope);
  const found: Finding[] = [];
  let chained = 0;
  let end = toChainStart(state);
  for (let tries = 0; ; tries += 1) {
    const start = end.id;
    for await (const { entry, place } of walkChain({ revisions, inspection }, scope, end)) {
      const wrong = checkEntry(entry, place) ?? (await checkListed(entry, isListedNow));
      if (wrong !== null) found.push(wrong);
      if (entry.type === 'kept') chained += 1;
      end = { id: entry.id, hash: hashAfter(entry, place), before: place.hash };
    }
    state = (await inspection.scope(scope)) ?? state;
    if (chainHeadOf(state) === end.hash) break;
    if (tries < RETRIES) continue;
    // With revisions since the last try, somebody writes all the time.
    if (end.id === start) found.push(headFinding(scope, end));
    break;
  }
  const unchained = chainAfter === null ? 0 : Math.max(0, state.revisions - chained);
  return { found, unchained, after: chainAfter };
}

function checkEntry(entry: ChainEntry, place: ChainPlace): Finding | null {
  if (entry.type === 'pruned') {
    const { id, shown } = entry;
    if (shown !== null && hashRedaction(id, shown) !== entry.rowHash) {
      return finding(null, `the redaction ${id} lists other revisions than when it was made`);
    }
    if (doesFollow(entry, place)) return null;
    return finding(null, `${entry.id}, which is pruned, ${follows(place)}`);
  }
  const { id, version, previousHash, chainHash } = entry;
  const wrong = (what: string) =>
    finding(toPhysicalPath(entry), `at version ${version} (revision ${id}) ${what}`);
  if (previousHash === null || chainHash === null) {
    return wrong('has no hash, and was written after the chain started');
  }
  const changed = checkChained(entry);
  if (changed !== null) return wrong(changed);
  if (doesFollow(entry, place)) return null;
  if (previousHash === place.before) {
    return wrong(`does not follow revision ${place.id}, which was inserted before it`);
  }
  return wrong(follows(place));
}

/** Tells whether the redaction that changed a row lists it as it is. Keeps the last redaction. */
function createListCheck(inspection: InspectionStore, scope: ScopeKey) {
  let last: PrunedRevision | null = null;
  return async (row: RevisionRecord, redactionId: string): Promise<boolean> => {
    if (last?.id !== redactionId) last = await inspection.prunedOf(scope, redactionId);
    return isListed(row, last?.shown ?? null);
  };
}

async function checkListed(
  entry: ChainEntry,
  isListedNow: ReturnType<typeof createListCheck>,
): Promise<Finding | null> {
  if (entry.type === 'pruned' || entry.redactionId === null) return null;
  if (await isListedNow(entry, entry.redactionId)) return null;
  const { id, version } = entry;
  return finding(
    toPhysicalPath(entry),
    `at version ${version} (revision ${id}) ${NOT_LISTED}: ${entry.redactionId}`,
  );
}

function follows({ id }: ChainPlace): string {
  const before = id === null ? 'the start of the history' : `revision ${id}`;
  return `does not follow ${before}: a revision between them is missing, or that one was changed`;
}

function headFinding(scope: ScopeKey, { id }: ChainPlace): Finding {
  const last = id === null ? 'is empty' : `ends at revision ${id}`;
  return finding(
    null,
    `the history of ${scope} ${last}, and its recorded hash is another: revisions at the end are missing, or were added`,
  );
}

function finding(path: string | null, message: string): Finding {
  return { invariant: 'chain', path, message };
}
