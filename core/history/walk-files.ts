import type { FileKey, FileState, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { requireInspection } from '../archive/scopes.ts';
import { readByKey } from '../lists/page.ts';

const ROWS_READ = 500;

/** Which files are gone through. */
export interface FileSelection {
  /** `null` for all scopes. */
  scope: ScopeKey | null;
  /** One file of the scope; `null` for all. */
  path: string | null;
}

/**
 * Goes through files with their contents by scope and path, deleted ones too. `from` is the file to go
 * on with, if it is still there.
 */
export async function* walkFiles(
  storage: Storage,
  { scope, path }: FileSelection,
  from: FileKey | null = null,
): AsyncGenerator<FileState, void> {
  const inspection = requireInspection(storage);

  async function* walkScope(one: ScopeKey, first: string | null): AsyncGenerator<FileState, void> {
    const found = first === null ? null : await storage.files.get({ scope: one, path: first });
    if (found !== null) yield found;
    if (path !== null) return;
    const files = readByKey(
      (after: string | null) => inspection.files(one, { after, limit: ROWS_READ }),
      { keyOf: (file) => file.path, after: first },
    );
    for await (const file of files) {
      const state = await storage.files.get(file);
      if (state !== null) yield state;
    }
  }

  if (scope !== null) {
    yield* walkScope(scope, from?.path ?? path);
    return;
  }
  if (from !== null) yield* walkScope(from.scope, from.path);
  const scopes = readByKey((after: ScopeKey | null) => inspection.scopes(after, ROWS_READ), {
    keyOf: (state) => state.scope,
    after: from?.scope ?? null,
  });
  for await (const state of scopes) yield* walkScope(state.scope, null);
}
