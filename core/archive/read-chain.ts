import type { RevisionRecord, ScopeKey } from '../contracts/records.ts';
import { chainStart, hashRow, linkHash } from '../history/chain.ts';
import { toIdMs } from '../id-time.ts';
import { isUuid } from '../ids.ts';
import type { ChainHead, ChainLine } from '../schemas/archive.ts';
import { invalidArchive } from './invalid-archive.ts';
import { quote } from './tar.ts';

/** A revision of the chain whose row is not in the archive. */
interface AbsentRevision {
  id: string;
  rowHash: string;
  chainHash: string;
}

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
 * Recomputes the chain of one scope of an archive, whose revisions come file by file. Each revision
 * must have its own hash. That they lead from the start to the head is checked by a sum: each hash
 * between comes once as a revision's own and once as that before another one. Whether they do it
 * in the order of their ids, `verify` tells after the import.
 */
export class ChainReader {
  readonly scope: ScopeKey;
  readonly path: string;
  isOpen = true;
  readonly #latest: number;
  #sum = 0n;
  #parts = 0;
  #newest = '';
  #oldestChained = '';
  #newestUnchained = '';
  #lastAbsent = '';

  /** @param latest the last millisecond that an id may have. */
  constructor(scope: ScopeKey, { path, latest }: { path: string; latest: number }) {
    this.scope = scope;
    this.path = path;
    this.#latest = latest;
  }

  add(revision: Omit<RevisionRecord, 'fileNo'>, path: string): void {
    const { id, version, previousHash, chainHash } = revision;
    if (previousHash === null || chainHash === null) {
      if (previousHash !== null || chainHash !== null || revision.contentSalt !== null) {
        throw invalidArchive(`Version ${version} of ${quote(path)} has a part of its hashes.`);
      }
      if (id > this.#newestUnchained) this.#newestUnchained = id;
      if (id > this.#newest) this.#newest = id;
      return;
    }
    if (linkHash(previousHash, hashRow(revision)) !== chainHash) {
      throw invalidArchive(
        `Version ${version} of ${quote(path)} was changed: its fields do not have the hash that it names.`,
      );
    }
    this.#link(id, { previousHash, chainHash });
  }

  /** Reads a part of the chain itself; the last one ends the scope. */
  read(head: ChainHead, lines: readonly ChainLine[]): ArchivedChain {
    this.#parts += 1;
    if (!this.isOpen || head.path !== this.path || head.part !== this.#parts) {
      throw invalidArchive(
        `Part ${head.part} of the chain of ${quote(head.path)} is out of order.`,
      );
    }
    const absent = lines.map(({ id, previousHash, rowHash }) => {
      if (!isUuid(id) || id <= this.#lastAbsent || toIdMs(id) > this.#latest) {
        throw invalidArchive(`The chain of ${quote(this.path)} has ids that are not in order.`);
      }
      this.#lastAbsent = id;
      const chainHash = linkHash(previousHash, rowHash);
      this.#link(id, { previousHash, chainHash });
      return { id, rowHash, chainHash };
    });
    if (head.last) this.#finish(head);
    const { scope } = this;
    const newest = this.#newest === '' ? null : this.#newest;
    return {
      ...{ type: 'chain', scope, head: head.head, after: head.after, newest, absent },
      isLast: head.last,
    };
  }

  #link(id: string, hashes: { previousHash: string; chainHash: string }): void {
    if (id > this.#newest) this.#newest = id;
    if (this.#oldestChained === '' || id < this.#oldestChained) this.#oldestChained = id;
    this.#sum += toNumber(hashes.chainHash) - toNumber(hashes.previousHash);
  }

  #finish({ head, after }: ChainHead): void {
    this.isOpen = false;
    const isAfterValid = after === null || isUuid(after);
    const isOrdered = this.#oldestChained === '' || this.#oldestChained > (after ?? '');
    const start = chainStart(this.scope, after);
    const isWhole = this.#sum === toNumber(head ?? start) - toNumber(start);
    if (!isAfterValid || !isOrdered || this.#newestUnchained > (after ?? '') || !isWhole) {
      throw invalidArchive(
        `The history of ${quote(this.path)} does not lead to its head: revisions are missing, or were added or changed.`,
      );
    }
  }
}

function toNumber(hash: string): bigint {
  return BigInt(`0x${hash}`);
}
