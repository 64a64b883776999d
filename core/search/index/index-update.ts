import type { ScopeKey } from '../../contracts/records.ts';
import type {
  CurrentIndex,
  IndexBlob,
  IndexChanges,
  IndexEntry,
  IndexStore,
  StaleMark,
} from '../../contracts/storage.ts';
import { createPause, type Pause } from '../../time/pause.ts';
import type { IndexUpdate, SearchCaches } from '../search-caches.ts';
import { TOKENISER_VERSION } from '../text/tokenise.ts';
import type { TokenisedFile } from './tokenised-files.ts';
import { bucketOf, type FrameChange, replaceFiles } from './postings.ts';

/** The most terms in one transaction. A file with more terms gets a transaction of its own. */
const UPDATE_TERMS = 16_384;

/**
 * Updates the index for files of one scope. It reads them outside the transaction. A search may have
 * tokenised some of them before; it tokenises the others. A file that changes during this stays stale.
 * Returns `false` if the scope's index is damaged or of another tokeniser version, and must be dropped.
 */
export async function updateIndex(
  store: IndexStore,
  scope: ScopeKey,
  { stale, caches }: { stale: readonly StaleMark[]; caches: Pick<SearchCaches, 'files' | 'index'> },
): Promise<boolean> {
  const files = await store.snapshot((view) => view.readFiles(stale));
  const pause = createPause();
  let isUsable = true;
  let prepared = new Map<number, PreparedFile>();
  let terms = 0;
  const write = async (): Promise<void> => {
    const current = stale.filter(
      ({ fileNo, version }) => prepared.get(fileNo)?.version === version,
    );
    if (current.length > 0) {
      // A transaction may be repeated: what the last attempt plans is written.
      let planned: Pick<IndexUpdate, 'files' | 'blobs'> = { files: [], blobs: [] };
      const generation = await store.update(scope, current, async (index) => {
        const changes = await planChanges(index, prepared, pause);
        if (changes === null) isUsable = false;
        else planned = { files: index.due.map(({ fileNo }) => fileNo), blobs: changes.blobs };
        return changes;
      });
      if (generation !== null) caches.index.follow(scope, { generation, ...planned });
    }
    prepared = new Map();
    terms = 0;
  };
  for (const { fileNo, version, path, hash, content } of files) {
    await pause();
    const options = { isKept: false, pause };
    const indexed =
      content === null
        ? null
        : await prepare(await caches.files.take({ path, hash, content }, options), pause);
    const more = indexed?.payloads.size ?? 0;
    if (terms + more > UPDATE_TERMS) await write();
    prepared.set(fileNo, { version, indexed });
    terms += more;
  }
  await write();
  return isUsable;
}

/** The new state of a file in the index. */
interface PreparedFile {
  version: number;
  /** `null` for a deleted file. */
  indexed: Awaited<ReturnType<typeof prepare>> | null;
}

async function prepare({ payloads: packed, hashes: passages }: TokenisedFile, pause: Pause) {
  const payloads = packed instanceof Map ? (packed as Map<string, Uint8Array>) : new Map(packed);
  await pause();
  /** For the file's entry: its terms, each with a hash of its payload. */
  const terms = packTerms(payloads);
  await pause();
  return { payloads, terms, passages, hashes: unpackTerms(terms) ?? new Map<string, bigint>() };
}

/**
 * Reads and replaces only the rows in which a file's payload changed. `null` if the index can't be
 * used.
 */
async function planChanges(
  { format, due, entries, read }: CurrentIndex,
  prepared: ReadonlyMap<number, PreparedFile>,
  pause: Pause,
): Promise<IndexChanges | null> {
  if (format !== null && format !== TOKENISER_VERSION) return null;
  const known = new Map(entries.map((entry) => [entry.fileNo, entry]));
  const rows = new Map<string, ChangedRow>();
  const changes = {
    blobs: [] as Changed[],
    entries: [] as ChangedEntry[],
    removed: [] as number[],
  };
  for (const { fileNo } of [...due].sort((left, right) => left.fileNo - right.fileNo)) {
    const file = prepared.get(fileNo);
    if (file === undefined) continue;
    await pause();
    const entry = known.get(fileNo);
    const before = entry === undefined ? new Map<string, bigint>() : unpackTerms(entry.bytes);
    if (before === null) return null;
    await pause();
    await addFrames(rows, fileNo, { before, indexed: file.indexed, pause });
    if (file.indexed === null) changes.removed.push(fileNo);
    else {
      const { terms, passages } = file.indexed;
      const written = { fileNo, version: file.version, bytes: terms };
      changes.entries.push(passages === null ? written : { ...written, passages });
    }
  }
  for (const { key, part, bytes } of await read([...rows.values()])) {
    await pause();
    const row = rows.get(`${part} ${key}`);
    if (row !== undefined) row.before = bytes;
  }
  for (const { key, part, before, frames } of rows.values()) {
    await pause();
    const bytes = replaceFiles(before, frames);
    if (bytes === 'damaged') return null;
    changes.blobs.push({ key, part, bytes });
  }
  return { ...changes, format: TOKENISER_VERSION };
}

type Changed = IndexChanges['blobs'][number];
type ChangedEntry = IndexEntry & { passages?: Uint8Array };

/** A row of postings with the changed payloads of its files. */
interface ChangedRow extends Pick<IndexBlob, 'key' | 'part'> {
  before: Uint8Array | null;
  /** By ascending file. */
  frames: FrameChange[];
}

/** Adds the payloads of one file that differ from the index. */
async function addFrames(
  rows: Map<string, ChangedRow>,
  file: number,
  {
    before,
    indexed,
    pause,
  }: { before: ReadonlyMap<string, bigint>; indexed: PreparedFile['indexed']; pause: Pause },
): Promise<void> {
  const part = bucketOf(file);
  const add = (key: string, payload: Uint8Array | null): void => {
    const name = `${part} ${key}`;
    let row = rows.get(name);
    if (row === undefined) rows.set(name, (row = { key, part, before: null, frames: [] }));
    row.frames.push({ file, payload, isKnown: before.has(key) });
  };
  for (const term of before.keys()) {
    if (indexed?.payloads.has(term) !== true) add(term, null);
    await pause();
  }
  for (const [term, payload] of indexed?.payloads ?? []) {
    if (before.get(term) !== indexed?.hashes.get(term)) add(term, payload);
    await pause();
  }
}

const COUNT_BYTES = 4;
const HASH_BYTES = 8;
const SEPARATOR = '\n';

/**
 * Packs the terms of a file, each with a hash of its payload, so that the next update knows which
 * rows change.
 *
 * Layout: the number of terms (uint32), a hash of 64 bits for each, then the terms in UTF-8, joined
 * by line ends, which no term contains.
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

/** The terms of {@link packTerms}, each with its hash; `null` when the bytes are damaged. */
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

/** Two FNV-1a hashes of 32 bits from different offsets, the second of the bytes plus their places. */
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
