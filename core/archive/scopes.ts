import type { InspectionStore } from '../contracts/inspection.ts';
import type { ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
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

/** All scopes, ascending. */
export async function* listScopes(inspection: InspectionStore): AsyncGenerator<ScopeKey, void> {
  for (let after: ScopeKey | null = null; ;) {
    const page = await inspection.scopes(after, ROWS_READ);
    for (const { scope } of page) yield scope;
    const last = page.at(-1);
    if (last === undefined) return;
    assertGoesOn(after, last.scope);
    after = last.scope;
  }
}
