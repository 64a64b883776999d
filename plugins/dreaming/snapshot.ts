import type { RunUserRecord } from '../../core/contracts/runs.ts';
import type { Host } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { isNeverDreamed, parseInSteps } from '../../core/edits/markdown.ts';
import { listNumbered } from '../../core/edits/numbered.ts';
import type { EditedFile } from '../../core/edits/edited-memory.ts';
import { isExcludedFromDreams } from '../../core/files/dream-exclusion.ts';
import { findLinks } from '../../core/files/links.ts';
import { createPause, inSlices } from '../../core/time/pause.ts';
import {
  formatPlace,
  inOrderOfChange,
  inRotation,
  keyOf,
  MOST_WAITED,
  parsePlace,
  type ReadingPlace,
} from './snapshot-order.ts';
import { estimateTokens } from '../../core/edits/prompt-budget.ts';
import { toVirtualPath, virtualHomeOf } from '../../core/plugin.ts';

/** Files of a page of the list, which is also the most that a run shows. */
const PAGE = 500;
const MAX_FILES = 200;
/** After so many files that did not fit, a run reads no further ones. */
const MAX_MISSES = 20;
/** Tokens of the marks around a file, and of the date of a line. */
const FILE_TOKENS = 40;
const DATE_TOKENS = 4;
/** A part of a large file is shown only if it has at least this share of a run's tokens. */
const LEAST_PART = 0.25;
const INDEX = 'index.md';

/** A file as a run read it. */
export interface SnapshotFile extends EditedFile {
  fileNo: number;
  revisionId: string;
}

/** A part of a file that is too large for one run; both lines are in it. */
export interface ShownPart {
  path: string;
  fromLine: number;
  toLine: number;
}

/** What a run reads of a memory at its beginning. */
export interface TakenSnapshot {
  /** In the order in which they were chosen. */
  shown: readonly SnapshotFile[];
  /** Virtual paths of all files of that memory. */
  paths: ReadonlySet<string>;
  /** Virtual paths of files that changed since the last run, or that it had no room for. */
  changed: ReadonlySet<string>;
  /** When the last qualifying write was made that this snapshot includes for certain. */
  watermark: number | null;
  /** Where the next run continues reading. */
  reviewCursor: string | null;
  /** Virtual paths of files whose turn it was, and for which there was no room. */
  leftOut: readonly string[];
  parts: readonly ShownPart[];
}

interface ListedFile {
  path: string;
  updatedAt: number;
  key: string;
}

/**
 * Reads the files that a run looks at, within a budget of tokens: changed ones, the longest waiting
 * first, then those that they link to, then the others in rotation. A file for which there was no room
 * comes first in the next run, and while changed files wait, the watermark leaves the user eligible. A
 * file that is larger than a whole run can show is shown part by part. Excluded files and those that
 * say `dream: never` are never shown.
 */
export async function takeSnapshot(
  host: Pick<Host, 'memory' | 'runs' | 'now'>,
  scope: ScopeKey,
  {
    record,
    maxTokens,
    isAsked,
  }: {
    record: Pick<RunUserRecord, 'reviewCursor' | 'watermark'> | null;
    maxTokens: number;
    /** A person asked for the run: it looks at files although none changed. */
    isAsked: boolean;
  },
): Promise<TakenSnapshot> {
  // Read before the files, so that a write in between is seen twice rather than never.
  const user = (await host.runs?.user(scope)) ?? null;
  const qualifyingAt = user?.lastQualifyingAt ?? null;
  // Another write of this millisecond may come after the snapshot.
  const seenUntil = host.now() - 1;
  const home = virtualHomeOf(scope);
  const toVirtual = (path: string) => `${home}${path}`;
  const listed = await listAll(host, scope);
  const candidates = listed.filter(({ path }) => !isExcludedFromDreams(path));
  const byPath = new Map(candidates.map((file) => [file.path, file]));
  const place = parsePlace(record?.reviewCursor ?? null, record?.watermark ?? null);
  const changed = inOrderOfChange(candidates, place);
  const isListed = candidates.some(({ key }) => key === place.partKey);
  if (!isListed) Object.assign(place, { partKey: '', partLine: 1 });
  const holder = changed.find(({ key }) => key === place.partKey);
  const reader = new SnapshotReader(host, scope, {
    maxTokens,
    place,
    isHeld: holder !== undefined,
  });
  const next = { ...place };

  const rotation = inRotation(candidates, place);
  const [first] = rotation;
  const isDue = first !== undefined && place.waited >= MOST_WAITED;
  if (isDue) await reader.show(first);
  // A large file that was begun is read to its end, or two of them could take turns for ever.
  if (holder !== undefined) await reader.show(holder);

  // From the first file that waits on, no change counts as seen.
  let isUnbroken = true;
  let isPending = false;
  const changedShown: SnapshotFile[] = [];
  for (const file of changed) {
    const { file: shown, isComplete, isPart = false } = await reader.show(file);
    if (shown !== null) changedShown.push(shown);
    // A change by dreaming itself waits for its turn, but does not make the user eligible.
    if (isPart || (!isComplete && file.updatedAt <= (qualifyingAt ?? -1))) isPending = true;
    isUnbroken &&= isComplete && file.updatedAt <= seenUntil;
    if (isUnbroken) Object.assign(next, { changedAt: file.updatedAt, changedKey: file.key });
  }
  // Without anything new to show, the model is not asked.
  if (changedShown.length > 0 || isAsked || isDue) {
    const linked = changedShown.flatMap((file) => findLinks(file.content, file.path));
    for (const link of [toVirtual(INDEX), ...linked]) {
      const file = link.startsWith(home) ? byPath.get(link.slice(home.length)) : undefined;
      if (file !== undefined) await reader.show(file);
    }
    next.waited = rotation.length === 0 ? 0 : place.waited + 1;
    for (const file of rotation) {
      const { isComplete, isPart = false } = await reader.show(file);
      // A part of a file that was due continues in the next run.
      if (isPart && !isDue) next.waited = 0;
      if (!isComplete) break;
      next.rotationKey = file.key;
      next.waited = 0;
    }
  }
  const { shown, leftOut, parts, part } = reader;
  const seen = qualifyingAt === null ? null : Math.min(qualifyingAt, seenUntil);
  const isHeld = isPending && changedShown.length > 0 && seen !== null;
  return {
    shown,
    paths: new Set(listed.map(({ path }) => toVirtual(path))),
    changed: new Set(changed.map(({ path }) => toVirtual(path))),
    watermark: isHeld ? seen - 1 : seen,
    reviewCursor: formatPlace({ ...next, ...part }),
    leftOut,
    parts,
  };
}

/** Whether a file was shown. `isPart`: the next run shows more of it. */
interface Outcome {
  file: SnapshotFile | null;
  isComplete: boolean;
  isPart?: boolean;
}

const WAITS: Outcome = { file: null, isComplete: false };
const PASSED: Outcome = { file: null, isComplete: true };

/** Adds files to the snapshot as long as there is room, each once. */
class SnapshotReader {
  readonly shown: SnapshotFile[] = [];
  readonly leftOut: string[] = [];
  readonly parts: ShownPart[] = [];
  /** Where reading in parts continues. */
  part: Pick<ReadingPlace, 'partKey' | 'partLine'>;
  readonly #host: Pick<Host, 'memory'>;
  readonly #scope: ScopeKey;
  readonly #maxTokens: number;
  /** Whether a changed file is read in parts now; then no other file is. */
  readonly #isHeld: boolean;
  readonly #pause = createPause();
  readonly #outcomes = new Map<string, Outcome>();
  #tokens = 0;
  #misses = 0;

  constructor(
    host: Pick<Host, 'memory'>,
    scope: ScopeKey,
    { maxTokens, place, isHeld }: { maxTokens: number; place: ReadingPlace; isHeld: boolean },
  ) {
    this.#host = host;
    this.#scope = scope;
    this.#maxTokens = maxTokens;
    this.part = { partKey: place.partKey, partLine: place.partLine };
    this.#isHeld = isHeld;
  }

  async show(listed: ListedFile): Promise<Outcome> {
    const known = this.#outcomes.get(listed.path);
    if (known !== undefined) return known;
    const outcome = await this.#tryToShow(listed);
    this.#outcomes.set(listed.path, outcome);
    if (!outcome.isComplete) this.leftOut.push(this.#toVirtual(listed.path));
    return outcome;
  }

  async #tryToShow({ path, key }: ListedFile): Promise<Outcome> {
    if (this.shown.length >= MAX_FILES || this.#misses >= MAX_MISSES) return WAITS;
    const read = await this.#host.memory.read(this.#scope, path);
    if (read === null || read.content === null) return PASSED;
    const { version, fileNo, latestRevisionId: revisionId, content } = read;
    if (isNeverDreamed(content)) return PASSED;
    const file = { path: this.#toVirtual(path), version, fileNo, revisionId, content };
    const lines: string[] = [];
    for (const line of listNumbered(file, 'UTC')) {
      lines.push(line);
      await this.#pause();
    }
    const cost = costOf(lines);
    if (cost > this.#maxTokens) {
      const { headings } = await inSlices(parseInSteps(content), this.#pause);
      return this.#showPart(file, { key, lines, headings });
    }
    if (this.#tokens + cost > this.#maxTokens) {
      this.#misses += 1;
      return WAITS;
    }
    return this.#add(file, cost);
  }

  /** Shows what fits of a large file, from where the last run stopped. */
  #showPart(
    file: SnapshotFile,
    {
      key,
      lines,
      headings,
    }: { key: string; lines: readonly string[]; headings: readonly unknown[] },
  ): Outcome {
    const room = this.#maxTokens - this.#tokens;
    const isAnother = this.part.partKey !== '' && this.part.partKey !== key;
    if (
      room < LEAST_PART * this.#maxTokens ||
      (isAnother && (this.#isHeld || this.parts.length > 0))
    )
      return WAITS;
    const from = this.part.partKey === key ? Math.min(this.part.partLine, lines.length) : 1;
    const last = findPartEnd(lines, { from, room, maxTokens: this.#maxTokens, headings });
    const numbers = Array.from({ length: last - from + 1 }, (_, at) => from + at);
    // A line that is too large for any run is skipped.
    const shown = new Set(
      numbers.filter((number) => costOf([lines[number - 1] ?? '']) <= this.#maxTokens),
    );
    const isComplete = last >= lines.length;
    this.part = isComplete ? { partKey: '', partLine: 1 } : { partKey: key, partLine: last + 1 };
    this.parts.push({ path: file.path, fromLine: from, toLine: last });
    const cost = costOf(lines.filter((_line, at) => shown.has(at + 1)));
    return { ...this.#add({ ...file, shown }, cost), isComplete, isPart: !isComplete };
  }

  #toVirtual(path: string): string {
    return toVirtualPath({ scope: this.#scope, path });
  }

  #add(file: SnapshotFile, cost: number): Outcome {
    this.#tokens += cost;
    this.shown.push(file);
    return { file, isComplete: true };
  }
}

/** The last line of a part: what fits, up to the line before a heading where there is one. */
function findPartEnd(
  lines: readonly string[],
  {
    from,
    room,
    maxTokens,
    headings,
  }: { from: number; room: number; maxTokens: number; headings: readonly unknown[] },
): number {
  let cost = FILE_TOKENS;
  let end = from;
  for (let number = from; number <= lines.length; number += 1) {
    const own = costOf([lines[number - 1] ?? '']) - FILE_TOKENS;
    const isPassedOver = own + FILE_TOKENS > maxTokens;
    if (!isPassedOver && cost + own > room && number > from) break;
    if (!isPassedOver) cost += own;
    end = number;
  }
  if (end === lines.length) return end;
  for (let number = end + 1; number > from + (end - from) / 2; number -= 1) {
    if (number > from && headings[number - 1]) return number - 1;
  }
  return end;
}

function costOf(lines: readonly string[]): number {
  return estimateTokens(lines) + lines.length * DATE_TOKENS + FILE_TOKENS;
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
