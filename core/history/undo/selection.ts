import type { RevertSelection } from '../../contracts/admin.ts';
import type { RevisionRecord } from '../../contracts/records.ts';
import type { RevisionFilter, Storage } from '../../contracts/storage.ts';
import { invalidField, MemoryError } from '../../errors.ts';
import { toFilteredScope } from '../../files/paths.ts';
import { isUuid } from '../../ids/ids.ts';
import { readRows } from '../../lists/page.ts';
import { createPause } from '../../time/pause.ts';
import { parseTime, parseTimeOrNull } from '../../time/time.ts';
import { takeStart } from '../../encoding/take-text.ts';
import type { HistoryParts } from '../history-parts.ts';
import { revisionNotFound } from '../texts.ts';
import { findSiblings, findTied } from './carried.ts';

/** The most revisions that one request reverts. */
const MAX_REVISIONS = 10_000;

/** The writes that are to be undone, oldest first, and how the audit names them. */
export interface SelectedWrites {
  revisions: RevisionRecord[];
  /** Other writes of the same calls, in memory that the selection leaves out. */
  siblings?: readonly RevisionRecord[];
  target: string;
}

/** Lines of a version of a file; without a version, of the newest. */
export interface LineSelection {
  path: string;
  lines: string;
  version?: number | undefined;
}

/** The present lines that have a text, a page of files at a time. */
export interface TextSelection {
  text: string;
  in: 'file' | 'user' | 'everywhere';
  userId?: string | undefined;
  spaceId?: string | undefined;
  path?: string | undefined;
  cursor?: string | undefined;
}

/** What a request selects, by its kind. Throws `INVALID_REQUEST` for what does not go together. */
export type Selected =
  | { kind: 'lines'; selection: LineSelection }
  | { kind: 'text'; selection: TextSelection }
  | { kind: 'writes'; selection: RevertSelection };

/** The fields that each kind of selection may have, besides how it is carried out. */
const FIELDS: Readonly<Record<Selected['kind'], readonly (keyof RevertSelection)[]>> = {
  lines: ['path', 'lines', 'version'],
  text: ['text', 'in', 'userId', 'spaceId', 'path', 'cursor'],
  writes: ['runId', 'toolCallId', 'actor', 'since', 'until', 'userId', 'spaceId', 'revisionIds'],
};

/** Tells what a request selects. */
export function toSelected(request: RevertSelection): Selected {
  const { path, lines, version, text, in: where, userId, spaceId, cursor } = request;
  const kind = lines !== undefined ? 'lines' : text !== undefined ? 'text' : 'writes';
  const others = Object.values(FIELDS)
    .flat()
    .filter((field) => !FIELDS[kind].includes(field));
  const wrong = others.find((field) => request[field] !== undefined);
  if (wrong !== undefined) {
    const what = { lines: 'does not go with lines', text: 'does not go with text' };
    const needs = wrong === 'path' || wrong === 'version' ? 'goes with lines' : 'goes with text';
    throw invalidSelection(`/${wrong}`, kind === 'writes' ? needs : what[kind]);
  }
  if (lines !== undefined) {
    if (path === undefined) throw invalidSelection('/path', 'is needed with lines');
    return { kind: 'lines', selection: { path, lines, version } };
  }
  if (text === undefined) return { kind: 'writes', selection: request };
  if (where === undefined) throw invalidSelection('/in', 'must be file, user or everywhere');
  if (request.resolutions !== undefined) {
    throw invalidSelection('/resolutions', 'does not go with text: decide by lines');
  }
  return { kind: 'text', selection: { text, in: where, userId, spaceId, path, cursor } };
}

/**
 * Reads the writes that a request selects.
 *
 * `{ runId }` selects a dream run's writes, not the reverts of that run. A run writes the memory of
 * one user or space, and an import keeps run ids: without `userId` and `spaceId`, only the memory that the
 * run's own record names is selected.
 */
export async function readSelected(
  parts: Pick<HistoryParts, 'storage' | 'textsOf'>,
  selection: RevertSelection,
): Promise<SelectedWrites> {
  const { storage } = parts;
  const { revisionIds, ...others } = selection;
  if (revisionIds !== undefined) {
    const { runId, toolCallId, actor, since, until, userId, spaceId } = others;
    const isMixed = [runId, toolCallId, actor, since, until, userId, spaceId].some(
      (one) => one !== undefined,
    );
    if (isMixed) throw invalidSelection('/revisionIds', 'comes with no other selection');
    return await readList(parts, revisionIds);
  }
  const { filter, target } = await withRunScope(storage, parseSelection(selection));
  const revisions: RevisionRecord[] = [];
  for await (const revision of readRows((page) => storage.revisions.list(filter, page))) {
    if (revision.action === 'revert' && filter.runId) continue;
    revisions.push(revision);
    if (revisions.length > MAX_REVISIONS) throw tooMany();
  }
  const scopes = new Set(revisions.map(({ scope }) => scope));
  if (typeof filter.runId === 'string' && scopes.size > 1) {
    throw invalidSelection(
      '/userId',
      'or spaceId is needed: several memories have writes of this run, and no record says whose it was',
    );
  }
  // A run or a call by itself has all of its writes. A limit to one memory, or an actor, may have left out some.
  const isWhole = filter.scope === null && filter.actor === undefined;
  const siblings = isWhole ? [] : await findSiblings(parts, revisions);
  return { revisions, siblings, target };
}

/**
 * Throws `RUN_NOT_FOUND` or `TRACE_NOT_FOUND` for a run or a tool call of which nothing is known: no write,
 * no record and no event. One that wrote nothing is known.
 */
export async function checkKnown(
  { revisions, runs, log }: Pick<Storage, 'revisions' | 'runs' | 'log'>,
  { runId, toolCallId }: Pick<RevertSelection, 'runId' | 'toolCallId'>,
): Promise<void> {
  const hasWritten = async (filter: RevisionFilter) => {
    const page = { limit: 1, order: 'desc', after: null } as const;
    return (await revisions.list(filter, page)).items.length > 0;
  };
  if (runId !== undefined) {
    if ((await hasWritten({ runId })) || ((await runs?.find(runId)) ?? null) !== null) return;
    throw new MemoryError('RUN_NOT_FOUND', undefined, { details: { id: takeStart(runId, 64) } });
  }
  if (toolCallId === undefined || (await hasWritten({ toolCallId }))) return;
  if (isUuid(toolCallId) && (await log.eventOfToolCall(toolCallId)) !== null) return;
  const id = takeStart(toolCallId, 64);
  const message = `There is no tool call ${id}, or no trace and no write of it is kept.`;
  throw new MemoryError('TRACE_NOT_FOUND', message, { details: { toolCallId: id } });
}

/**
 * The revisions of a list, with the other paths of moves, and with what the same calls wrote to other files
 * that they carried lines from or to. Throws for one that is not kept.
 */
export async function readList(
  parts: Pick<HistoryParts, 'storage' | 'textsOf'>,
  ids: readonly string[],
): Promise<SelectedWrites> {
  const { storage } = parts;
  const found = new Map<string, RevisionRecord>();
  const pause = createPause();
  for (const id of ids) {
    if (found.has(id)) throw invalidSelection('/revisionIds', `has ${id} twice`);
    const revision = isUuid(id) ? await storage.revisions.get(id) : null;
    if (revision === null) throw revisionNotFound(id);
    found.set(revision.id, revision);
    await pause();
  }
  // To revert one path of a move alone would lose the content that was moved.
  for (const { peerId } of [...found.values()]) {
    if (peerId === null || found.has(peerId)) continue;
    const peer = await storage.revisions.get(peerId);
    if (peer === null) throw revisionNotFound(peerId);
    found.set(peer.id, peer);
  }
  for (const tied of await findTied(parts, [...found.values()])) found.set(tied.id, tied);
  if (found.size > MAX_REVISIONS) throw tooMany();
  const revisions = [...found.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  return { revisions, target: ids.length === 1 ? (ids[0] ?? '') : `${ids.length} revisions` };
}

function parseSelection(selection: RevertSelection): { filter: RevisionFilter; target: string } {
  const { runId, toolCallId, actor, since, until } = selection;
  const kinds = [runId, toolCallId, actor].filter((kind) => kind !== undefined);
  if (kinds.length !== 1) {
    throw invalidSelection(
      '',
      'needs one of runId, toolCallId, actor, revisionIds, lines and text',
    );
  }
  if (actor === undefined && [since, until].some((one) => one !== undefined)) {
    throw invalidSelection('', 'takes since and until only with actor');
  }
  const scope = toFilteredScope(selection);
  if (runId !== undefined) return { filter: { scope, runId }, target: `dream run ${runId}` };
  if (toolCallId !== undefined) {
    return { filter: { scope, toolCallId }, target: `tool call ${toolCallId}` };
  }
  if (since === undefined) throw invalidSelection('/since', 'is required with actor');
  const filter = {
    actor: actor ?? null,
    since: parseTime(since, 'since'),
    until: parseTimeOrNull(until, 'until'),
    scope,
  };
  const span = `since ${since}${until === undefined ? '' : ` until ${until}`}`;
  return { filter, target: `what ${actor} wrote ${span}` };
}

/** Adds the memory that a run's own record names, where the selection names none. */
async function withRunScope(
  { runs }: Pick<Storage, 'runs'>,
  selection: ReturnType<typeof parseSelection>,
): Promise<ReturnType<typeof parseSelection>> {
  const { filter } = selection;
  if (typeof filter.runId !== 'string' || filter.scope !== null) return selection;
  const run = (await runs?.find(filter.runId)) ?? null;
  return run === null ? selection : { ...selection, filter: { ...filter, scope: run.scope } };
}

function tooMany(): MemoryError {
  const message = `More than ${MAX_REVISIONS} revisions are selected: narrow the time or the user.`;
  return new MemoryError('WORK_LIMIT_EXCEEDED', message, {
    details: { limit: 'revisions', max: MAX_REVISIONS },
  });
}

function invalidSelection(path: string, message: string): MemoryError {
  return invalidField(path, message, path === '' ? 'The request' : path.slice(1));
}
