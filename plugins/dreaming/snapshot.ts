import type { DreamUserRecord } from '../../core/contracts/dreams.ts';
import type { Host } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { isExcludedFromDreams } from '../../core/memory/dream-exclusion.ts';
import { findLinks } from '../../core/memory/links.ts';
import { toNumbered } from './prompt.ts';
import { toSnapshotFile, type Snapshot, type SnapshotFile } from './snapshot-file.ts';
import { estimateTokens } from './tokens.ts';

/** Files of one page of the list, and files that one run reads at most. */
const PAGE = 500;
const MAX_FILES = 200;
/** What the marks around a file take, in tokens. */
const FILE_TOKENS = 40;
const INDEX = 'index.md';

/** A user's memory as a run begins with it. */
export interface TakenSnapshot extends Snapshot {
  /** In the order in which they are shown. */
  shown: readonly SnapshotFile[];
  /** Virtual paths of those that changed since the last run. */
  changed: ReadonlySet<string>;
  /** The user's last qualifying write that this snapshot has for sure. */
  watermark: number | null;
  /** Where the next run goes on with files that did not change. */
  reviewCursor: string | null;
  /** Files that did not fit. */
  leftOut: readonly string[];
}

/**
 * Reads the files that a run looks at, within a budget of tokens: changed ones, those that they link
 * to, and those that were reviewed the longest ago. Excluded files and those that say `dream: never`
 * are not among them.
 */
export async function takeSnapshot(
  host: Pick<Host, 'memory' | 'dreams' | 'now'>,
  scope: ScopeKey,
  {
    record,
    maxTokens,
    isAsked,
  }: {
    record: DreamUserRecord | null;
    maxTokens: number;
    /** A person asked for the run: it looks at files although none changed. */
    isAsked: boolean;
  },
): Promise<TakenSnapshot> {
  // Before the files: a write that comes in between is dreamed again rather than missed.
  const user = (await host.dreams?.user(scope)) ?? null;
  const qualifyingAt = user?.lastQualifyingAt ?? null;
  // A write of this very millisecond may still come behind the snapshot.
  const watermark = qualifyingAt === null ? null : Math.min(qualifyingAt, host.now() - 1);
  const listed = await listAll(host, scope);
  const since = record?.watermark ?? -1;
  const candidates = listed.filter(({ path }) => !isExcludedFromDreams(path));
  const changed = candidates
    .filter(({ updatedAt }) => updatedAt > since)
    .sort((a, b) => b.updatedAt - a.updatedAt)
    .map(({ path }) => path);

  const shown: SnapshotFile[] = [];
  const leftOut: string[] = [];
  const seen = new Set<string>();
  let tokens = 0;

  /** Shows a file if it may be shown and fits. */
  async function show(path: string): Promise<SnapshotFile | null> {
    if (seen.has(path) || shown.length >= MAX_FILES) return null;
    seen.add(path);
    const file = await host.memory.read(scope, path);
    if (file === null || file.content === null) return null;
    const { version, fileNo, latestRevisionId: revisionId, content } = file;
    const virtual = `user/${path}`;
    const one = toSnapshotFile({ path: virtual, version, fileNo, revisionId, content, times: [] });
    if (one.isNeverDreamed) return null;
    const cost = estimateTokens(toNumbered(one)) + FILE_TOKENS;
    if (tokens + cost > maxTokens) {
      leftOut.push(virtual);
      return null;
    }
    tokens += cost;
    shown.push(one);
    return one;
  }

  const exists = new Set(candidates.map(({ path }) => path));
  const changedShown: SnapshotFile[] = [];
  for (const path of changed) {
    const file = await show(path);
    if (file !== null) changedShown.push(file);
  }
  let { reviewCursor } = record ?? { reviewCursor: null };
  // Without anything new to look at there is nothing to ask.
  if (changedShown.length > 0 || isAsked) {
    if (exists.has(INDEX)) await show(INDEX);
    for (const file of changedShown) {
      for (const link of findLinks(file.content, file.path)) {
        const path = link.startsWith('user/') ? link.slice('user/'.length) : '';
        if (exists.has(path)) await show(path);
      }
    }
    for (const path of inRotation([...exists].sort(), reviewCursor)) {
      if (seen.has(path)) continue;
      if ((await show(path)) === null && leftOut.includes(`user/${path}`)) break;
      reviewCursor = path;
    }
  }
  return {
    files: new Map(shown.map((file) => [file.path, file])),
    paths: new Set(listed.map(({ path }) => `user/${path}`)),
    shown,
    changed: new Set(changed.map((path) => `user/${path}`)),
    watermark,
    reviewCursor,
    leftOut,
  };
}

/** Paths from the one behind `cursor` on, once around. */
function inRotation(paths: readonly string[], cursor: string | null): string[] {
  const start = cursor === null ? 0 : paths.findIndex((path) => path > cursor);
  return start <= 0 ? [...paths] : [...paths.slice(start), ...paths.slice(0, start)];
}

async function listAll(
  host: Pick<Host, 'memory'>,
  scope: ScopeKey,
): Promise<{ path: string; updatedAt: number }[]> {
  const files: { path: string; updatedAt: number }[] = [];
  let after: string | null = null;
  for (;;) {
    const page: readonly { path: string; updatedAt: number }[] = await host.memory.list(scope, {
      prefix: '',
      after,
      limit: PAGE,
    });
    files.push(...page);
    if (page.length < PAGE) return files;
    after = page.at(-1)?.path ?? null;
  }
}
