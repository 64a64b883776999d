import type { InspectionStore } from '../contracts/inspection.ts';
import type { ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { parseIdPrefix } from '../access/prefix.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { ownerOf, scopesFrom, SHARED, toFilteredScope } from '../files/paths.ts';
import { assertGoesOn } from '../lists/page.ts';

/** Rows of a page. */
const ROWS_READ = 500;

/** The list of deleted files and of all scopes, which drivers may lack. */
export function requireInspection(storage: Storage): InspectionStore {
  if (storage.inspection !== undefined) return storage.inspection;
  throw new MemoryError(
    'INVALID_REQUEST',
    `A ${storage.name} storage cannot be exported or imported: its driver has no inspection store.`,
  );
}

/** All files of a scope by path, deleted ones too. */
export async function* listScopeFiles(
  inspection: InspectionStore,
  scope: ScopeKey,
): AsyncGenerator<Awaited<ReturnType<InspectionStore['files']>>[number], void> {
  for (let after: string | null = null; ;) {
    const page = await inspection.files(scope, { after, limit: ROWS_READ });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    assertGoesOn(after, last.path);
    after = last.path;
  }
}

/** Which memory: of one scope, of the users and spaces whose ids start alike, or all (both `null`). */
export interface ScopeSelection {
  scope: ScopeKey | null;
  idPrefix: string | null;
}

/**
 * The scopes that a request is about. Throws `INVALID_REQUEST` for more than one of `userId`, `spaceId`
 * and `prefix`, and for a prefix of another form.
 */
export function toScopeSelection({
  prefix,
  ...owner
}: {
  userId?: string | null | undefined;
  spaceId?: string | null | undefined;
  prefix?: string | null | undefined;
}): ScopeSelection {
  const scope = toFilteredScope(owner);
  if (prefix === undefined || prefix === null) return { scope, idPrefix: null };
  if (scope === null) return { scope, idPrefix: parseIdPrefix(prefix) };
  throw invalidField('/prefix', 'must not come with userId or spaceId', 'prefix');
}

/** Whether a selection has a scope. */
export function isSelected({ scope, idPrefix }: ScopeSelection, one: ScopeKey): boolean {
  if (idPrefix !== null) return one !== SHARED && ownerOf(one).startsWith(idPrefix);
  return scope === null || scope === one;
}

/** The scopes of a selection, ascending. */
export async function* listScopes(
  inspection: InspectionStore,
  { scope, idPrefix }: ScopeSelection = { scope: null, idPrefix: null },
): AsyncGenerator<ScopeKey, void> {
  if (scope !== null) return yield scope;
  if (idPrefix === null) return yield* scopesAfter(inspection, null);
  for (const owners of ['spaces', 'users'] as const) {
    const { from, to } = scopesFrom(owners, idPrefix) as { from: ScopeKey; to: string };
    if ((await inspection.scope(from)) !== null) yield from;
    for await (const each of scopesAfter(inspection, from)) {
      if (each >= to) break;
      yield each;
    }
  }
}

async function* scopesAfter(
  inspection: InspectionStore,
  first: ScopeKey | null,
): AsyncGenerator<ScopeKey, void> {
  for (let after = first; ;) {
    const page = await inspection.scopes(after, ROWS_READ);
    for (const { scope } of page) yield scope;
    const last = page.at(-1);
    if (last === undefined) return;
    assertGoesOn(after, last.scope);
    after = last.scope;
  }
}
