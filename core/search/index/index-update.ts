import type { ScopeKey } from '../../contracts/records.ts';
import type {
  IndexChanges,
  IndexDocument,
  IndexStore,
  IndexTask,
  IndexUpdate,
  PostingNeed,
  PostingRow,
} from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { createPause, type Pause } from '../../pause.ts';
import { packHashes } from '../embedding/embedded-text.ts';
import { TOKENISER_VERSION } from '../text/tokenise.ts';
import { indexFile, inSlices } from './index-file.ts';
import { bucketOf, encodeFile, type FrameChange, replaceFiles } from './postings.ts';

/** Terms of one transaction. A file with more terms has a transaction of its own. */
const UPDATE_TERMS = 16_384;

/**
 * Brings files of one scope up to date in the index. Reads and tokenises them outside the
 * transaction; files that change meanwhile are left for the next round. `damaged`: the rows of the
 * scope contradict its documents, and the index must be rebuilt.
 */
export async function updateIndex(
  store: IndexStore,
  scope: ScopeKey,
  tasks: readonly IndexTask[],
  { listsPassages }: { listsPassages: boolean },
): Promise<'updated' | 'damaged'> {
  const files = await store.snapshot((view) => view.contents(tasks));
  const pause = createPause();
  let prepared = new Map<number, Prepared>();
  let terms = 0;
  let outcome: 'updated' | 'damaged' = 'updated';
  const update = async (): Promise<void> => {
    const current = tasks.filter((task) => prepared.get(task.fileNo)?.version === task.version);
    if (current.length > 0) {
      const isDone = await runUpdate(store, scope, current, planUpdate(prepared, pause));
      if (!isDone) outcome = 'damaged';
    }
    prepared = new Map();
    terms = 0;
  };
  for (const { fileNo, version, path, content } of files) {
    await pause();
    const indexed =
      content === null ? null : await prepare(content, path, { listsPassages, pause });
    const more = indexed?.payloads.size ?? 0;
    if (terms + more > UPDATE_TERMS) await update();
    prepared.set(fileNo, { version, indexed });
    terms += more;
  }
  await update();
  return outcome;
}

/** Rolls an update back. */
function damaged(): MemoryError {
  return new MemoryError('INTERNAL', 'The search index is damaged.', {
    details: { reason: 'index_damaged' },
  });
}

async function runUpdate(
  store: IndexStore,
  scope: ScopeKey,
  tasks: readonly IndexTask[],
  update: IndexUpdate,
): Promise<boolean> {
  try {
    await store.update(scope, tasks, update);
    return true;
  } catch (error) {
    if (error instanceof MemoryError && error.details?.['reason'] === 'index_damaged') return false;
    throw error;
  }
}

/** A file as it is to be in the index; `null` for one that is gone. */
interface Prepared {
  version: number;
  indexed: {
    payloads: ReadonlyMap<string, Uint8Array>;
    /** Packed for its document, and with each term's hash. */
    terms: Uint8Array;
    /** The hashes of its passages; `null` where nobody wants them. */
    passages: Uint8Array | null;
    hashes: ReadonlyMap<string, bigint>;
  } | null;
}

async function prepare(
  content: string,
  path: string,
  { listsPassages, pause }: { listsPassages: boolean; pause: Pause },
): Promise<NonNullable<Prepared['indexed']>> {
  const indexed = await inSlices(indexFile(content, path), pause);
  await pause();
  const payloads = encodeFile(indexed);
  await pause();
  const terms = packTerms(payloads);
  await pause();
  // An empty file has one passage, of no text.
  const listed = indexed.passages.filter(({ start, end }) => end > start);
  const passages = listsPassages ? await packHashes(content, listed, pause) : null;
  return { payloads, terms, passages, hashes: unpackTerms(terms) ?? new Map() };
}

/** What becomes of one file: its terms before, and those of them that change. */
interface FileChange {
  fileNo: number;
  version: number;
  known: ReadonlyMap<string, bigint>;
  /** `null` for a term that the file has no longer. */
  touched: ReadonlyMap<string, Uint8Array | null>;
}

/**
 * The pure part of an update: only rows of terms whose postings in the file changed are read and
 * written.
 */
function planUpdate(prepared: ReadonlyMap<number, Prepared>, pause: Pause): IndexUpdate {
  let changes: FileChange[] = [];
  return {
    async needs(documents, due) {
      const known = new Map(documents.map((document) => [document.fileNo, document]));
      // A transaction that is tried again begins anew.
      changes = [];
      for (const { fileNo, version } of due) {
        const file = prepared.get(fileNo);
        if (file === undefined || file.version !== version) continue;
        await pause();
        const change = await toChange({ fileNo, version }, known.get(fileNo), { file, pause });
        changes.push(change);
      }
      return listNeeds(changes);
    },
    apply: (rows) => applyChanges(rows, changes, { prepared, pause }),
  };
}

async function toChange(
  task: { fileNo: number; version: number },
  document: IndexDocument | undefined,
  { file: { indexed }, pause }: { file: Prepared; pause: Pause },
): Promise<FileChange> {
  const touched = new Map<string, Uint8Array | null>();
  const known = document === undefined ? new Map<string, bigint>() : unpackTerms(document.terms);
  if (known === null) throw damaged();
  await pause();
  for (const term of known.keys()) {
    if (indexed?.payloads.has(term) !== true) touched.set(term, null);
  }
  await pause();
  for (const [term, payload] of indexed?.payloads ?? []) {
    if (known.get(term) !== indexed?.hashes.get(term)) touched.set(term, payload);
  }
  await pause();
  return { ...task, known, touched };
}

function listNeeds(changes: readonly FileChange[]): PostingNeed {
  const terms = new Map<number, Set<string>>();
  for (const { fileNo, touched } of changes) {
    const own = getOrSet(terms, bucketOf(fileNo), () => new Set<string>());
    for (const term of touched.keys()) own.add(term);
  }
  return [...terms].flatMap(([bucket, own]) => [...own].map((term) => ({ term, bucket })));
}

async function applyChanges(
  rows: readonly PostingRow[],
  changes: readonly FileChange[],
  { prepared, pause }: { prepared: ReadonlyMap<number, Prepared>; pause: Pause },
): Promise<IndexChanges> {
  const kept = new Map<number, Map<string, Uint8Array>>();
  for (const { term, bucket, blob } of rows) {
    const turn = pause();
    if (turn !== undefined) await turn;
    getOrSet(kept, bucket, () => new Map<string, Uint8Array>()).set(term, blob);
  }
  const frames = new Map<number, Map<string, FrameChange[]>>();
  const documents: IndexDocument[] = [];
  const removed: number[] = [];
  for (const change of [...changes].sort((left, right) => left.fileNo - right.fileNo)) {
    const { fileNo, version, known, touched } = change;
    const own = getOrSet(frames, bucketOf(fileNo), () => new Map<string, FrameChange[]>());
    for (const [term, payload] of touched) {
      // A row that the file must be in and is not, or the other way round, was spoilt.
      const frame = { file: fileNo, payload, isKnown: known.has(term) };
      getOrSet(own, term, () => [] as FrameChange[]).push(frame);
    }
    await pause();
    const indexed = prepared.get(fileNo)?.indexed ?? null;
    if (indexed === null) removed.push(fileNo);
    else {
      const { terms, passages } = indexed;
      documents.push({
        fileNo,
        version,
        tokeniserVersion: TOKENISER_VERSION,
        terms,
        ...(passages === null ? {} : { passages }),
      });
    }
  }
  const postings: IndexChanges['postings'][number][] = [];
  for (const [bucket, own] of frames) {
    for (const [term, changed] of own) {
      const turn = pause();
      if (turn !== undefined) await turn;
      const blob = replaceFiles(kept.get(bucket)?.get(term) ?? null, changed);
      if (blob === 'damaged') throw damaged();
      postings.push({ term, bucket, blob });
    }
  }
  return { postings, documents, removed };
}

function getOrSet<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

const COUNT_BYTES = 4;
const HASH_BYTES = 8;
const SEPARATOR = '\n';

/**
 * Packs what the index must know of a file to change it later: its terms, each with a hash of its
 * postings, so that terms whose postings stay the same are not written again.
 *
 * Layout: the number of terms (uint32), a hash of 64 bits for each, then the terms in UTF-8, joined
 * by line ends, which no term has.
 */
export function packTerms(payloads: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const head = Buffer.allocUnsafe(COUNT_BYTES + payloads.size * HASH_BYTES);
  head.writeUInt32BE(payloads.size, 0);
  let at = COUNT_BYTES;
  for (const payload of payloads.values()) {
    const [high, low] = hashBytes(payload);
    head.writeUInt32BE(high, at);
    head.writeUInt32BE(low, at + 4);
    at += HASH_BYTES;
  }
  return Buffer.concat([head, Buffer.from([...payloads.keys()].join(SEPARATOR))]);
}

/**
 * The terms of {@link packTerms}, each with its hash.
 */
function unpackTerms(packed: Uint8Array): Map<string, bigint> | null {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  if (bytes.length < COUNT_BYTES) return null;
  const count = bytes.readUInt32BE(0);
  const textAt = COUNT_BYTES + count * HASH_BYTES;
  if (textAt > bytes.length) return null;
  const hashes = new Map<string, bigint>();
  if (count === 0) return hashes;
  const terms = bytes.toString('utf8', textAt).split(SEPARATOR);
  if (terms.length !== count) return null;
  terms.forEach((term, index) => {
    hashes.set(term, bytes.readBigUInt64BE(COUNT_BYTES + index * HASH_BYTES));
  });
  return hashes;
}

/** Two FNV-1a hashes of 32 bits from different offsets, the second over the bytes turned. */
function hashBytes(bytes: Uint8Array): [number, number] {
  let high = 0x811c9dc5;
  let low = 0x050c5d1f;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    high = Math.imul(high ^ byte, 0x01000193);
    low = Math.imul(low ^ (byte + at), 0x01000193);
  }
  return [high >>> 0, low >>> 0];
}
