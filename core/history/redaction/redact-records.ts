import type { ErasureStore } from '../../contracts/erasure.ts';
import type { AuditRecord, ScopeKey } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { listScopes, requireInspection } from '../../archive/scopes.ts';
import {
  belowUser,
  isUserPath,
  labelOf,
  ownerOf,
  SHARED,
  toOwner,
  toPhysicalPath,
  toUserId,
} from '../../files/paths.ts';
import { readRows } from '../../lists/page.ts';
import type { RedactTextAnswer } from '../../schemas/revisions.ts';
import type { LeftNames } from './left-names.ts';
import { redactNotes } from './redact-notes.ts';
import { mapTexts, type Replacer } from './replacer.ts';
import type { RedactionTarget } from './target.ts';
import type { Begun } from './unfinished.ts';

/** Rows of the audit that one transaction reads. */
const AUDIT_ROWS = 200;

/**
 * Replaces the text in records beside files: events, kept answers and runs of the selected memory, or of
 * all for shared memory and spaces, which many users may have written; in audit rows that are about it; and in what
 * operators wrote beside it. Returns how many of each have it; in a dry run it only counts. Notes the names
 * that have it.
 */
export async function redactRecords(
  storage: Storage,
  erasure: ErasureStore,
  {
    target: { selection, places },
    replacer,
    begun,
    left: names,
  }: {
    target: RedactionTarget;
    replacer: Replacer | null;
    begun: Begun | null;
    left: LeftNames;
  },
): Promise<Omit<RedactTextAnswer['records'], 'reasons'>> {
  const counts = { runs: 0, events: 0, answers: 0, audit: 0, notes: 0 };
  if (replacer === null) return counts;
  const dryRun = begun === null;
  // A file may have been moved from one scope to another.
  const own = new Set((places ?? [selection]).map(({ scope }) => scope));
  for (const scope of own) {
    counts.notes += await redactNotes(storage, { scope, replacer, dryRun, names });
  }
  const scopes = [...own].filter((scope) => scope !== null);
  const isOfUsers = scopes.every((scope) => toUserId(scope) !== null) && !own.has(null);
  for await (const one of isOfUsers ? scopes : listScopes(requireInspection(storage))) {
    const { userId, spaceId } = toOwner(one);
    names.note('userIds', userId);
    names.note('spaces', spaceId);
    const changed = await storage.log.changeTexts(one, {
      inText: replacer.inRecord,
      inJson(json) {
        for (const { kind, name } of replacer.namesIn(json)) {
          names.add(kind, kind === 'paths' ? toKnownPath(one, name) : name);
        }
        return replacer.inJson(json);
      },
      dryRun,
      onName: (kind, name) =>
        names.note(kind, kind === 'paths' ? toPhysicalPath({ scope: one, path: name }) : name),
    });
    counts.events += changed.events;
    counts.answers += changed.answers;
    counts.runs += changed.runs;
  }
  const change = (row: AuditRecord): AuditRecord | null => {
    if (![...own].some((scope) => isAbout(row, scope))) return null;
    names.note('audit', row.target);
    names.note('operators', row.operator);
    const details = mapTexts(row.details, replacer.inRecord) as AuditRecord['details'];
    // Names in it stay, as those of a key's users.
    if (replacer.isInJson(details)) names.add('audit', row.target);
    return details === row.details ? null : { ...row, details };
  };
  if (dryRun) {
    for await (const row of readRows((page) => storage.audit.list({}, page))) {
      if (change(row) !== null) counts.audit += 1;
    }
    return counts;
  }
  for (let after: string | null = null; ;) {
    const page: Awaited<ReturnType<ErasureStore['changeAudit']>> = await erasure.changeAudit(
      { after, limit: AUDIT_ROWS },
      change,
    );
    counts.audit += page.changed;
    if (page.next === null) return counts;
    after = page.next;
  }
}

/** A path as operators know it, of one that a record has as tools see it. */
function toKnownPath(scope: ScopeKey, path: string): string {
  return isUserPath(path) ? toPhysicalPath({ scope, path: belowUser(path) }) : path;
}

/** Whether an audit row names the selected memory. */
function isAbout({ target, details }: AuditRecord, scope: ScopeKey | null): boolean {
  if (scope === null) return true;
  const all = JSON.stringify([target, details]);
  if (all.includes(labelOf(scope))) return true;
  return scope !== SHARED && all.includes(JSON.stringify(ownerOf(scope)));
}
