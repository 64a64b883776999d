import type { ScopeKey } from '../../contracts/records.ts';
import type { BlockKey, IndexedScope, IndexView, SegmentKey } from '../../contracts/storage.ts';
import { chunk } from '../../lists/group-by.ts';
import type { Pause } from '../../time/pause.ts';
import type { SearchCaches } from '../search-caches.ts';
import { Block, unpack } from './block.ts';
import type { TermRow } from './collection.ts';
import { ScopeSegments } from './scope-segments.ts';
import { Segment } from './segment.ts';

/** Blocks of one query, so that those of a large memory are not all in memory at once. */
const BLOCKS_READ = 64;

/**
 * The segments of a scope as it was opened: those that are `known`, else from the cache or from their
 * heads. `null` if one is damaged.
 */
export async function openSegments(
  view: IndexView,
  { scope, opened, known }: { scope: ScopeKey; opened: IndexedScope; known: ScopeSegments | null },
  { caches, pause }: { caches: Pick<SearchCaches, 'segments' | 'scopes'>; pause: Pause },
): Promise<ScopeSegments | null> {
  const { generation } = opened.state;
  if (known?.generation === generation) return known;
  const ids = new Map<number, Uint8Array | null>();
  for (const { segment, head } of opened.segments ?? []) ids.set(segment, head);
  const segments = await readSegments(view, { scope, ids }, { caches, pause });
  if (segments === null) return null;
  const joined = await ScopeSegments.join({ scope, generation }, segments, pause);
  // Another search may have seen a later generation meanwhile.
  const isLater = (caches.scopes.peek(scope)?.generation ?? -1) > generation;
  if (!isLater) caches.scopes.set(scope, joined);
  return joined;
}

/** Reads segments of a scope, by ascending number; `null` if one is damaged. */
async function readSegments(
  view: IndexView,
  { scope, ids }: { scope: ScopeKey; ids: ReadonlyMap<number, Uint8Array | null> },
  { caches, pause }: { caches: Pick<SearchCaches, 'segments'>; pause: Pause },
): Promise<Segment[] | null> {
  const found = new Map<number, Segment>();
  const missing: SegmentKey[] = [];
  const add = (id: number, head: Uint8Array): boolean => {
    const segment = Segment.read(id, head);
    if (segment === null) return false;
    caches.segments.set(`${scope} ${id}`, segment);
    found.set(id, segment);
    return true;
  };
  for (const [id, head] of ids) {
    const known = caches.segments.get(`${scope} ${id}`);
    if (known !== undefined) found.set(id, known);
    else if (head === null) missing.push({ scope, segment: id });
    else if (!add(id, head)) return null;
    await pause();
  }
  for (let at = 0; at < missing.length; at += BLOCKS_READ) {
    for (const { segment, head } of await view.readHeads(missing.slice(at, at + BLOCKS_READ))) {
      if (!add(segment, head)) return null;
      await pause();
    }
  }
  if (found.size < ids.size) return null;
  return [...found.values()].sort((left, right) => left.id - right.id);
}

/** A block of a segment of a scope. */
interface WantedBlock {
  scope: ScopeKey;
  segment: Segment;
  block: number;
}

/** Reads blocks, in their order, from the cache or the database; `null` for a damaged one. */
async function readBlocks(
  view: IndexView,
  wanted: readonly WantedBlock[],
  caches: Pick<SearchCaches, 'blocks'>,
): Promise<(Block | null)[]> {
  const toKey = ({ scope, segment, block }: BlockKey) => `${scope} ${segment} ${block}`;
  const keys = wanted.map(({ scope, segment: { id }, block }) => ({ scope, segment: id, block }));
  const found = wanted.map(
    ({ segment }, at) => segment.inline ?? caches.blocks.get(toKey(keys[at] as BlockKey)) ?? null,
  );
  const read = new Map<string, Block | null>();
  for (const row of await view.readBlocks(keys.filter((_, at) => found[at] === null))) {
    const bytes = unpack(row.bytes);
    const block = bytes === null ? null : Block.read(bytes);
    if (block !== null) caches.blocks.set(toKey(row), block);
    read.set(toKey(row), block);
  }
  return found.map((block, at) => block ?? read.get(toKey(keys[at] as BlockKey)) ?? null);
}

interface Term {
  term: string;
  key: Buffer;
}

/**
 * Reads the postings of terms, by scope and term, from the blocks of all scopes together. `null` for a
 * scope with a damaged block.
 */
export async function readTerms(
  view: IndexView,
  scopes: readonly ScopeSegments[],
  terms: readonly string[],
  { caches, pause }: { caches: Pick<SearchCaches, 'blocks'>; pause: Pause },
): Promise<(ReadonlyMap<string, TermRow[]> | null)[]> {
  const all = [...new Set(terms)].map((term) => ({ term, key: Buffer.from(term) }));
  const found: (Map<string, TermRow[]> | null)[] = scopes.map(
    () => new Map(all.map(({ term }) => [term, []])),
  );
  const wanted: (WantedBlock & { place: number; part: number; terms: Term[] })[] = [];
  for (const [place, { scope, segments }] of scopes.entries()) {
    for (const [part, segment] of segments.entries()) {
      for (const [block, own] of findBlocks(segment, all)) {
        wanted.push({ scope, segment, block, place, part, terms: own });
      }
      await pause();
    }
  }
  for (const some of chunk(wanted, BLOCKS_READ)) {
    const blocks = await readBlocks(view, some, caches);
    for (const [at, { place, part, terms: own }] of some.entries()) {
      const block = blocks[at] ?? null;
      if (block === null) found[place] = null;
      for (const { term, key } of block === null ? [] : own) {
        const rows = block?.framesOf(key).map((bytes) => scopes[place]?.toRow(part, bytes));
        for (const row of rows ?? []) if (row) found[place]?.get(term)?.push(row);
      }
      await pause();
    }
  }
  return found;
}

/** The blocks of a segment that may have some of the terms, ascending, each with those terms. */
function findBlocks(segment: Segment, terms: readonly Term[]): [block: number, own: Term[]][] {
  const blocks = new Map<number, Term[]>();
  for (const term of terms) {
    const { first, after } = segment.blocksWith(term.key);
    for (let block = first; block < after; block++) {
      const own = blocks.get(block);
      if (own === undefined) blocks.set(block, [term]);
      else own.push(term);
    }
  }
  return [...blocks].sort(([left], [right]) => left - right);
}

/**
 * Visits the terms of a scope with a prefix that a file has which counts, with the frames of these
 * files; a term may come several times. Returns `false` if a block is damaged.
 */
export async function visitTerms(
  view: IndexView,
  segments: ScopeSegments,
  { prefix, caches, pause }: { prefix: string; caches: Pick<SearchCaches, 'blocks'>; pause: Pause },
  visit: (term: string, row: TermRow) => void,
): Promise<boolean> {
  const from = Buffer.from(prefix);
  const to = Buffer.concat([from, LAST_BYTES]);
  for (const [part, segment] of segments.segments.entries()) {
    const { first, after } = segment.blocksWith(from, to);
    const wanted = Array.from({ length: after - first }, (_, at) => first + at);
    for (const some of chunk(wanted, BLOCKS_READ)) {
      const keys = some.map((block) => ({ scope: segments.scope, segment, block }));
      for (const block of await readBlocks(view, keys, caches)) {
        if (block === null) return false;
        block.visit(from, (term, bytes) => visit(term, segments.toRow(part, bytes)));
        await pause();
      }
    }
  }
  return true;
}

/** After all that starts with a prefix: no UTF-8 has such a byte. */
const LAST_BYTES = Buffer.from([0xff]);
