import type { FileKey, RevisionRecord } from '../../contracts/records.ts';
import { invalidField, MemoryError } from '../../errors.ts';
import { toOwner, toPhysicalPath } from '../../files/paths.ts';
import { isUuid } from '../../ids/ids.ts';
import type { RedactTextRequest } from '../../schemas/revisions.ts';
import type { HistoryParts } from '../history-parts.ts';
import { parseLineRange } from '../line-range.ts';
import { toSelection } from '../text-search.ts';
import { revisionNotFound } from '../texts.ts';
import type { FileSelection } from '../walk-files.ts';
import { findPlaces } from './places.ts';
import { createReplacer, type Replacer } from './replacer.ts';

const CHARACTERS = { least: 4, most: 4_096 } as const;
const REPLACEMENT = '[redacted]';

/** What is redacted where. */
export interface RedactionTarget {
  in: 'file' | 'user' | 'everywhere';
  selection: FileSelection;
  /** One file, at all paths where it is or was; `null` where more than a file is redacted. */
  places: readonly FileKey[] | null;
  /** Physical; `null` where more than a file is redacted. */
  path: string | null;
  userId: string | null;
  spaceId: string | null;
  /** `null` if the lines of the revision are redacted already. */
  text: string | null;
  replacer: Replacer | null;
  /** The revision and its lines that are the text, for the record; `null` where the text was given. */
  lines: string | null;
  /** The version whose lines are the text: it is redacted last, so that the request can be repeated. */
  kept: (FileKey & { version: number }) | null;
}

/** Reads what a request is about. Throws `INVALID_REQUEST` for what is missing or does not fit together. */
export async function toTarget(
  parts: HistoryParts,
  request: RedactTextRequest,
): Promise<RedactionTarget> {
  const { replacement = REPLACEMENT, reason, revisionId, lines, text: given } = request;
  if (!isStorable(replacement))
    throw invalidField('/replacement', 'must be well-formed text', 'replacement');
  if ((given === undefined) === (revisionId === undefined)) {
    throw invalidField('', 'needs text, or revisionId with lines', 'A redaction');
  }
  if ((revisionId === undefined) !== (lines === undefined)) {
    throw invalidField('/lines', 'goes with revisionId', 'lines');
  }
  const revision = revisionId === undefined ? null : await findRevision(parts, revisionId);
  const where = request.in ?? (revision === null ? undefined : 'file');
  if (where === undefined) throw invalidField('/in', 'must be file, user or everywhere', 'in');
  const selection = selectFiles(request, { where, revision });
  const found = revision === null ? null : await readLines(parts, revision, lines ?? '');
  const text = found === null ? (given ?? null) : found;
  const isDone = found !== null && isReplaced(found, { replacement, revision });
  if (text !== null && !isDone) checkText(text);
  const replacer = text === null || isDone ? null : createReplacer(text, replacement);
  if (replacer?.isIn(reason) === true) {
    throw invalidField('/reason', 'must not have the text, because it stays', 'reason');
  }
  const { scope, path } = selection;
  const places =
    scope === null || path === null ? null : await findPlaces(parts.storage, { scope, path });
  return {
    in: where,
    selection,
    places,
    path: scope === null || path === null ? null : toPhysicalPath({ scope, path }),
    ...(scope === null ? { userId: null, spaceId: null } : toOwner(scope)),
    text: isDone ? null : text,
    replacer,
    lines: revision === null ? null : `${revision.id} ${lines ?? ''}`,
    kept: revision !== null && covers({ selection, places }, revision) ? revision : null,
  };
}

async function findRevision({ storage }: HistoryParts, id: string): Promise<RevisionRecord> {
  const revision = isUuid(id) ? await storage.revisions.get(id) : null;
  if (revision === null) throw revisionNotFound(id);
  return revision;
}

/** The files of a request. Throws `INVALID_REQUEST` for a path or owner that is missing, or too much. */
export function selectFiles(
  {
    path,
    userId,
    spaceId,
  }: {
    path?: string | undefined;
    userId?: string | undefined;
    spaceId?: string | undefined;
  },
  { where, revision }: { where: RedactionTarget['in']; revision: RevisionRecord | null },
): FileSelection {
  const forbid = (name: string, value: unknown) => {
    if (value !== undefined) throw invalidField(`/${name}`, `does not go with in: ${where}`, name);
  };
  if (where === 'everywhere') {
    forbid('path', path);
    forbid('userId', userId);
    forbid('spaceId', spaceId);
    return { scope: null, path: null };
  }
  if (where === 'user') {
    forbid('path', path);
    if (userId !== undefined || spaceId !== undefined) return toSelection({ userId, spaceId });
    if (revision === null)
      throw invalidField('/userId', 'or spaceId is needed with in: user', 'userId');
    return { scope: revision.scope, path: null };
  }
  forbid('userId', userId);
  forbid('spaceId', spaceId);
  if (path !== undefined) return toSelection({ path });
  if (revision === null) throw invalidField('/path', 'is needed with in: file', 'path');
  return { scope: revision.scope, path: revision.path };
}

/** Whether a file is one of those that are redacted. */
export function covers(
  { selection: { scope }, places }: Pick<RedactionTarget, 'selection' | 'places'>,
  key: FileKey,
): boolean {
  if (places === null) return (scope ?? key.scope) === key.scope;
  return places.some((place) => place.scope === key.scope && place.path === key.path);
}

/** The lines of the content after a revision. */
async function readLines(
  { textAt }: HistoryParts,
  revision: RevisionRecord,
  lines: string,
): Promise<string> {
  const details = { path: toPhysicalPath(revision), reason: 'no_content' };
  const content =
    revision.existsAfter && !revision.redacted ? await textAt(revision, revision.version) : null;
  if (content === null) {
    const message = `There is no content of ${details.path} after this revision.`;
    throw new MemoryError('REVISION_NOT_REDACTABLE', message, { details });
  }
  const { from, to } = parseLineRange(lines, content);
  return content
    .split('\n')
    .slice(from - 1, to)
    .join('\n')
    .replace(/\r$/, '');
}

/** Whether a redaction has replaced these lines: it was cut off before its end. */
function isReplaced(
  found: string,
  { replacement, revision }: { replacement: string; revision: RevisionRecord | null },
): boolean {
  const isLine = (line: string) => line === replacement || line === '';
  return (revision?.redactionId ?? null) !== null && found.split(/\r?\n/).every(isLine);
}

/** Throws `INVALID_REQUEST` for a text that is too short or long, or that no content can have. */
export function checkText(text: string): void {
  const { least, most } = CHARACTERS;
  if (text.length < least || text.length > most) {
    throw invalidField('/text', `must have ${least} to ${most} characters`, 'The text');
  }
  if (!isStorable(text) || !/\S/.test(text)) {
    throw invalidField('/text', 'must be well-formed text with more than white space', 'The text');
  }
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
