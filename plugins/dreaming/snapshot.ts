import type { DreamUserRecord } from '../../core/contracts/dreams.ts';
import type { Host } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { isExcludedFromDreams } from '../../core/files/dream-exclusion.ts';
import { findLinks } from '../../core/files/links.ts';
import { toNumbered } from './prompt.ts';
import { toSnapshotFile, type Snapshot, type SnapshotFile } from './snapshot-file.ts';
import {
  formatPlace,
  inOrderOfChange,
  inRotation,
  keyOf,
  MOST_WAITED,
  parsePlace,
} from './snapshot-order.ts';
import { estimateTokens } from './tokens.ts';

/** Files of one page of the list, and files that one run shows at most. */
const PAGE = 500;
const MAX_FILES = 200;
/** Changed files, and linked ones, that a run reads although they turn out not to fit. */
const MAX_MISSES = 20;
/** What the marks around a file take, in tokens. */
const FILE_TOKENS = 40;
const INDEX = 'index.md';

/** A user's memory as a run begins with it. */
export interface TakenSnapshot extends Snapshot {
  /** In the order in which they are shown. */
  shown: readonly SnapshotFile[];
  /** Virtual paths of those that changed since the last run, or waited for it. */
  changed: ReadonlySet<string>;
  /** The user's last qualifying write that this snapshot has for sure. */
  watermark: number | null;
  /** Where the next run goes on reading. */
  reviewCursor: string | null;
  /** Virtual paths of files whose turn it was and that wait for the next run. */
  leftOut: readonly string[];
  /** Files that no run can show, and why. */
  tooLarge: readonly { path: string; why: string }[];
}

interface ListedFile {
  path: string;
  updatedAt: number;
  key: string;
}

/**
 * Reads the files that a run looks at, within a budget of tokens: changed ones, the longest waiting
 * first, those that they link to, and the others in rotation. What a run had no room for keeps its
 * turn, so that every file is shown in the end, or said to be too large. Excluded files and those
 * that say `dream: never` are not among them.
 */
export async function takeSnapshot(
  host: Pick<Host, 'memory' | 'dreams' | 'now'>,
  scope: ScopeKey,
  {
    record,
    maxTokens,
    mostTokens,
    isAsked,
  }: {
    record: DreamUserRecord | null;
    maxTokens: number;
    /** What any run may show: a file above it waits for nothing. */
    mostTokens: number;
    /** A person asked for the run: it looks at files although none changed. */
    isAsked: boolean;
  },
): Promise<TakenSnapshot> {
  // Before the files: a write that comes in between is dreamed again rather than missed.
  const user = (await host.dreams?.user(scope)) ?? null;
  const qualifyingAt = user?.lastQualifyingAt ?? null;
  // A write of this very millisecond may still come behind the snapshot.
  const seenUntil = host.now() - 1;
  const watermark = qualifyingAt === null ? null : Math.min(qualifyingAt, seenUntil);
  const listed = await listAll(host, scope);
  const candidates = listed.filter(({ path }) => !isExcludedFromDreams(path));
  const byPath = new Map(candidates.map((file) => [file.path, file]));
  const place = parsePlace(record?.reviewCursor ?? null, record?.watermark ?? null);
  const changed = inOrderOfChange(candidates, place);
  const reader = new SnapshotReader(host, scope, { maxTokens, mostTokens });
  const next = { ...place };

  const rotation = inRotation(candidates, place);
  const [first] = rotation;
  if (first !== undefined && place.waited >= MOST_WAITED) await reader.show(first);

  // Behind the first one that waits, nothing counts as seen.
  let isUnbroken = true;
  const changedShown: SnapshotFile[] = [];
  for (const file of changed) {
    const outcome = await reader.show(file);
    if (typeof outcome === 'object') changedShown.push(outcome);
    isUnbroken &&= outcome !== 'waits' && file.updatedAt <= seenUntil;
    if (isUnbroken) Object.assign(next, { changedAt: file.updatedAt, changedKey: file.key });
  }
  // Without anything new to look at there is nothing to ask.
  if (changedShown.length > 0 || isAsked) {
    const linked = changedShown.flatMap((file) => findLinks(file.content, file.path));
    for (const link of [`user/${INDEX}`, ...linked]) {
      const file = link.startsWith('user/') ? byPath.get(link.slice('user/'.length)) : undefined;
      if (file !== undefined) await reader.show(file);
    }
    next.waited = rotation.length === 0 ? 0 : place.waited + 1;
    for (const file of rotation) {
      if ((await reader.show(file)) === 'waits') break;
      next.rotationKey = file.key;
      next.waited = 0;
    }
  }
  const { shown, leftOut, tooLarge } = reader;
  return {
    files: new Map(shown.map((file) => [file.path, file])),
    paths: new Set(listed.map(({ path }) => `user/${path}`)),
    shown,
    changed: new Set(changed.map(({ path }) => `user/${path}`)),
    watermark,
    reviewCursor: formatPlace(next),
    leftOut,
    tooLarge,
  };
}

/** Shows files as long as there is room, each once. */
class SnapshotReader {
  readonly shown: SnapshotFile[] = [];
  readonly leftOut: string[] = [];
  readonly tooLarge: { path: string; why: string }[] = [];
  readonly #host: Pick<Host, 'memory'>;
  readonly #scope: ScopeKey;
  readonly #room: { maxTokens: number; mostTokens: number };
  readonly #outcomes = new Map<string, SnapshotFile | 'waits' | 'passed'>();
  #tokens = 0;
  #misses = 0;

  constructor(
    host: Pick<Host, 'memory'>,
    scope: ScopeKey,
    room: { maxTokens: number; mostTokens: number },
  ) {
    this.#host = host;
    this.#scope = scope;
    this.#room = room;
  }

  /** The file if it is shown; `waits` if there is no room for it, `passed` if there is nothing to show. */
  async show({ path }: ListedFile): Promise<SnapshotFile | 'waits' | 'passed'> {
    const known = this.#outcomes.get(path);
    if (known !== undefined) return known;
    const outcome = await this.#tryToShow(path);
    this.#outcomes.set(path, outcome);
    if (outcome === 'waits') this.leftOut.push(`user/${path}`);
    return outcome;
  }

  async #tryToShow(path: string): Promise<SnapshotFile | 'waits' | 'passed'> {
    if (this.shown.length >= MAX_FILES || this.#misses >= MAX_MISSES) return 'waits';
    const file = await this.#host.memory.read(this.#scope, path);
    if (file === null || file.content === null) return 'passed';
    const { version, fileNo, latestRevisionId: revisionId, content } = file;
    const virtual = `user/${path}`;
    const one = toSnapshotFile({ path: virtual, version, fileNo, revisionId, content, times: [] });
    if (one.isNeverDreamed) return 'passed';
    const cost = estimateTokens(toNumbered(one)) + FILE_TOKENS;
    const { maxTokens, mostTokens } = this.#room;
    if (cost > mostTokens) {
      const why = `it takes about ${cost} tokens, and a run shows ${mostTokens} at most`;
      this.tooLarge.push({ path: virtual, why });
      return 'passed';
    }
    if (this.#tokens + cost > maxTokens) {
      this.#misses += 1;
      return 'waits';
    }
    this.#tokens += cost;
    this.shown.push(one);
    return one;
  }
}

async function listAll(host: Pick<Host, 'memory'>, scope: ScopeKey): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  let after: string | null = null;
  for (;;) {
    const page: readonly { path: string; updatedAt: number }[] = await host.memory.list(scope, {
      prefix: '',
      after,
      limit: PAGE,
    });
    for (const { path, updatedAt } of page) files.push({ path, updatedAt, key: keyOf(path) });
    if (page.length < PAGE) return files;
    after = page.at(-1)?.path ?? null;
  }
}
