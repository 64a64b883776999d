import type { HygieneFinding } from '../../contracts/admin.ts';
import type { AccessRecord, EventRecord, ScopeKey } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import type { Revisions } from '../../history/revisions.ts';
import { splitLines } from '../../files/line-ends.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import { parseLines } from '../shown-lines.ts';

/** The span of a call that was a request to forget. */
export const FORGET_SPAN = 'forget';

/** Calls of a user that are looked at, requests among them, and rows of one request. */
const LIMITS = { calls: 500, requests: 50, rows: 20 } as const;

/** What the findings are read from. */
export interface ForgetDependencies {
  storage: Storage;
  revisions: Pick<Revisions, 'contents' | 'textAt'>;
}

/**
 * Finds requests to forget whose lines are still somewhere: in older revisions of a file that they were
 * taken from, or in the file itself where they could not be taken away. A finding names the call,
 * revisions and lines, and has none of the text. It ends when no revision has the lines any more.
 */
export async function findForgetRequests(
  { storage, revisions }: ForgetDependencies,
  scope: ScopeKey,
  { since, until }: { since: number; until: number },
): Promise<HygieneFinding[]> {
  if (storage.observations === undefined) return [];
  const { items } = await storage.observations.listEvents(
    { scope, tool: 'memory_remember', kind: 'tool', since, until },
    { limit: LIMITS.calls, order: 'desc', after: null },
  );
  const requests = items
    .filter(({ spans }) => spans.some(({ name }) => name === FORGET_SPAN))
    .slice(0, LIMITS.requests);
  const findings: HygieneFinding[] = [];
  for (const request of requests) {
    const removed = await findRemoved({ storage, revisions }, scope, request);
    const standing = await findStanding({ storage, revisions }, scope, request);
    findings.push(...[removed, standing].filter((one) => one !== null));
  }
  return findings;
}

const PAGE = { limit: LIMITS.rows, order: 'asc', after: null } as const;

/** What a request took away, as far as history still has it. */
async function findRemoved(
  { storage, revisions }: ForgetDependencies,
  scope: ScopeKey,
  { toolCallId }: EventRecord,
): Promise<HygieneFinding | null> {
  const made = await storage.revisions.list({ scope, toolCallId }, PAGE);
  const kept: { id: string; path: string; lines: number[] }[] = [];
  for (const { id, path } of made.items) {
    const contents = await revisions.contents(id);
    const lines = contents === null ? [] : listRemoved(contents.before, contents.after);
    if (lines.length > 0) kept.push({ id, path: toPhysicalPath({ scope, path }), lines });
  }
  if (kept.length === 0) return null;
  const count = kept.reduce((sum, { lines }) => sum + lines.length, 0);
  return {
    kind: 'forget_requested',
    severity: 'medium',
    message: `${toLines(count)} taken away on request. Older revisions still have ${count === 1 ? 'it' : 'them'}.`,
    places: kept.map(({ path }) => ({ path, lines: [] })),
    mend: 'Redact the older revisions that have the lines, if they must go from history too.',
    request: { toolCallId, revisions: kept.map(({ id, lines }) => ({ id, lines })) },
  };
}

/** Lines of the version before that the new one has not. */
function listRemoved(before: string | null, after: string | null): number[] {
  const left = new Map<string, number>();
  for (const line of splitLines(after ?? '')) left.set(line, (left.get(line) ?? 0) + 1);
  return splitLines(before ?? '').flatMap((line, at) => {
    const count = left.get(line) ?? 0;
    if (count > 0) left.set(line, count - 1);
    return count > 0 || line.trim() === '' ? [] : [at + 1];
  });
}

/** What a request named and could not take away, as far as it stands. */
async function findStanding(
  { storage, revisions }: ForgetDependencies,
  scope: ScopeKey,
  { toolCallId }: EventRecord,
): Promise<HygieneFinding | null> {
  const filter = { scope, toolCallId, actions: ['write'], outcome: 'error' } as const;
  const rows = await storage.log.listAccess(filter, PAGE);
  const places: HygieneFinding['places'] = [];
  for (const row of rows.items) {
    const lines = await findLines({ storage, revisions }, row);
    if (lines.length > 0) places.push({ path: toPhysicalPath(row), lines });
  }
  if (places.length === 0) return null;
  const count = places.reduce((sum, { lines }) => sum + lines.length, 0);
  return {
    kind: 'forget_requested',
    severity: 'high',
    message: `${count === 1 ? 'A line stands' : `${count} lines stand`} that ${count === 1 ? 'was' : 'were'} to be forgotten.`,
    places,
    mend: 'Read the lines and remove what was meant. The call says why it was refused.',
    request: { toolCallId, revisions: [] },
  };
}

/** Where the lines of a row stand now. */
async function findLines(
  { storage, revisions }: ForgetDependencies,
  { scope, path, version, lines }: AccessRecord,
): Promise<number[]> {
  const file = await storage.files.read({ scope, path });
  const text = version === null ? null : await revisions.textAt({ scope, path }, version);
  if (file === null || text === null) return [];
  const was = splitLines(text);
  const named = (parseLines(lines) ?? []).flatMap(({ startLine, endLine }) =>
    was.slice(startLine - 1, endLine),
  );
  return splitLines(file.content).flatMap((line, at) => (named.includes(line) ? [at + 1] : []));
}

function toLines(count: number): string {
  return count === 1 ? 'A line was' : `${count} lines were`;
}
