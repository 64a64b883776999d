import type { AuditCaller } from '../contracts/plugin.ts';
import type { ScopeKey, ScopeState, SpaceListing, SpaceRecord } from '../contracts/records.ts';
import type { Current, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { memoryHeld } from '../files/hold.ts';
import { labelOf, ownerOf, parseSpaceId, toScope } from '../files/paths.ts';
import type { IdSource } from '../ids/ids.ts';
import { newSpace } from './spaces.ts';
import { answerList } from '../lists/page.ts';
import type { ListAnswer } from '../schemas/shapes.ts';
import type { AdminSpace, SpaceListQuery, SpaceRequest, SpaceSettings } from '../schemas/spaces.ts';
import { toAuditRecord, withLastChange } from '../telemetry/audit.ts';
import { toTime, toTimeOrNull } from '../time/time.ts';

/** What operators say of spaces. */
export interface Spaces {
  list(query: SpaceListQuery): Promise<ListAnswer<AdminSpace>>;
  /** Throws `SPACE_NOT_FOUND` for a space that was neither created nor written. */
  get(spaceId: unknown): Promise<AdminSpace>;
  /** Throws `VERSION_CONFLICT` for a space that exists. */
  create(request: SpaceRequest, caller: AuditCaller): Promise<AdminSpace>;
  /** Changes what is given. With `ifVersion` only settings of that version. */
  change(
    spaceId: unknown,
    settings: SpaceSettings & { ifVersion?: number | undefined },
    caller: AuditCaller,
  ): Promise<AdminSpace>;
  /** Makes a space read-only, or writable again. Only erasing and redacting go on in it. */
  archive(
    spaceId: unknown,
    options: { archived?: boolean | undefined },
    caller: AuditCaller,
  ): Promise<AdminSpace>;
}

interface SpaceDependencies {
  storage: Pick<Storage, 'files' | 'mutate' | 'audit'>;
  ids: IdSource;
  now: () => number;
}

/** The settings of a space, with those that stand in the row of its scope. */
interface WholeSpace {
  record: SpaceRecord;
  state: Pick<ScopeState, 'archivedAt' | 'quota'>;
}

/** What becomes of the settings of a space; `null` for one that does not exist. */
type Decide = (space: WholeSpace | null) => {
  next: WholeSpace;
  details: Record<string, unknown>;
};

/** The audit actions that change the settings of a space. */
const CHANGES = ['spaces.create', 'spaces.change', 'spaces.archive'];

/** Creates the settings of spaces. Each change is a transaction over the space's scope, with its audit row. */
export function createSpaces({ storage, ids, now }: SpaceDependencies): Spaces {
  async function find(scope: ScopeKey): Promise<AdminSpace> {
    const page = { limit: 1, order: 'asc', after: null } as const;
    const [listing] = (await storage.files.listSpaces({ scope }, page)).items;
    if (listing === undefined) throw spaceNotFound(scope);
    return toAdminSpace(listing);
  }

  async function write(
    scope: ScopeKey,
    { action, caller }: { action: string; caller: AuditCaller },
    decide: Decide,
  ): Promise<AdminSpace> {
    await storage.mutate({ scopes: [scope], files: [], spaces: [scope] }, (current) => {
      const state = checkFree(current, scope);
      const record = current.space(scope);
      const { next, details } = decide(record === null ? null : { record, state });
      const audit = { action, target: labelOf(scope), details, ...caller };
      return {
        result: null,
        writes: 0,
        changes: {
          scopes: [{ ...state, ...next.state, version: state.version + 1 }],
          spaces: [next.record],
          audit: [toAuditRecord(ids, audit)],
        },
      };
    });
    return await find(scope);
  }

  return {
    list: (query) =>
      answerList(query, {
        list: 'spaces',
        sort: 'spaceId',
        defaultOrder: 'asc',
        filters: { q: query.q },
        read: (page) => storage.files.listSpaces({ contains: query.q ?? null }, page),
        toItem: toAdminSpace,
      }),

    get: (id) => find(scopeOf(id)),

    create({ id, ...settings }, caller) {
      const scope = scopeOf(id);
      return write(scope, { action: 'spaces.create', caller }, (space) => {
        if (space !== null) {
          throw new MemoryError('VERSION_CONFLICT', `The space ${id} exists already.`, {
            details: { spaceId: id, expected: 0, actual: space.record.version },
          });
        }
        const blank = { record: newSpace(scope, now()), state: { archivedAt: null, quota: null } };
        return { next: withSettings(blank, settings), details: settings };
      });
    },

    change(id, { ifVersion, ...settings }, caller) {
      const scope = scopeOf(id);
      const decide: Decide = (space) => {
        if (space === null) throw spaceNotFound(scope);
        const { version } = space.record;
        if (ifVersion !== undefined && ifVersion !== version) {
          const message = `The space is at version ${version}, not ${ifVersion}.`;
          throw new MemoryError('VERSION_CONFLICT', message, {
            details: { spaceId: ownerOf(scope), expected: ifVersion, actual: version },
          });
        }
        const next = withSettings(space, settings);
        return { next: withVersion(next, version + 1, now()), details: settings };
      };
      return withLastChange(storage.audit, { actions: CHANGES, target: labelOf(scope) }, () =>
        write(scope, { action: 'spaces.change', caller }, decide),
      );
    },

    archive(id, { archived = true }, caller) {
      const scope = scopeOf(id);
      return write(scope, { action: 'spaces.archive', caller }, (space) => {
        if (space === null) throw spaceNotFound(scope);
        const archivedAt = archived ? (space.state.archivedAt ?? now()) : null;
        const next = { ...space, state: { ...space.state, archivedAt } };
        const version = space.record.version + 1;
        return { next: withVersion(next, version, now()), details: { archived } };
      });
    },
  };
}

/** The scope of a space whose id came in the field `id`. */
function scopeOf(id: unknown): ScopeKey {
  return toScope({ spaceId: parseSpaceId(id, 'id') });
}

function withSettings({ record, state }: WholeSpace, settings: SpaceSettings): WholeSpace {
  const { quota = state.quota, ...others } = settings;
  const given = Object.fromEntries(
    Object.entries(others).filter(([, value]) => value !== undefined),
  );
  return { record: { ...record, ...given }, state: { ...state, quota } };
}

function withVersion(
  { record, state }: WholeSpace,
  version: number,
  updatedAt: number,
): WholeSpace {
  return { record: { ...record, version, updatedAt }, state };
}

/** Throws `MEMORY_HELD` while the space is being erased or restored. */
function checkFree(current: Current, scope: ScopeKey): ScopeState {
  const hold = current.hold(scope);
  if (hold !== null) throw memoryHeld(hold);
  return current.scope(scope);
}

/** The error of a space that was neither created nor written. */
export function spaceNotFound(scope: ScopeKey): MemoryError {
  const spaceId = ownerOf(scope);
  return new MemoryError('SPACE_NOT_FOUND', `There is no space ${spaceId}.`, {
    details: { spaceId },
  });
}

/** A space as its list shows it. */
export function toAdminSpace({ scope, ...space }: SpaceListing): AdminSpace {
  return {
    ...space,
    spaceId: ownerOf(scope),
    createdAt: toTime(space.createdAt),
    updatedAt: toTime(space.updatedAt ?? space.createdAt),
    archivedAt: toTimeOrNull(space.archivedAt),
    lastReadAt: toTimeOrNull(space.lastReadAt),
    lastShownAt: toTimeOrNull(space.lastShownAt),
    lastWriteAt: toTimeOrNull(space.lastWriteAt),
  };
}
