import type { RevisionRecord, ScopeKey, ShownRow } from '../contracts/records.ts';
import type { MemoryError } from '../errors.ts';
import { hashText } from '../files/content.ts';
import {
  type Base,
  chainStart,
  checkChained,
  hashBase,
  hashRedaction,
  hashRow,
  linkHash,
  NOT_LISTED,
} from '../history/chain.ts';
import { toIdMs } from '../ids/id-time.ts';
import { isUuid7 } from '../ids/ids.ts';
import type { Pause } from '../time/pause.ts';
import type { ChainHead, ChainLine } from '../schemas/archive.ts';
import { invalidArchive } from './invalid-archive.ts';
import { quote } from './tar.ts';

/** A revision of the chain whose row is not in the archive, or what a prune added. */
interface AbsentRevision {
  id: string;
  rowHash: string;
  chainHash: string;
  /** Of which file it has the hash of the oldest content; `null` for a revision. */
  base: Pick<Base, 'path' | 'version' | 'contentHash'> | null;
  contentSalt: string | null;
  shown: readonly ShownRow[] | null;
}

type ArchivedBase = NonNullable<ChainLine['base']>;

/** The chain of a scope in an archive, or a part of it; it follows the files of the scope. */
export interface ArchivedChain {
  type: 'chain';
  scope: ScopeKey;
  head: string | null;
  after: string | null;
  /** The newest revision so far; `null` if there is none. */
  newest: string | null;
  absent: readonly AbsentRevision[];
  isLast: boolean;
}

/**
 * Recomputes the chain of one scope of an archive, whose revisions come file by file, as `verify`
 * does with that of a database. Each revision must have its own hash; at the end of the scope they
 * are put in the order of their ids, and each must follow the one before it, from the start to the
 * head. It holds 80 bytes of each revision in memory.
 */
export class ChainReader {
  readonly scope: ScopeKey;
  readonly path: string;
  isOpen = true;
  readonly #latest: number;
  readonly #pause: Pause;
  readonly #links = new ChainLinks();
  /** The oldest contents of files whose earlier revisions are pruned, by path. */
  readonly #oldest = new Map<string, { version: number; contentHash: string }>();
  /** Rows that redactions changed: their hashes now, by redaction and row. */
  readonly #changed = new Map<string, string>();
  #parts = 0;
  #newest = '';
  #lastAbsent = '';

  /** @param options.latest the last millisecond that an id may have. */
  constructor(
    scope: ScopeKey,
    { path, latest, pause }: { path: string; latest: number; pause: Pause },
  ) {
    this.scope = scope;
    this.path = path;
    this.#latest = latest;
    this.#pause = pause;
  }

  add(revision: Omit<RevisionRecord, 'fileNo'>, path: string): void {
    const { id, version, previousHash, chainHash } = revision;
    if (previousHash === null || chainHash === null) {
      const parts = [previousHash, chainHash, revision.contentSalt, revision.contentSeal];
      if (parts.some((part) => part !== null)) {
        throw invalidArchive(`Version ${version} of ${quote(path)} has a part of its hashes.`);
      }
      this.#link(id, null);
      return;
    }
    const wrong = checkChained(revision);
    if (wrong !== null) {
      throw invalidArchive(`Version ${version} of ${quote(path)} was changed: it ${wrong}.`);
    }
    const { redactionId } = revision;
    if (redactionId !== null) this.#changed.set(`${redactionId} ${id}`, hashRow(revision));
    this.#link(id, { previousHash, chainHash });
  }

  /** Notes the content before the oldest revision of a file. */
  addOldest(path: string, version: number, content: string): void {
    this.#oldest.set(path, { version, contentHash: hashText(content) });
  }

  /** Reads a part of the chain itself; the last one ends the scope. */
  async read(head: ChainHead, lines: readonly ChainLine[]): Promise<ArchivedChain> {
    this.#parts += 1;
    if (!this.isOpen || head.path !== this.path || head.part !== this.#parts) {
      throw invalidArchive(
        `Part ${head.part} of the chain of ${quote(head.path)} is out of order.`,
      );
    }
    const absent = lines.map(({ id, previousHash, rowHash, base, shown = null }) => {
      if (!isUuid7(id) || id <= this.#lastAbsent || toIdMs(id) > this.#latest) {
        throw invalidArchive(`The chain of ${quote(this.path)} has ids that are not in order.`);
      }
      this.#lastAbsent = id;
      const chainHash = linkHash(previousHash, rowHash);
      this.#link(id, { previousHash, chainHash });
      if (shown !== null) this.#checkShown(id, { rowHash, shown });
      const row = { id, rowHash, chainHash, shown };
      if (base === undefined) return { ...row, base: null, contentSalt: null };
      return { ...row, ...this.#toBase({ id, rowHash }, base) };
    });
    if (head.last) await this.#finish(head);
    const { scope } = this;
    const newest = this.#newest === '' ? null : this.#newest;
    return {
      type: 'chain',
      scope,
      head: head.head,
      after: head.after,
      newest,
      absent,
      isLast: head.last,
    };
  }

  #toBase(
    { id, rowHash }: Pick<ChainLine, 'id' | 'rowHash'>,
    { path: physical, version, hash: contentHash, salt: contentSalt }: ArchivedBase,
  ): Pick<AbsentRevision, 'base' | 'contentSalt'> {
    const oldest = this.#oldest.get(physical);
    const isSame = oldest?.version === version && oldest.contentHash === contentHash;
    const path = physical.slice(this.path.length);
    const row = { scope: this.scope, path, id, version, contentHash, contentSalt };
    const hashes = [false, true].map((isLate) => hashBase(row, { isLate }));
    if (isSame && hashes.includes(rowHash)) {
      return { base: { path, version, contentHash }, contentSalt };
    }
    throw invalidArchive(
      `The content before the oldest revision of ${quote(physical)} is not the one that was there when older ones were pruned.`,
    );
  }

  /** Checks the rows that a redaction changed last. */
  #checkShown(id: string, { rowHash, shown }: { rowHash: string; shown: readonly ShownRow[] }) {
    if (hashRedaction(id, shown) !== rowHash) throw this.#broken();
    for (const row of shown) {
      const key = `${id} ${row.id}`;
      if (this.#changed.get(key) === row.rowHash) this.#changed.delete(key);
    }
  }

  #link(id: string, hashes: { previousHash: string; chainHash: string } | null): void {
    if (id > this.#newest) this.#newest = id;
    this.#links.add(id, hashes);
  }

  async #finish({ head, after }: ChainHead): Promise<void> {
    this.isOpen = false;
    if (after !== null && (!isUuid7(after) || toIdMs(after) > this.#latest)) throw this.#broken();
    // Later ids must come after it, also where its revision is pruned.
    if (after !== null && after > this.#newest) this.#newest = after;
    if (this.#changed.size > 0) {
      throw invalidArchive(`A revision of ${quote(this.path)} ${NOT_LISTED}.`);
    }
    let place = chainStart(this.scope, after);
    let last = '';
    for await (const { id, previousHash, chainHash } of this.#links.inOrder(this.#pause)) {
      if (id === last) throw this.#broken();
      last = id;
      if (chainHash === null) {
        if (id > (after ?? '')) throw this.#broken();
        continue;
      }
      if (id <= (after ?? '') || previousHash !== place) throw this.#broken();
      place = chainHash;
    }
    if (place !== (head ?? chainStart(this.scope, after))) throw this.#broken();
  }

  #broken(): MemoryError {
    return invalidArchive(
      `The history of ${quote(this.path)} does not lead to its head: revisions are missing, or were added or changed.`,
    );
  }
}

/** The bytes of a row of {@link ChainLinks}: an id and two hashes. */
const ID_BYTES = 16;
const HASH_BYTES = 32;
const ROW_BYTES = ID_BYTES + 2 * HASH_BYTES;
/** Rows merged between two looks at the time. */
const MERGED_AT_ONCE = 1_024;

/** The ids of revisions with their places in a chain, packed. */
class ChainLinks {
  #rows = Buffer.alloc(64 * ROW_BYTES);
  #count = 0;

  /** Adds a revision; `null` for one from before the chain. */
  add(id: string, hashes: { previousHash: string; chainHash: string } | null): void {
    const at = this.#count * ROW_BYTES;
    if (at === this.#rows.length) this.#rows = Buffer.concat([this.#rows, Buffer.alloc(at)]);
    this.#rows.write(id.replaceAll('-', ''), at, 'hex');
    if (hashes !== null) {
      this.#rows.write(hashes.previousHash, at + ID_BYTES, 'hex');
      this.#rows.write(hashes.chainHash, at + ID_BYTES + HASH_BYTES, 'hex');
    }
    this.#count += 1;
  }

  /** Yields the revisions by ascending id; ids are 32 hex digits. */
  async *inOrder(
    pause: Pause,
  ): AsyncGenerator<{ id: string; previousHash: string; chainHash: string | null }, void> {
    const rows = this.#rows;
    for (const index of await this.#sort(pause)) {
      const at = index * ROW_BYTES;
      const hash = (from: number) => rows.toString('hex', from, from + HASH_BYTES);
      const chainHash = hash(at + ID_BYTES + HASH_BYTES);
      yield {
        id: toUuid(rows.toString('hex', at, at + ID_BYTES)),
        previousHash: hash(at + ID_BYTES),
        chainHash: chainHash === NO_HASH ? null : chainHash,
      };
      await pause();
    }
  }

  /** The numbers of the rows by id: a merge sort that lets others have their turn. */
  async #sort(pause: Pause): Promise<Uint32Array> {
    const count = this.#count;
    let sorted = Uint32Array.from({ length: count }, (_, index) => index);
    let merged = new Uint32Array(count);
    for (let width = 1; width < count; width *= 2) {
      for (let from = 0, to = 0; from < count; from += 2 * width) {
        const middle = Math.min(count, from + width);
        const end = Math.min(count, from + 2 * width);
        let [left, right] = [from, middle];
        while (to < end) {
          const isLeft =
            right === end ||
            (left < middle && this.#compare(sorted[left] as number, sorted[right] as number) <= 0);
          merged[to] = sorted[isLeft ? left++ : right++] as number;
          to += 1;
          if (to % MERGED_AT_ONCE === 0) await pause();
        }
      }
      [sorted, merged] = [merged, sorted];
    }
    return sorted;
  }

  #compare(one: number, other: number): number {
    const [from, to] = [one * ROW_BYTES, other * ROW_BYTES];
    return this.#rows.compare(this.#rows, to, to + ID_BYTES, from, from + ID_BYTES);
  }
}

/** In place of the hashes of a revision from before the chain. */
const NO_HASH = '0'.repeat(2 * HASH_BYTES);

function toUuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
