import type { FileRecord, FileState, RevisionRecord } from '../contracts/records.ts';
import { toOwner } from './paths.ts';

/**
 * The lineage of a file of a space: which memory it is, wherever it moves. It is the id of the revision
 * that created it. It ends with the deletion, and comes back with a revert of that.
 *
 * A path that a file has moved away from keeps the lineage in another form, so that it is found in one place
 * alone and yet comes back when the move is reverted.
 */

/** The place of a UUID's version digit. */
const MARK = 14;
const DERIVED = '00000000-0000-8000-8000-';

/** Of a file from before lineages were kept: made of its number, which no other file of the scope has. */
function derivedLineage(fileNo: number): string {
  return `${DERIVED}${fileNo.toString(16).padStart(12, '0')}`;
}

/** The lineage of a file or a revision, in whichever form. */
export function lineageOf({
  lineageId,
  fileNo,
}: Pick<FileRecord | RevisionRecord, 'lineageId' | 'fileNo'>): string {
  return lineageId ?? derivedLineage(fileNo);
}

/** The number of the file that an id is derived from; `null` for another id. */
export function fileNoOfLineage(lineageId: string): number | null {
  return lineageId.startsWith(DERIVED)
    ? Number.parseInt(lineageId.slice(DERIVED.length), 16)
    : null;
}

/** What stays where a file has moved away; the same again gives the lineage back. */
function turnLineage(lineageId: string): string {
  return lineageId.replace(/(?<=^.{14})./, (mark) => (Number.parseInt(mark, 16) ^ 8).toString(16));
}

/** Whether the file of this lineage has moved away from here. */
export function hasMovedAway(lineageId: string): boolean {
  return !['7', '8'].includes(lineageId.charAt(MARK));
}

/** The lineages of the files of one draft. */
export class Lineages {
  readonly #moves: [from: string, to: string][] = [];
  /** Revisions that brought a file back where another one had moved away. */
  readonly #returned = new Set<string>();

  /** The lineage of a file after a change of it, as far as that alone tells; `null` outside of spaces. */
  of(
    before: FileState | null,
    {
      scope,
      id,
      fileNo,
      action,
    }: Pick<FileState, 'scope' | 'fileNo'> & { id: string; action: string },
  ): string | null {
    if (toOwner(scope).spaceId === null) return null;
    if (before === null) return id;
    const own = lineageOf({ lineageId: before.lineageId, fileNo });
    if (before.content !== null) return own;
    if (action !== 'revert') return id;
    if (!hasMovedAway(own)) return own;
    this.#returned.add(id);
    return turnLineage(own);
  }

  /** Notes that the file of one revision moved to that of the other. */
  move(from: string, to: string): void {
    this.#moves.push([from, to]);
  }

  /** Sets the lineages that several changes tell together. */
  settle(files: readonly FileState[], revisions: readonly RevisionRecord[]): void {
    if (this.#moves.length === 0 && this.#returned.size === 0) return;
    const places = new Map<string, Place>();
    for (const revision of revisions) {
      const file = files.find((one) => one.latestRevisionId === revision.id);
      places.set(revision.id, { revision, file });
    }
    for (const [from, to] of this.#moves) {
      const [left, arrived] = [places.get(from), places.get(to)];
      if (left === undefined || arrived === undefined) continue;
      if (left.revision.lineageId === null || left.revision.scope !== arrived.revision.scope)
        continue;
      setLineage(arrived, left.revision.lineageId);
      setLineage(left, turnLineage(left.revision.lineageId));
    }
    for (const id of this.#returned) {
      const returned = places.get(id);
      if (returned?.revision.lineageId !== undefined)
        settleReturned(returned, [...places.values()]);
    }
  }
}

interface Place {
  revision: RevisionRecord;
  /** The file, if this is its last revision of the draft. */
  file: FileState | undefined;
}

/** The lineage comes back only if it ends where it had moved to. */
function settleReturned(returned: Place, places: readonly Place[]): void {
  const { scope, lineageId, id } = returned.revision;
  const left = places.find(
    ({ revision }) =>
      revision.scope === scope && revision.lineageId === lineageId && !revision.existsAfter,
  );
  if (left === undefined) setLineage(returned, id);
  else setLineage(left, turnLineage(lineageId as string));
}

function setLineage({ revision, file }: Place, lineageId: string): void {
  revision.lineageId = lineageId;
  if (file !== undefined) file.lineageId = lineageId;
}
