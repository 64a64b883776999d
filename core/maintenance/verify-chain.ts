import type { InspectionStore } from '../contracts/inspection.ts';
import type { PrunedRevision, RevisionRecord, ScopeKey, ScopeState } from '../contracts/records.ts';
import type { PageRequest, Storage } from '../contracts/storage.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { chainHeadOf, chainStart, hashRow, linkHash, sealContent } from '../history/chain.ts';
import type { Finding } from '../schemas/jobs.ts';

const PAGE_ROWS = 500;
/** How often a break is looked at again: a prune or a write may come between two reads. */
const RETRIES = 3;

/** What {@link verifyChain} found in one scope. */
interface ChainFindings {
  found: readonly Finding[];
  /** Revisions from before the chain. */
  unchained: number;
  /** The newest of them, with which the chain starts; `null` if the chain has all revisions. */
  after: string | null;
}

/**
 * Recomputes the chain of a scope, oldest revision first, and names each break of it: the first
 * one is where the history was changed first. After a break it goes on from the stored hash. Reads
 * in pages. `null` if the storage doesn't show what that needs.
 */
export async function verifyChain(
  storage: Storage,
  scope: ScopeKey,
): Promise<ChainFindings | null> {
  const { inspection } = storage;
  const state = (await inspection?.scope(scope)) ?? null;
  if (inspection === undefined || state === null) return null;
  const found: Finding[] = [];
  let chained = 0;
  let place: Place = {
    id: state.chainAfter,
    hash: chainStart(scope, state.chainAfter),
    before: null,
  };
  let present: ScopeState;
  for (let tries = 0; ;) {
    const start = place.id;
    let wrong: Finding | null = null;
    for await (const entry of walkChain({ storage, inspection }, scope, place.id)) {
      wrong = checkEntry(entry, place);
      if (wrong !== null && tries < RETRIES) break;
      if (wrong !== null) found.push(wrong);
      wrong = null;
      tries = 0;
      if (entry.type === 'kept') chained += 1;
      place = { id: entry.id, hash: hashAfter(entry, place), before: place.hash };
    }
    tries += 1;
    if (wrong !== null) continue;
    present = (await inspection.scope(scope)) ?? state;
    if (chainHeadOf(present) === place.hash) break;
    if (tries <= RETRIES) continue;
    // Somebody writes all the time.
    if (place.id !== start) break;
    found.push(headFinding(present, place));
    break;
  }
  const unchained = Math.max(0, present.revisions - chained);
  return { found, unchained: state.chainAfter === null ? 0 : unchained, after: state.chainAfter };
}

/** The last revision that was looked at. */
interface Place {
  id: string | null;
  hash: string;
  /** The hash before it. */
  before: string | null;
}

type Entry = ({ type: 'kept' } & RevisionRecord) | ({ type: 'pruned' } & PrunedRevision);

/** The revisions of a scope and what is kept of its pruned ones, by id, after `after`. */
export async function* walkChain(
  { storage, inspection }: { storage: Pick<Storage, 'revisions'>; inspection: InspectionStore },
  scope: ScopeKey,
  after: string | null,
): AsyncGenerator<Entry, void> {
  const kept = listKept(storage, scope, after);
  const pruned = listPruned(inspection, scope, after);
  let [one, other] = [await kept.next(), await pruned.next()];
  while (one.done !== true || other.done !== true) {
    if (other.done === true || (one.done !== true && one.value.id <= other.value.id)) {
      if (one.done === true) return;
      yield { type: 'kept', ...one.value };
      one = await kept.next();
    } else {
      yield { type: 'pruned', ...other.value };
      other = await pruned.next();
    }
  }
}

async function* listKept(
  { revisions }: Pick<Storage, 'revisions'>,
  scope: ScopeKey,
  start: string | null,
): AsyncGenerator<RevisionRecord, void> {
  let after: PageRequest['after'] = start === null ? null : [start];
  do {
    const page = await revisions.list({ scope }, { limit: PAGE_ROWS, order: 'asc', after });
    yield* page.items;
    after = page.next;
  } while (after !== null);
}

async function* listPruned(
  inspection: InspectionStore,
  scope: ScopeKey,
  start: string | null,
): AsyncGenerator<PrunedRevision, void> {
  for (let after = start; ;) {
    const page = await inspection.pruned(scope, { after, limit: PAGE_ROWS });
    yield* page;
    after = page.at(-1)?.id ?? null;
    if (after === null) return;
  }
}

function checkEntry(entry: Entry, place: Place): Finding | null {
  if (entry.type === 'pruned') {
    if (linkHash(place.hash, entry.rowHash) === entry.chainHash) return null;
    return finding(null, `${entry.id}, which is pruned, ${follows(place)}`);
  }
  const { id, version, previousHash, chainHash } = entry;
  const wrong = (what: string) =>
    finding(toPhysicalPath(entry), `at version ${version} (revision ${id}) ${what}`);
  if (previousHash === null || chainHash === null) {
    return wrong('has no hash, and was written after the chain started');
  }
  const isSealed = entry.redacted === (entry.hash === null) && sealContent(entry) !== null;
  if (!isSealed) return wrong('lacks the hash or the salt of its content');
  if (linkHash(previousHash, hashRow(entry)) !== chainHash) {
    return wrong('has other fields, or another content, than when it was written');
  }
  if (previousHash === place.hash) return null;
  if (previousHash === place.before) {
    return wrong(`does not follow revision ${place.id}, which was inserted before it`);
  }
  return wrong(follows(place));
}

/** The hash that the next revision follows, which an unchained one lacks. */
function hashAfter(entry: Entry, { hash }: Place): string {
  if (entry.type === 'pruned') return entry.chainHash;
  return entry.chainHash ?? linkHash(hash, hashRow(entry));
}

function follows({ id }: Place): string {
  const before = id === null ? 'the start of the history' : `revision ${id}`;
  return `does not follow ${before}: a revision between them is missing, or that one was changed`;
}

function headFinding(state: ScopeState, { id }: Place): Finding {
  const last = id === null ? 'empty' : `at revision ${id}`;
  return finding(
    null,
    `the history of ${state.scope} ends ${last}, which is not the newest one that was recorded: revisions at its end are missing or were added`,
  );
}

function finding(path: string | null, message: string): Finding {
  return { invariant: 'chain', path, message };
}
