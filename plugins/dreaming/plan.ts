import { countLost } from './checks/survival.ts';
import {
  needsOf,
  pathsOf,
  stayingSources,
  toKey,
  type LineRef,
  type Operation,
} from './operations.ts';
import { lineAt, type Snapshot, type SnapshotFile } from './snapshot-file.ts';
import {
  indentOf,
  isBlank,
  joinLines,
  parseHeading,
  protectedLines,
} from '../../core/edits/markdown.ts';

/** An operation as it is checked: with its texts, and what was decided before it. */
export interface Candidate {
  operation: Operation;
  snapshot: Snapshot;
  /** The lines that go, in order. */
  removed: readonly string[];
  /** The lines that come. */
  added: readonly string[];
  /** The lines that it names as its sources. */
  cited: readonly string[];
  /** What stands in place of the lines that go: those that come, and sources that stay. */
  replacement: string;
  /** What the lines that come may be made of. */
  grounds: string;
  limits: PlanLimits;
  /** What the operations before it have decided. */
  sofar: PlanState;
}

/** A rule: why the operation is dropped, or `null`. */
export type Check = (candidate: Candidate) => string | null;

/** The checks by name, in the order in which they run. */
export type Checks = Readonly<Record<string, Check>>;

export interface PlanLimits {
  /** Files that the run may write. */
  maxFiles: number;
}

/** What operations have decided so far. */
export interface PlanState {
  /** `path:line` of the lines that go. */
  removed: ReadonlySet<string>;
  /** The lines that come, by the file that they come to. */
  added: ReadonlyMap<string, readonly string[]>;
  /** `path:line` of the lines that stand in for others. */
  supports: ReadonlySet<string>;
  /** Files that change. */
  files: ReadonlySet<string>;
  /** Files by those that have to be written, or have to stay as they are, before them. */
  needs: ReadonlyMap<string, ReadonlySet<string>>;
  /** Lines of a file that go and survive nowhere. */
  lost: ReadonlyMap<string, number>;
}

/** An operation that passed. */
export interface AppliedOperation {
  operation: Operation;
  paths: readonly string[];
}

/** An operation that did not, and which rule says why. */
export interface DroppedOperation {
  operation: Operation;
  check: string;
  reason: string;
}

/** What becomes of one file. */
export interface PlannedFile {
  path: string;
  version: number;
  before: string;
  after: string;
  reason: string;
  /** Other files: those that must be written first, and those that must be as the run saw them. */
  needs: readonly { path: string; version: number }[];
}

/** What a run would write. */
export interface Plan {
  applied: readonly AppliedOperation[];
  dropped: readonly DroppedOperation[];
  /** In the order in which they are written: what takes lines comes before what gives them. */
  files: readonly PlannedFile[];
}

/**
 * Takes operations one after the other: each passes every check, standing on those before it, or is
 * dropped. Pure.
 */
export function planOperations(
  snapshot: Snapshot,
  operations: readonly Operation[],
  options: { checks: Checks; limits: PlanLimits },
): Plan {
  const dropped: DroppedOperation[] = [];
  let left = operations;
  for (;;) {
    const plan = planOnce(snapshot, left, options);
    const broken = plan.files.find((file) => breaksParts(file))?.path;
    if (broken === undefined) return { ...plan, dropped: [...dropped, ...plan.dropped] };
    // Two operations can do together what neither does alone: all of that file's go.
    const isBroken = (operation: Operation) => pathsOf(operation).includes(broken);
    for (const { operation } of plan.applied) {
      if (!isBroken(operation)) continue;
      const reason = `lines of ${broken} that stay as they are would change`;
      dropped.push({ operation, check: 'structure', reason });
    }
    const gone = new Set(dropped.map(({ operation }) => operation));
    left = left.filter((operation) => !gone.has(operation));
  }
}

/** Front matter, pinned blocks and what else is protected are the same after it, to the byte. */
function breaksParts({ before, after }: PlannedFile): boolean {
  const parts = protectedLines(before);
  const now = protectedLines(after);
  return parts.length !== now.length || parts.some((part, index) => part !== now[index]);
}

function planOnce(
  snapshot: Snapshot,
  operations: readonly Operation[],
  { checks, limits }: { checks: Checks; limits: PlanLimits },
): Plan {
  const state = {
    removed: new Set<string>(),
    added: new Map<string, readonly string[]>(),
    supports: new Set<string>(),
    files: new Set<string>(),
    needs: new Map<string, Set<string>>(),
    lost: new Map<string, number>(),
  };
  const drafts = new Map<string, FileDraft>();
  const applied: AppliedOperation[] = [];
  const dropped: DroppedOperation[] = [];
  for (const operation of operations) {
    const candidate = toCandidate(operation, snapshot, limits, state);
    const fault = findFault(candidate, checks);
    if (fault !== null) {
      dropped.push({ operation, ...fault });
      continue;
    }
    const paths = pathsOf(operation);
    for (const { path, line } of operation.remove) {
      draftOf(drafts, snapshot, path).remove(line);
      state.removed.add(toKey({ path, line }));
    }
    const { add } = operation;
    if (add !== null) {
      const first = operation.remove.find(({ path }) => path === add.path)?.line ?? null;
      const lines = linesToAdd(operation, snapshot);
      draftOf(drafts, snapshot, add.path).add(lines, { heading: add.heading, at: first });
      state.added.set(add.path, [...(state.added.get(add.path) ?? []), ...lines]);
    }
    for (const path of paths) state.files.add(path);
    for (const ref of stayingSources(operation)) state.supports.add(toKey(ref));
    for (const [path, needed] of needsOf(operation)) {
      const needs = state.needs.get(path) ?? new Set();
      for (const other of needed) needs.add(other);
      state.needs.set(path, needs);
    }
    for (const [path, count] of countLost(candidate)) {
      state.lost.set(path, (state.lost.get(path) ?? 0) + count);
    }
    drafts.forEach((draft, path) => {
      if (paths.includes(path)) draft.reasons.push(operation.reason);
    });
    applied.push({ operation, paths });
  }
  const files = inWriteOrder([...drafts.values()], state.needs)
    .map((draft) => draft.toPlanned(needsWithVersions(draft, state.needs, snapshot)))
    .filter(({ before, after }) => before !== after);
  return { applied, dropped, files };
}

/**
 * The lines that come, as they are to stand there. How far in a line stands says what it is part of:
 * that is not the model's to say.
 */
function linesToAdd({ kind, remove, add }: Operation, snapshot: Snapshot): string[] {
  const rawOf = ({ path, line }: LineRef) =>
    snapshot.files.get(path)?.lines[line - 1]?.trimEnd() ?? '';
  const lines = add?.lines.map((line) => line.trim()) ?? [];
  if (add === null || kind === 'index') return lines;
  if (kind === 'move') {
    // What belongs to a line stays as far below it.
    const indents = remove.map((ref) => indentOf(rawOf(ref)));
    const least = Math.min(...indents);
    return lines.map((line, index) => ' '.repeat((indents[index] ?? least) - least) + line);
  }
  const first = remove.find(({ path }) => path === add.path);
  if (add.heading !== null || first === undefined) return lines;
  const raw = rawOf(first);
  return lines.map((line) => raw.slice(0, raw.length - raw.trimStart().length) + line);
}

function findFault(candidate: Candidate, checks: Checks): { check: string; reason: string } | null {
  for (const [check, find] of Object.entries(checks)) {
    const reason = find(candidate);
    if (reason !== null) return { check, reason };
  }
  return null;
}

function toCandidate(
  operation: Operation,
  snapshot: Snapshot,
  limits: PlanLimits,
  sofar: PlanState,
): Candidate {
  const textOf = (ref: LineRef): string => lineAt(snapshot, ref) ?? '';
  const removed = operation.remove.map(textOf);
  const added = operation.add?.lines.map((line) => line.trim()) ?? [];
  const cited = operation.sources.map(textOf);
  const staying = stayingSources(operation).filter((ref) => !sofar.removed.has(toKey(ref)));
  const heading = operation.add?.heading ?? '';
  return {
    operation,
    snapshot,
    removed,
    added,
    cited,
    replacement: [...added, heading, ...staying.map(textOf)].join('\n'),
    grounds: [...removed, ...cited].join('\n'),
    limits,
    sofar,
  };
}

function needsWithVersions(
  { file }: FileDraft,
  needs: ReadonlyMap<string, ReadonlySet<string>>,
  snapshot: Snapshot,
): PlannedFile['needs'] {
  return [...(needs.get(file.path) ?? [])].map((path) => ({
    path,
    version: snapshot.files.get(path)?.version ?? 0,
  }));
}

/** Files that change, each after those that it needs. */
function inWriteOrder(
  drafts: readonly FileDraft[],
  needs: ReadonlyMap<string, ReadonlySet<string>>,
): FileDraft[] {
  const waiting = new Map(drafts.map((draft) => [draft.file.path, draft]));
  const ordered: FileDraft[] = [];
  while (waiting.size > 0) {
    const free = [...waiting.values()].filter(
      ({ file }) => ![...(needs.get(file.path) ?? [])].some((path) => waiting.has(path)),
    );
    // The check of the order lets no circle through; without it there is no right one.
    for (const draft of free.length > 0 ? free : [...waiting.values()].slice(0, 1)) {
      waiting.delete(draft.file.path);
      ordered.push(draft);
    }
  }
  return ordered;
}

function draftOf(drafts: Map<string, FileDraft>, snapshot: Snapshot, path: string): FileDraft {
  let draft = drafts.get(path);
  if (draft === undefined) {
    draft = new FileDraft(snapshot.files.get(path) as SnapshotFile);
    drafts.set(path, draft);
  }
  return draft;
}

/** A file while operations change it: its lines keep the numbers that the snapshot gave them. */
class FileDraft {
  readonly file: SnapshotFile;
  readonly reasons: string[] = [];
  #rows: { line: number | null; text: string }[];

  constructor(file: SnapshotFile) {
    this.file = file;
    this.#rows = file.lines.map((text, index) => ({ line: index + 1, text }));
  }

  /** Leaves an empty row in its place until the end, so that what replaces it knows where. */
  remove(line: number): void {
    const row = this.#rows.find((it) => it.line === line);
    if (row !== undefined) row.text = GONE;
  }

  add(lines: readonly string[], { heading, at }: { heading: string | null; at: number | null }) {
    const rows = lines.map((text) => ({ line: null, text: text + this.file.lineEnd }));
    const place = heading === null ? this.#placeOf(at) : this.#endOfSection(heading);
    this.#rows.splice(place, 0, ...rows);
  }

  toPlanned(needs: PlannedFile['needs']): PlannedFile {
    const { path, version, content } = this.file;
    const lines = this.#rows.filter(({ text }) => text !== GONE).map(({ text }) => text);
    const reason = [...new Set(this.reasons)].join(' · ');
    return { path, version, before: content, after: joinLines(lines, this.file), reason, needs };
  }

  /** Before the line; else behind the last line that is not blank. */
  #placeOf(line: number | null): number {
    const at = this.#rows.findIndex((row) => line !== null && row.line === line);
    return at === -1 ? this.#behindLast(0, this.#rows.length) : at;
  }

  #endOfSection(heading: string): number {
    const wanted = heading.toLowerCase();
    const start = this.#rows.findIndex((row) => this.#headingOf(row)?.toLowerCase() === wanted);
    if (start === -1) {
      const end = this.#behindLast(0, this.#rows.length);
      const { lineEnd } = this.file;
      const blank = { line: null, text: lineEnd };
      const title = { line: null, text: `## ${heading}${lineEnd}` };
      const head = end === 0 ? [title, blank] : [blank, title, { ...blank }];
      this.#rows.splice(end, 0, ...head);
      return end + head.length;
    }
    const rest = this.#rows.findIndex((row, at) => at > start && this.#headingOf(row) !== null);
    return this.#behindLast(start + 1, rest === -1 ? this.#rows.length : rest);
  }

  #headingOf({ line, text }: { line: number | null; text: string }): string | null {
    return line === null ? parseHeading(text.trimEnd()) : (this.file.headings[line - 1] ?? null);
  }

  #behindLast(from: number, to: number): number {
    let end = to;
    while (
      end > from &&
      (this.#rows[end - 1]?.text === GONE || isBlank(this.#rows[end - 1]?.text ?? ''))
    ) {
      end -= 1;
    }
    return end;
  }
}

/** No line of memory has a line end in it. */
const GONE = '\n';
