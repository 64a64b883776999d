import {
  type Change,
  type Line,
  placeOf,
  standing,
  type Step,
  type Unit,
  Weave,
} from '../weave.ts';
import { pairLines } from './pair-lines.ts';

/** A write on the way back, and whether it is to be undone. */
export interface UndoStep extends Step {
  isSelected: boolean;
  /** Of a revert: it took back lines only, and the writes that it names may still be undone. */
  isOfLines: boolean;
  existedBefore: boolean;
  existsAfter: boolean;
}

/** What is taken where a later write changed what is to be undone. */
export type Take = 'restored' | 'theirs' | 'both';

/** A place that can't be undone, since others changed it. Lines count from 1. */
export interface MergeConflict<S extends UndoStep = UndoStep> {
  startLine: number;
  /** `startLine - 1` where no line stands there. */
  endLine: number;
  /** The lines as they stand, and as they would be, with their line ends. */
  theirs: string;
  restored: string;
  /** Who wrote there since. */
  writer: S | null;
}

/** The outcome of a merge. */
export interface Merged<S extends UndoStep = UndoStep> {
  /** `null` where the file goes. */
  content: string | null;
  conflicts: MergeConflict<S>[];
  /** How many lines a redaction blanked that would be put back. */
  blanked: number;
  /** Lines of the writes that a conflict leaves as they are. */
  undecided: ReadonlySet<string>;
  /** Lines that the writes had added, and that others deleted since: there is nothing to take out. */
  deleted: ReadonlySet<string>;
}

/** Lines of others, in place of which lines would be put back. */
interface Conflict<S extends UndoStep> {
  theirs: Set<Line<S>>;
  /** What would be put back: lines of the list that are not on. */
  restored: Set<Line<S>>;
  /** What the writes had written and taken out there. */
  texts: Set<string>;
  writer: S | null;
}

/**
 * Takes writes out of the present content of a file. Gets its changes newest first, from the present
 * back to the oldest that is to be undone, and undoes each from the result of the one before: lines
 * that it wrote go, and lines that it took out come back where they stood, before what was added there.
 *
 * - Where a later write changed such a line, there is a conflict. A line that was deleted since needs
 *   not be taken out any more.
 * - What a later write changed in the same way is done, and so is what a revert of the write took back.
 * - Lines that no write to be undone touched stay, whatever is decided.
 *
 * Lines can be selected instead of writes: each is undone in the write that wrote it, and nothing else of
 * that write is.
 */
export class Merge<S extends UndoStep = UndoStep> {
  readonly #present: string | null;
  readonly #weave: Weave<S>;
  readonly #conflictOf = new Map<Line<S>, Conflict<S>>();
  readonly #conflicts = new Set<Conflict<S>>();
  /** Reverts that no later one took back. */
  readonly #reverts: S[] = [];
  /** Selected lines whose writers are not met yet. */
  readonly #selected = new Set<Line<S>>();
  #findStill: ((content: string) => Iterable<number>) | null = null;
  /** Lines that came back in place of selected ones in the write that is undone. */
  readonly #cameBack = new Set<Line<S>>();
  #exists: boolean;
  /** Its creation is undone. */
  #goesWithoutLines = false;
  #endsWithBreak: boolean;
  #blanked = 0;
  readonly #deleted = new Set<string>();

  constructor(present: string | null) {
    this.#present = present;
    this.#weave = new Weave(present ?? '');
    this.#exists = present !== null;
    this.#endsWithBreak = endsWithBreak(present ?? '');
  }

  /** Whether the file exists, as far as writes are undone. */
  get exists(): boolean {
    return this.#exists;
  }

  /** How many selected lines there are whose writers are not met yet. */
  get linesLeft(): number {
    return this.#selected.size;
  }

  /**
   * Selects lines of the content that the walk has come to, by their numbers from 1. Where lines come back
   * in place of some, `findStill` finds in the result the lines that are to be undone as well.
   */
  select(
    numbers: Iterable<number>,
    findStill: ((content: string) => Iterable<number>) | null = null,
  ): void {
    this.#findStill = findStill;
    for (const number of numbers) {
      const line = this.#weave.places[number - 1];
      if (line !== undefined) this.#selected.add(line);
    }
  }

  /** Takes out selected lines that only a revert is known to have written. */
  takeOutUnknown(): void {
    for (const line of this.#selected) {
      if (line.pending === null) continue;
      line.isOn = false;
      this.#selected.delete(line);
    }
  }

  /** Whether a revert took a write back, and no later revert took back that one. */
  isReverted(step: S): boolean {
    return this.#reverts.some((revert) => revert.takesBack?.(step) === true);
  }

  /** Notes what a revert took back, without going back by it. */
  note(step: S): void {
    const isWhole = step.takesBack !== null && !step.isOfLines;
    if (isWhole && !this.isReverted(step)) this.#reverts.push(step);
  }

  /**
   * Goes back by one write, and undoes it if it is selected. Returns how many selected lines it wrote:
   * that is undone, too.
   */
  back(change: Change<S>): number {
    const { step, before, after } = change;
    // A file that a revert brought back does not come back once more.
    const isDone = !step.existsAfter && this.#exists && this.isReverted(step);
    if (!step.isSelected || isDone) {
      if (!step.isSelected) this.note(step);
      // A revert brought its lines back: an earlier write wrote them.
      if (this.#selected.size > 0 && step.takesBack === null) return this.#backByLines(change);
      this.#weave.back(change);
      return 0;
    }
    this.#weave.back(change, (unit) => this.#undo(unit));
    this.#undoLastBreak(before, after);
    if (!step.existsAfter) this.#exists = true;
    if (!step.existedBefore) this.#undoCreation();
    return 0;
  }

  /** Goes back by one write, and undoes what it did to selected lines. */
  #backByLines(change: Change<S>): number {
    const { step, before, after } = change;
    const last = this.#weave.places.at(-1);
    const written = new Set(this.#selected);
    this.#weave.back(change, this.#undoLines, { isWhole: false });
    for (const line of this.#selected) written.delete(line);
    if (written.size === 0) return 0;
    this.#selectStill();
    if (last !== undefined && written.has(last)) this.#undoLastBreak(before, after);
    if (!step.existedBefore) this.#undoCreation();
    return written.size;
  }

  /** The file goes, unless it has lines: those of a conflict are there until it is decided. */
  #undoCreation(): void {
    this.#goesWithoutLines ||= this.#exists;
    this.#exists &&= this.#conflicts.size > 0 || this.#lastLine() !== null;
  }

  readonly #undoLines = (unit: Unit<S>): Line<S>[] => {
    const isChosen = new Set(unit.newer.filter((line) => this.#selected.has(line)));
    if (isChosen.size === 0) return this.#weave.pass(unit);
    const placed: Line<S>[] = [];
    for (const part of isChosen.size === unit.newer.length ? [unit] : pairLines(unit)) {
      const one = { ...part, previous: placed.at(-1) ?? unit.previous };
      if (!part.newer.some((line) => isChosen.has(line))) {
        placed.push(...this.#weave.pass(one));
        continue;
      }
      for (const line of part.newer) this.#selected.delete(line);
      for (const line of this.#undo(one, { isLines: true })) {
        placed.push(line);
        if (line.isOn) this.#cameBack.add(line);
      }
    }
    return placed;
  };

  /** Selects what is still to be undone among lines that came back, and those beside them. */
  #selectStill(): void {
    if (this.#findStill === null || this.#cameBack.size === 0) return;
    const lines = [...this.#weave.lines()].filter(({ isOn }) => isOn);
    const found = new Set(this.#findStill(lines.map(({ text }) => text ?? '').join('\n')));
    const isWritten = new Set(this.#weave.places);
    for (let at = 0; at < lines.length; at += 1) {
      const from = at;
      while (found.has(at + 1)) at += 1;
      const together = lines.slice(from, at);
      if (!together.some((line) => this.#cameBack.has(line))) continue;
      for (const line of together) if (isWritten.has(line)) this.#selected.add(line);
    }
    this.#cameBack.clear();
  }

  /** The result. `decide` says for each conflict what is taken; by default `theirs`. */
  finish(decide: (conflict: MergeConflict<S>) => Take = () => 'theirs'): Merged<S> {
    const conflicts: MergeConflict<S>[] = [];
    const undecided = new Set<string>();
    const open = [...this.#conflicts].filter((one) => one.theirs.size + one.restored.size > 0);
    const described = describe(this.#weave, open, this.#present ?? '');
    for (const [conflict, shown] of described) {
      conflicts.push(shown);
      const take = decide(shown);
      if (take !== 'restored') for (const text of conflict.texts) undecided.add(text);
      if (take === 'theirs') continue;
      for (const line of conflict.restored) line.isOn = true;
      if (take !== 'restored') continue;
      for (const line of conflict.theirs) line.isOn = false;
      if (this.#goesWithoutLines) this.#exists &&= this.#lastLine() !== null;
    }
    conflicts.sort((one, other) => one.startLine - other.startLine);
    const content = this.#content();
    return { content, conflicts, blanked: this.#blanked, undecided, deleted: this.#deleted };
  }

  #content(): string | null {
    const texts = [...this.#weave.lines()].flatMap(({ isOn, text }) => (isOn ? [text ?? ''] : []));
    const isWanted = this.#exists || texts.length > 0;
    if (!isWanted) return null;
    if (texts.length === 0) return '';
    return texts.join('\n') + (this.#endsWithBreak ? '\n' : '');
  }

  /** Undoes a unit. Of selected lines it does not matter whether their write is reverted: they stand. */
  #undo(unit: Unit<S>, { isLines = false } = {}): Line<S>[] {
    const { newer, older, isBlank, step } = unit;
    if (isBlank && older.length > 0) {
      this.#blanked += older.filter(({ found }) => found === null).length;
      return this.#weave.pass(unit);
    }
    if (newer.length === 0) return this.#putBackRemoved(unit);
    const isReverted = !isLines && this.isReverted(step);
    // What a revert did not undo was changed by others: where a line stands, only its place changed.
    if (isReverted && newer.every(({ isOn }) => isOn)) return this.#weave.pass(unit);
    const isTakenBack = ({ killedBy }: Line<S>) =>
      killedBy?.takesBack?.(step) === true ||
      (isReverted && killedBy !== null && this.isReverted(killedBy));
    const isGone = (line: Line<S>) => !line.isOn && !this.#isShadow(line);
    if (older.length === 0) return this.#takeOutAdded(unit, { isGone, isTakenBack, isReverted });
    const gone = newer.filter(isGone);
    if (gone.every(isTakenBack) && newer.some(({ isOn }) => isOn) && !newer.some(this.#isShadow)) {
      for (const line of newer) line.isOn = false;
      return this.#putBack(unit);
    }
    if (gone.length === newer.length) {
      if (gone.some(isTakenBack)) return this.#weave.pass(unit);
      if (older.every(({ found }) => found?.isOn === true)) return this.#weave.pass(unit);
      const theirs = this.#standingIn(newer);
      if (isSameTexts(theirs, older)) return theirs;
      const isTakenOut = newer.every(({ killedBy }) => killedBy?.isSelected === true);
      if (theirs.length === 0 && isTakenOut) return this.#putBack(unit);
    }
    return this.#conflict(unit, this.#standingIn(newer));
  }

  /** Lines that the write added: each goes for itself. */
  #takeOutAdded(
    unit: Unit<S>,
    is: {
      isGone: (line: Line<S>) => boolean;
      isTakenBack: (line: Line<S>) => boolean;
      isReverted: boolean;
    },
  ): Line<S>[] {
    for (const line of unit.newer) {
      if (line.isOn && is.isReverted) continue;
      if (!is.isGone(line)) {
        line.isOn = false;
        this.#conflictOf.get(line)?.restored.delete(line);
        continue;
      }
      if (is.isTakenBack(line)) continue;
      const theirs = this.#standingIn([line]);
      if (theirs.length > 0) this.#conflict({ ...unit, newer: [line] }, theirs);
      else if (line.killedBy?.isSelected === false) this.#deleted.add(line.text ?? '');
    }
    return [];
  }

  /** Lines that the write took out, and in whose place it wrote none. */
  #putBackRemoved(unit: Unit<S>): Line<S>[] {
    const { step, older, previous, next } = unit;
    const missing = older.filter(({ found }) => found === null);
    // An earlier revert of this write put back every line that it could. It left out only lines whose
    // own writes it took back at the same time.
    if (missing.length > 0 && this.isReverted(step)) return this.#weave.pass(unit);
    // Lines of others, which stay whatever else is undone.
    if (missing.length > 0 && hasSame(previous, next, missing)) {
      return this.#weave.pass(unit);
    }
    const placed = { ...unit, older: older.map((line) => ({ ...line })) };
    for (const line of placed.older) {
      // Someone took it out again after the revert: that stays, unless it was a revert of the revert.
      const { found, by } = line;
      const isLeft =
        found !== null &&
        found.killedBy !== null &&
        by !== null &&
        found.killedBy.takesBack?.(by) !== true;
      if (isLeft) line.text = null;
    }
    return this.#putBack(placed);
  }

  #putBack(unit: Unit<S>): Line<S>[] {
    const { step, older } = unit;
    let at = placeOf(unit);
    return older.map(({ text, found }) => {
      if (found === null) {
        at = this.#weave.insertAfter(at, { text, isOn: true, writer: step });
        return at;
      }
      at = found;
      if (found.killedBy !== null && text !== null) {
        found.killedBy = null;
        found.text = text;
        found.isOn = true;
      }
      return found;
    });
  }

  /** Notes lines of others in place of which lines would be put back, and these. */
  #conflict(unit: Unit<S>, theirs: readonly Line<S>[]): Line<S>[] {
    const { step, newer, older } = unit;
    const writer = [...theirs.map((line) => line.writer), ...newer.map((line) => line.killedBy)]
      .filter((one) => one !== null)
      .reduce<S | null>((newest, one) => (one.isSelected ? newest : (newest ?? one)), null);
    const texts = new Set([...newer, ...older].map(({ text }) => text ?? ''));
    let conflict: Conflict<S> = { theirs: new Set(), restored: new Set(), texts, writer };
    for (const line of [...theirs, ...newer]) {
      const known = this.#conflictOf.get(line);
      if (known === undefined || known === conflict) continue;
      for (const one of conflict.theirs) known.theirs.add(one);
      for (const one of conflict.restored) known.restored.add(one);
      for (const text of conflict.texts) known.texts.add(text);
      this.#conflicts.delete(conflict);
      conflict = known;
    }
    this.#conflicts.add(conflict);
    for (const line of [...newer, ...theirs]) conflict.restored.delete(line);
    for (const line of theirs) if (line.isOn) conflict.theirs.add(line);
    const [first, last] = standing(newer);
    let at = placeOf(unit);
    const placed = older.map(({ text, found }) => {
      at = found ?? this.#weave.insertAfter(at, { text, writer: step, first, last });
      if (found === null) conflict.restored.add(at);
      return at;
    });
    for (const line of [...conflict.theirs, ...conflict.restored]) {
      this.#conflictOf.set(line, conflict);
    }
    return placed;
  }

  readonly #isShadow = (line: Line<S>): boolean =>
    this.#conflictOf.get(line)?.restored.has(line) === true;

  /** The lines that stand now for those of a newer content. */
  #standingIn(newer: readonly Line<S>[]): Line<S>[] {
    const found: Line<S>[] = [];
    for (const line of newer) {
      const [first, last] = standing([line]);
      for (let one = first; one !== null; one = one === last ? null : one.next) {
        const isTheirs = one.isOn || this.#isShadow(one);
        if (isTheirs && !found.includes(one)) found.push(one);
      }
    }
    return found;
  }

  /** A line end that the write gave the last line, or took from it. */
  #undoLastBreak(before: string, after: string): void {
    const [was, is] = [endsWithBreak(before), endsWithBreak(after)];
    if (was === is || is !== this.#endsWithBreak) return;
    const last = this.#lastLine();
    if (last === null || last === this.#weave.places.at(-1)) this.#endsWithBreak = was;
  }

  #lastLine(): Line<S> | null {
    let last: Line<S> | null = null;
    for (const line of this.#weave.lines()) if (line.isOn) last = line;
    return last;
  }
}

/** Lines between two others that one later write added, with the same texts. */
function hasSame<S extends Step>(
  previous: Line<S>,
  next: Line<S> | null,
  older: readonly { text: string | null }[],
): boolean {
  const groups = new Map<object, Line<S>[]>();
  for (let line = previous.next; line !== null && line !== next; line = line.next) {
    if (!line.isOn || line.hunk === null) continue;
    const group = groups.get(line.hunk);
    if (group === undefined) groups.set(line.hunk, [line]);
    else group.push(line);
  }
  return [...groups.values()].some((group) => isSameTexts(group, older));
}

function isSameTexts(
  lines: readonly { text: string | null }[],
  others: readonly { text: string | null }[],
): boolean {
  return (
    lines.length === others.length &&
    lines.every(({ text }, at) => text !== null && text === others[at]?.text)
  );
}

/** Where conflicts stand in the present content, and how their places would be. */
function describe<S extends UndoStep>(
  weave: Weave<S>,
  conflicts: readonly Conflict<S>[],
  present: string,
): Map<Conflict<S>, MergeConflict<S>> {
  const conflictOf = new Map<Line<S>, Conflict<S>>();
  for (const one of conflicts) {
    for (const line of [...one.theirs, ...one.restored]) conflictOf.set(line, one);
  }
  const spans = new Map<Conflict<S>, { first: Line<S>; last: Line<S>; from: number; to: number }>();
  let seen = 0;
  for (const line of weave.lines()) {
    const from = seen;
    if (line.number >= 0) seen = line.number + 1;
    const conflict = conflictOf.get(line);
    if (conflict === undefined) continue;
    const span = spans.get(conflict);
    if (span === undefined) spans.set(conflict, { first: line, last: line, from, to: seen });
    else Object.assign(span, { last: line, to: seen });
  }
  const texts = present === '' ? [] : present.split(/(?<=\n)/);
  const found = new Map<Conflict<S>, MergeConflict<S>>();
  for (const [conflict, { first, last, from, to }] of spans) {
    let kept = '';
    let restored = '';
    for (let line: Line<S> | null = first; line !== null; line = line === last ? null : line.next) {
      const text = `${line.text ?? ''}\n`;
      if (line.isOn) kept += text;
      const isKept = line.isOn && !conflict.theirs.has(line);
      if (isKept || conflict.restored.has(line)) restored += text;
    }
    if (kept === restored) continue;
    // Lines that another write to be undone had taken out don't stand there.
    const theirs = to > from ? texts.slice(from, to).join('') : kept;
    const [startLine, endLine, writer] = [from + 1, to, conflict.writer];
    found.set(conflict, { startLine, endLine, theirs, restored, writer });
  }
  return found;
}

/** Whether a text has a line end at its end, as one without lines has. */
function endsWithBreak(text: string): boolean {
  return text === '' || text.endsWith('\n');
}
