import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexedScope, IndexView, SegmentKey } from '../../contracts/storage.ts';
import type { Pause } from '../../time/pause.ts';
import type { SearchCaches } from '../search-caches.ts';
import type { TermRow } from './collection.ts';
import { ScopeSegments } from './scope-segments.ts';
import { findTerms, readPlaces, Segment, unpack, visitEntries } from './segment.ts';

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
  const joined = await ScopeSegments.join(generation, segments, pause);
  // Another search may have seen a later generation meanwhile.
  const isLater = (caches.scopes.peek(scope)?.generation ?? -1) > generation;
  if (joined !== null && !isLater) caches.scopes.set(scope, joined);
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

/** A scope whose segments are open. */
export interface OpenScope {
  scope: ScopeKey;
  segments: ScopeSegments;
}

/**
 * Reads the postings of terms, by scope and term, from the cache or from the blocks of all scopes at
 * once. `null` for a scope with a damaged block.
 */
export async function readTerms(
  view: IndexView,
  scopes: readonly OpenScope[],
  terms: readonly string[],
  { caches, pause }: { caches: Pick<SearchCaches, 'terms'>; pause: Pause },
): Promise<(ReadonlyMap<string, TermRow[]> | null)[]> {
  const sorted = [...new Set(terms)]
    .map((term) => ({ term, key: Buffer.from(term) }))
    .sort((left, right) => Buffer.compare(left.key, right.key));
  const postings = scopes.map(({ scope, segments }) => {
    const present = new Set(segments.segments.map(({ id }) => id));
    return sorted.map(({ term }) => {
      const own = new Map<number, readonly Uint8Array[]>();
      for (const [id, parts] of caches.terms.get(`${scope} ${term}`) ?? []) {
        if (present.has(id)) own.set(id, parts);
      }
      return own;
    });
  });
  const wanted: { scope: number; segment: Segment; block: number; terms: number[] }[] = [];
  const changed = scopes.map(() => new Set<number>());
  for (const [scope, { segments }] of scopes.entries()) {
    for (const segment of segments.segments) {
      const blocks = new Map<number, number[]>();
      for (const [term, { key }] of sorted.entries()) {
        const own = postings[scope]?.[term];
        if (own === undefined || own.has(segment.id)) continue;
        own.set(segment.id, []);
        changed[scope]?.add(term);
        const { first, after } = segment.blocksWith(key);
        for (let block = first; block < after; block++) {
          const known = blocks.get(block);
          if (known === undefined) blocks.set(block, [term]);
          else known.push(term);
        }
      }
      for (const [block, own] of [...blocks].sort(([left], [right]) => left - right)) {
        wanted.push({ scope, segment, block, terms: own });
      }
      await pause();
    }
  }
  const damaged = new Set<number>();
  const take = (one: (typeof wanted)[number], bytes: Uint8Array | null): void => {
    const own = one.terms.map((term) => sorted[term]?.key as Buffer);
    const isIntact =
      bytes !== null &&
      findTerms(bytes, own, (place, frames) => {
        const known = postings[one.scope]?.[one.terms[place] ?? -1];
        known?.set(one.segment.id, [...(known.get(one.segment.id) ?? []), frames]);
      });
    if (!isIntact) damaged.add(one.scope);
  };
  for (const one of wanted) {
    if (one.segment.inline === null) continue;
    take(one, one.segment.inline);
    await pause();
  }
  const stored = wanted.filter(({ segment }) => segment.inline === null);
  for (let at = 0; at < stored.length; at += BLOCKS_READ) {
    const some = stored.slice(at, at + BLOCKS_READ);
    const rows = await view.readBlocks(
      some.map(({ scope, segment, block }) => ({
        scope: scopes[scope]?.scope as ScopeKey,
        segment: segment.id,
        block,
      })),
    );
    const byKey = new Map(
      rows.map(({ scope, segment, block, bytes }) => [`${scope} ${segment} ${block}`, bytes]),
    );
    for (const one of some) {
      const row = byKey.get(`${scopes[one.scope]?.scope} ${one.segment.id} ${one.block}`);
      take(one, row === undefined ? null : unpack(row));
      await pause();
    }
  }
  return scopes.map(({ scope, segments }, place) => {
    if (damaged.has(place)) return null;
    const found = new Map<string, TermRow[]>();
    for (const [term, { term: text }] of sorted.entries()) {
      const own = postings[place]?.[term] ?? new Map<number, readonly Uint8Array[]>();
      if (changed[place]?.has(term) === true) caches.terms.set(`${scope} ${text}`, own);
      found.set(text, segments.toRows(own));
    }
    return found;
  });
}

/**
 * Visits the terms of a scope with a prefix that a file has which counts, with the frames of these
 * files; a term may come several times. Returns `false` if a block is damaged.
 */
export async function visitTerms(
  view: IndexView,
  { scope, segments }: OpenScope,
  { prefix, pause }: { prefix: string; pause: Pause },
  visit: (term: string, row: TermRow) => void,
): Promise<boolean> {
  const from = Buffer.from(prefix);
  const to = Buffer.concat([from, LAST_BYTES]);
  let isIntact = true;
  const take = (segment: Segment, part: number, block: Uint8Array | null): void => {
    const isRead =
      block !== null &&
      visitEntries(block, from, (term, bytes) => {
        visit(term, {
          bytes,
          frames: () => readPlaces(bytes, (place) => segments.fileAt(segment, part, place)),
        });
      });
    if (!isRead) isIntact = false;
  };
  for (const [part, segment] of segments.segments.entries()) {
    const { first, after } = segment.blocksWith(from, to);
    if (segment.inline !== null) {
      if (first < after) take(segment, part, segment.inline);
      await pause();
      continue;
    }
    for (let at = first; at < after; at += BLOCKS_READ) {
      const length = Math.min(BLOCKS_READ, after - at);
      const rows = await view.readBlocks(
        Array.from({ length }, (_, place) => ({ scope, segment: segment.id, block: at + place })),
      );
      if (rows.length < length) isIntact = false;
      for (const { bytes } of rows) {
        take(segment, part, unpack(bytes));
        await pause();
      }
    }
  }
  return isIntact;
}

/** After all that starts with a prefix: no UTF-8 has such a byte. */
const LAST_BYTES = Buffer.from([0xff]);
