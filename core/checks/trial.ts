import { hashText } from '../files/content.ts';
import { toOwner } from '../files/paths.ts';
import type { CheckTrial } from '../contracts/plugin.ts';
import type { ScopeKey } from '../contracts/records.ts';
import type { IndexStore, Storage } from '../contracts/storage.ts';
import type { ContextService, FindService } from '../contracts/tool.ts';
import type { ScopeVectors } from '../contracts/vectors.ts';
import { type Check, scopeOf } from './check.ts';
import { type CheckedMemory, filesNow } from './checked-memory.ts';
import { type DraftFile, draftIndex } from './draft-index.ts';
import { runChecks } from './run-checks.ts';

/** What trying a change works with. */
export interface TrialDependencies {
  storage: Pick<Storage, 'files' | 'index'>;
  /** Answers of an index, without a row in the access log. */
  answersOn(index: Pick<IndexStore, 'snapshot'>): { find: FindService; context: ContextService };
  /** Vectors of passages that memory does not have yet; none where the embedder fails. */
  embed(file: { before: string; after: string }): Promise<ScopeVectors['vectors']>;
  timeZone: string;
  now: () => number;
}

/**
 * Tries contents of files of one memory against the checks about it, without writing them; `null` where no check
 * is about it. A check that fails already does not count, nor what hygiene finds.
 */
export function beginTrial(
  deps: TrialDependencies,
  scope: ScopeKey,
  all: readonly Check[],
): CheckTrial | null {
  const checks = all.filter((check) => isAbout(check, scope));
  if (checks.length === 0) return null;
  let red: Promise<ReadonlySet<string>> | null = null;

  async function findRed(files: readonly DraftFile[], vectors: ScopeVectors['vectors']) {
    const memory = draftMemory(deps, files, vectors);
    const run = await runChecks({ ...deps, memory }, checks, { scopes: [scope] });
    return new Set(run.results.filter(({ passed }) => !passed).map(({ name }) => name));
  }

  return {
    async turnedRed(changes) {
      const before = await (red ??= findRed([], []));
      const files: DraftFile[] = [];
      const vectors: ScopeVectors['vectors'][number][] = [];
      for (const { path, content } of changes) {
        const file = await deps.storage.files.get({ scope, path });
        if (file === null || file.content === null || file.content === content) continue;
        const { fileNo, version } = file;
        files.push({ scope, path, fileNo, version: version + 1, hash: hashText(content), content });
        vectors.push(...(await deps.embed({ before: file.content, after: content })));
      }
      if (files.length === 0) return [];
      return [...(await findRed(files, vectors))].filter((name) => !before.has(name));
    },
  };
}

/** Whether a check can turn red by a change of this memory alone. */
function isAbout(check: Check, scope: ScopeKey): boolean {
  if (check.rule.kind === 'hygiene') return false;
  if (check.target.kind === 'each_user') return toOwner(scope).userId !== null;
  return check.target.kind === 'everywhere' || scopeOf(check) === scope;
}

function draftMemory(
  { storage, answersOn }: TrialDependencies,
  files: readonly DraftFile[],
  vectors: ScopeVectors['vectors'],
): CheckedMemory {
  const now = filesNow(storage);
  const { find, context } = answersOn(draftIndex(storage.index, files, vectors));
  return {
    pages: (scope) => now.pages(scope),
    async read(key) {
      const draft = files.find(({ scope, path }) => scope === key.scope && path === key.path);
      if (draft === undefined) return await now.read(key);
      return { content: draft.content, size: Buffer.byteLength(draft.content) };
    },
    find: (args, call) => find.find(args, call),
    context: (args, call) => context.context(args, call),
    hygiene: null,
  };
}
