import { CHECKS_TEXT, removeStoredChecks } from '../../checks/check-document.ts';
import type { ScopeKey, SpaceRecord } from '../../contracts/records.ts';
import type { Current, Storage } from '../../contracts/storage.ts';
import { FREEZE_PREFIX, fromFreezeSetting } from '../../files/freeze.ts';
import { MAX_HOLDS, memoryHeld } from '../../files/hold.ts';
import { labelOf, toFilteredScope, toScope } from '../../files/paths.ts';
import { readRows } from '../../lists/page.ts';
import { createPause } from '../../time/pause.ts';
import type { LeftNames } from './left-names.ts';
import { mapTexts, type Replacer } from './replacer.ts';
import { type Begun, REDACTION_PREFIX } from './unfinished.ts';

type Stores = Pick<Storage, 'config' | 'files' | 'holds' | 'keys' | 'mutate'>;

/** What is looked for, and where. */
interface Look {
  /** `null` for everywhere. */
  scope: ScopeKey | null;
  replacer: Replacer;
  dryRun: boolean;
  names: LeftNames;
}

/**
 * Replaces the text in what operators wrote beside memory: reasons of freezes and of other redactions, and
 * descriptions and metadata of spaces. Removes stored checks that have it. Returns how many have it; in a dry run it only counts. Names that have
 * it are noted: of keys, operators, spaces and settings. Throws `MEMORY_HELD` while a restore or an erasure is
 * under way that has it: the work would write it again.
 */
export async function redactNotes(storage: Stores, look: Look): Promise<number> {
  if (look.scope === null) await noteNames(storage, look);
  return (
    (await redactReasons(storage, look)) +
    (await removeChecks(storage, look)) +
    (await redactSpaces(storage, look)) +
    (await countHolds(storage, look))
  );
}

async function noteNames(storage: Stores, { names, replacer }: Look): Promise<void> {
  const { keys } = await storage.keys.look(null);
  for (const { name, createdBy, rules } of keys ?? []) {
    names.note('keys', name);
    names.note('operators', createdBy);
    // Rules are lists of names: the key that has them is the one to change.
    if (replacer.isInJson(rules)) names.add('keys', name);
  }
}

/** The reasons of freezes and of redactions stand in settings; other settings are noted by their names. */
async function redactReasons(storage: Stores, look: Look): Promise<number> {
  const { names, replacer, dryRun } = look;
  const found: string[] = [];
  for (const [key, value] of Object.entries(await storage.config.entries(''))) {
    if (toRedacted({ key, value }, look) !== null) found.push(key);
    if (key.startsWith(FREEZE_PREFIX)) noteTarget(fromFreezeSetting(key, value), names);
    const isNoted =
      key.startsWith(FREEZE_PREFIX) || key.startsWith(REDACTION_PREFIX) || key === CHECKS_TEXT;
    if (isNoted || look.scope !== null) continue;
    names.note('settings', key);
    if (replacer.isInJson(value)) names.add('settings', key);
  }
  if (dryRun || found.length === 0) return found.length;
  const change = (current: Current) =>
    found.flatMap((key) => {
      const value = toRedacted({ key, value: current.setting(key)?.value }, look);
      return value === null ? [] : [{ key, setting: { value } }];
    });
  return await storage.mutate({ scopes: [], files: [], settings: found }, (current) => {
    const settings = change(current);
    return { result: settings.length, writes: 0, changes: { settings } };
  });
}

/** Notes whom a freeze is about. The name stays, or the freeze would stop nobody. */
function noteTarget(freeze: ReturnType<typeof fromFreezeSetting>, names: LeftNames): void {
  const { target } = freeze ?? {};
  if (target === undefined) return;
  if ('userId' in target) names.note('userIds', target.userId);
  if ('spaceId' in target) names.note('spaces', target.spaceId);
  if ('actor' in target) names.note('actors', target.actor);
}

/** A setting with another reason; `null` where it has none, or is about another memory. */
function toRedacted(
  { key, value }: { key: string; value: unknown },
  { scope, replacer }: Look,
): object | null {
  if (typeof value !== 'object' || value === null) return null;
  const { reason } = value as { reason?: unknown };
  if (typeof reason !== 'string' || (scope !== null && scopeOf(key, value) !== scope)) return null;
  const next = replacer.inRecord(reason);
  return next === reason ? null : { ...value, reason: next };
}

/** The memory that a freeze or a redaction is about; `null` for more than one. */
function scopeOf(key: string, value: object): ScopeKey | null {
  if (key.startsWith(REDACTION_PREFIX)) {
    const { userId, spaceId } = value as Partial<Begun>;
    return toFilteredScope({ userId: userId ?? undefined, spaceId: spaceId ?? undefined });
  }
  const target = fromFreezeSetting(key, value)?.target ?? {};
  return 'userId' in target || 'spaceId' in target ? toScope(target) : null;
}

/** Stored checks that have the text are removed: in other words they would check something else. */
async function removeChecks(storage: Stores, { scope, replacer, dryRun }: Look): Promise<number> {
  return await removeStoredChecks(storage, {
    isRemoved: (check, own) => (scope === null || own === scope) && replacer.isInJson(check),
    isIn: (text) => scope === null && replacer.isIn(text),
    dryRun,
  });
}

async function redactSpaces(storage: Stores, look: Look): Promise<number> {
  const { scope, names, replacer, dryRun } = look;
  const pause = createPause();
  let count = 0;
  for await (const space of readRows((page) => storage.files.listSpaces({ scope }, page))) {
    names.note('spaces', space.name);
    if (Object.keys(space.metadata).some(replacer.isIn)) names.add('spaces', labelOf(space.scope));
    if (toRedactedSpace(space, look) === null) continue;
    count += 1;
    if (dryRun) continue;
    const request = { scopes: [space.scope], files: [], spaces: [space.scope] };
    await storage.mutate(request, (current) => {
      const now = current.space(space.scope);
      const next = now === null ? null : toRedactedSpace(now, look);
      return { result: null, writes: 0, changes: next === null ? {} : { spaces: [next] } };
    });
    await pause();
  }
  return count;
}

function toRedactedSpace<Space extends Pick<SpaceRecord, 'description' | 'metadata' | 'version'>>(
  space: Space,
  { replacer }: Look,
): Space | null {
  const { description, metadata, version } = space;
  const next = {
    description: description === null ? null : replacer.inRecord(description),
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([name, text]) => [name, replacer.inRecord(text)]),
    ),
  };
  const isSame =
    next.description === description &&
    Object.entries(metadata).every(([name, text]) => next.metadata[name] === text);
  return isSame ? null : { ...space, ...next, version: version + 1 };
}

async function countHolds(storage: Stores, look: Look): Promise<number> {
  const { scope, replacer, dryRun } = look;
  const holds = (await storage.holds?.list(MAX_HOLDS)) ?? [];
  const found = holds.filter(
    (hold) =>
      (scope === null || hold.scope === scope) &&
      mapTexts(hold.details, replacer.inRecord) !== hold.details,
  );
  const [first] = found;
  if (first !== undefined && !dryRun) throw memoryHeld(first);
  return found.length;
}
