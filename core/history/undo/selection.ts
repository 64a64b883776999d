import type { RevertSelection } from '../../contracts/admin.ts';
import type { RevisionRecord } from '../../contracts/records.ts';
import type { RevisionFilter, Storage } from '../../contracts/storage.ts';
import { invalidField, MemoryError } from '../../errors.ts';
import { parseUserId, toScope } from '../../files/paths.ts';
import { isUuid } from '../../ids/ids.ts';
import { readRows } from '../../lists/page.ts';
import { createPause } from '../../time/pause.ts';
import { parseTime, parseTimeOrNull } from '../../time/time.ts';
import { revisionNotFound } from '../texts.ts';

/** The most revisions that one request reverts. */
const MAX_REVISIONS = 10_000;

/** The writes that are to be undone, oldest first, and how the audit names them. */
export interface SelectedWrites {
  revisions: RevisionRecord[];
  target: string;
}

/**
 * Reads the writes that a request selects.
 *
 * `{ runId }` selects a dream run's writes, not the reverts of that run. A run writes the memory of
 * one user, and an import keeps run ids: without `userId`, only the memory that the run's own record
 * names is selected.
 */
export async function readSelected(
  storage: Storage,
  selection: RevertSelection,
): Promise<SelectedWrites> {
  const { revisionIds, ...others } = selection;
  if (revisionIds !== undefined) {
    const { runId, toolCallId, actor, since, until, userId } = others;
    const isMixed = [runId, toolCallId, actor, since, until, userId].some(
      (one) => one !== undefined,
    );
    if (isMixed) throw invalidSelection('/revisionIds', 'comes with no other selection');
    return await readList(storage, revisionIds);
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
      'needs userId: several users have writes of this run, and no record says whose it was',
    );
  }
  return { revisions, target };
}

/** The revisions of a list, with the other paths of moves. Throws for one that is not kept. */
export async function readList(
  storage: Pick<Storage, 'revisions'>,
  ids: readonly string[],
): Promise<SelectedWrites> {
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
  if (found.size > MAX_REVISIONS) throw tooMany();
  const revisions = [...found.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  return { revisions, target: ids.length === 1 ? (ids[0] ?? '') : `${ids.length} revisions` };
}

function parseSelection(selection: RevertSelection): { filter: RevisionFilter; target: string } {
  const { runId, toolCallId, actor, since, until, userId } = selection;
  const kinds = [runId, toolCallId, actor].filter((kind) => kind !== undefined);
  if (kinds.length !== 1) {
    throw invalidSelection('', 'needs one of runId, toolCallId, actor and revisionIds');
  }
  if (actor === undefined && [since, until].some((one) => one !== undefined)) {
    throw invalidSelection('', 'takes since and until only with actor');
  }
  const scope = userId === undefined ? null : toScope(parseUserId(userId));
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
  return invalidField(path, message, 'The request');
}
