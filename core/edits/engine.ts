import type { Moment } from '../markdown/valid-until.ts';
import { inSlices } from '../time/pause.ts';
import { classify, type EditClass, findAlike, toPlain } from './classify.ts';
import { type EditLimits, findFault, type Guard, GUARDS } from './guards.ts';
import { type EditOperation, type Verdict, VERDICT_WORDS } from './operations.ts';
import { findQuestions } from './proof.ts';
import { findSignals, type Signal, SIGNAL_WORDS } from './signals.ts';
import { readSubjects, type Subjects } from './subject.ts';
import { type LineView, type OperationView, toLineView, toView } from './views.ts';
import type { EditedMemory } from './edited-memory.ts';
import { hasNothingInCommon, type LocatedOperation, type Row, Workspace } from './workspace.ts';

/** An operation as far as code can judge it. */
export interface ExaminedOperation extends OperationView {
  operation: EditOperation;
  class: EditClass;
  signals: Signal[];
  /** Why it can't be carried out; `null` when it can. */
  fault: {
    status: 'stale' | 'dropped';
    guard: string | null;
    why: string;
  } | null;
  /** The lines of memory that say all of its new lines already; empty where they do not. */
  knownBy: readonly LineView[];
  /** Values of its new lines that the verifier has to prove with a quotation. */
  values: readonly string[];
}

/** What an examination goes by beside memory. */
export interface ExamineOptions {
  limits: EditLimits;
  /** The dates that the words of time of the fact mean. */
  dates?: readonly string[];
  /** When it is, where lines that have expired may be removed for that alone. */
  moment?: Moment;
  /** The tests leave one out to see what it is good for. */
  guards?: Readonly<Record<string, Guard>>;
}

/**
 * Locates, guards and classifies operations, in order, each on what the earlier ones leave, and finds
 * their signals. Pure: nothing is written.
 */
export async function examine(
  memory: EditedMemory,
  operations: readonly EditOperation[],
  options: ExamineOptions,
): Promise<ExaminedOperation[]> {
  return await inSlices(examineInSteps(memory, operations, options));
}

/** {@link examine}, yielding wherever others may have their turn. */
export function* examineInSteps(
  memory: EditedMemory,
  operations: readonly EditOperation[],
  { limits, dates = [], moment, guards = GUARDS }: ExamineOptions,
): Generator<null, ExaminedOperation[]> {
  const all: ExaminedOperation[] = [];
  const workspace = yield* Workspace.open(memory);
  const paths = memory.files.map(({ path }) => path);
  const subjects = yield* readSubjects(workspace, paths);
  for (const given of operations) {
    yield null;
    const found = yield* workspace.locate(given);
    const operation = 'status' in found ? given : (toAddBeside(found, workspace) ?? given);
    const located = operation === given ? found : yield* workspace.locate(operation);
    if ('status' in located) {
      all.push(toFaulty(operation, located));
      continue;
    }
    const examined: ExaminedOperation = {
      operation,
      ...toView(workspace, located),
      class: yield* classify(located, workspace),
      signals: yield* findSignals({ located, subjects, before: workspace }),
      fault: null,
      values: yield* findQuestions(located, workspace, dates),
      knownBy: yield* findKnown(workspace, located, { paths, subjects }),
    };
    yield null;
    const after = workspace.fork(located);
    const context = {
      located,
      seen: null,
      before: workspace,
      after,
      limits,
      moment: moment ?? null,
      subjects,
    };
    const fault = yield* findFault(context, guards);
    if (fault === null) workspace.apply(located);
    all.push(fault === null ? examined : { ...examined, fault: { status: 'dropped', ...fault } });
  }
  return all;
}

/**
 * Makes an `add` beside the old line out of an update that may name the wrong line: the model gave only the
 * id of the line, and the old and the new line have nothing in common. `null` for every other operation.
 */
function toAddBeside(located: LocatedOperation, workspace: Workspace): EditOperation | null {
  const { operation, remove } = located;
  const { kind, add, repaired = [] } = operation;
  if (kind !== 'update' || add === null || !hasNothingInCommon(located)) return null;
  const row = remove.find(({ path }) => path === add.path) ?? null;
  const heading = workspace.headingsOf(row).join(' > ');
  return {
    ...operation,
    kind: 'add',
    remove: [],
    add: { ...add, heading: heading === '' ? add.heading : heading },
    repaired: [...repaired, 'beside'],
  };
}

/** What becomes of memory, and which operations are out of date by now, each with a fault. */
export interface AppliedEdits {
  files: { path: string; version: number; before: string | null; after: string }[];
  applied: ExaminedOperation[];
  stale: ExaminedOperation[];
}

/**
 * Carries out operations that were examined, on memory as it is now. One whose lines are no longer
 * there, or stand in another place that nobody followed them to, is stale.
 */
export async function applyEdits(
  memory: EditedMemory,
  accepted: readonly ExaminedOperation[],
  options: ExamineOptions,
): Promise<AppliedEdits> {
  return await inSlices(applyInSteps(memory, accepted, options));
}

function* applyInSteps(
  memory: EditedMemory,
  accepted: readonly ExaminedOperation[],
  options: ExamineOptions,
): Generator<null, AppliedEdits> {
  const workspace = yield* Workspace.open(memory);
  const applied: ExaminedOperation[] = [];
  const stale: ExaminedOperation[] = [];
  for (const examined of accepted) {
    yield null;
    const why = yield* applyOne(workspace, examined, options);
    if (why === null) applied.push(examined);
    else {
      const fault = { status: 'stale', guard: null, why } as const;
      stale.push({ ...examined, fault });
    }
  }
  return { files: workspace.changed(), applied, stale };
}

/** Carries out an operation; why it is stale, or `null`. */
function* applyOne(
  workspace: Workspace,
  examined: ExaminedOperation,
  { limits, moment, guards = GUARDS }: ExamineOptions,
): Generator<null, string | null> {
  const located = yield* workspace.locate(examined.operation);
  if ('status' in located) return located.why;
  const after = workspace.fork(located);
  const context = {
    located,
    seen: examined,
    before: workspace,
    after,
    limits,
    moment: moment ?? null,
    subjects: null,
  };
  const fault = yield* findFault(context, guards);
  if (fault !== null) return fault.why;
  workspace.apply(located);
  return null;
}

/** What becomes of an operation. */
export interface Decision {
  status: 'applied' | 'waiting' | 'dropped' | 'stale';
  /** Whether a review starts with it chosen. */
  isPreselected: boolean;
  why: string | null;
}

/** Whether a verdict lets an operation pass: `supersede` needs another one than all others. */
export function passes(
  { operation: { kind }, signals }: ExaminedOperation,
  verdict: Verdict | null,
): boolean {
  if (kind === 'supersede') return verdict === 'replaces';
  if (kind !== 'update') return verdict === 'keeps';
  return verdict === 'replaces' || (verdict === 'keeps' && !signals.includes('sensitive'));
}

/** The table of EDITS: class, signals and verdict make applied, waiting or dropped. */
export function decide(
  examined: ExaminedOperation,
  { verdict, mode }: { verdict: Verdict | null; mode: 'auto' | 'review' },
): Decision {
  const { fault, signals } = examined;
  if (fault !== null) return { status: fault.status, isPreselected: false, why: fault.why };
  const isCertain = examined.class === 'certain';
  if (!isCertain && verdict !== null && ['loses', 'adds', 'wrong'].includes(verdict)) {
    return { status: 'dropped', isPreselected: false, why: VERDICT_WORDS[verdict] };
  }
  const isGood = isCertain || (signals.length === 0 && passes(examined, verdict));
  if (isGood && mode === 'auto') return { status: 'applied', isPreselected: true, why: null };
  const why = isGood
    ? null
    : signals.length > 0
      ? `A person decides, because ${signals.map((signal) => SIGNAL_WORDS[signal]).join('; ')}.`
      : VERDICT_WORDS[verdict ?? 'unsure'];
  return { status: 'waiting', isPreselected: isGood, why };
}

function toFaulty(
  operation: EditOperation,
  { status, why }: { status: 'stale' | 'dropped'; why: string },
): ExaminedOperation {
  const toLine = ({ path, line, text }: EditOperation['remove'][number]): LineView => ({
    path,
    line,
    heading: null,
    text: text ?? '',
    at: null,
  });
  return {
    operation,
    remove: operation.remove.map(toLine),
    add: operation.add === null ? null : { ...operation.add, lines: [...operation.add.lines] },
    sources: operation.sources.map(toLine),
    class: 'meaning',
    signals: [],
    fault: { status, guard: null, why },
    knownBy: [],
    values: [],
  };
}

/** The lines that say each new line already, where it would go, or elsewhere about the same. */
function* findKnown(
  workspace: Workspace,
  { remove, lines, operation: { add }, place }: LocatedOperation,
  { paths, subjects }: { paths: readonly string[]; subjects: Subjects },
): Generator<null, LineView[]> {
  if (add === null || place === null) return [];
  const known: LineView[] = [];
  for (const line of lines) {
    const about = subjects.ofLine(line, { path: add.path, headings: place.headings, parents: [] });
    const isMeant = (row: Row) =>
      (remove.length === 0 || remove.includes(row)) &&
      !subjects.differ([subjects.ofRow(row), about]);
    let found: Row | null = null;
    for (const path of paths) {
      found ??= yield* findAlike(workspace.live(path), toPlain(line), isMeant);
    }
    if (found === null) return [];
    known.push(toLineView(workspace, found));
  }
  return known;
}
