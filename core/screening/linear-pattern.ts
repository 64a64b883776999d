import { type CharacterTest, PatternError, type PatternNode, readPattern } from './pattern-tree.ts';
import { toRequiredPart } from './required-part.ts';

/**
 * A regular expression that takes linear time for any text: all ways to match are followed at once
 * (Pike's algorithm), and nothing is tried again. https://swtch.com/~rsc/regexp/regexp2.html
 */
export interface LinearPattern {
  /** Every part of a text that matches, in order, without overlaps. Empty matches are left out. */
  find(text: string): { start: number; end: number }[];
}

type Step =
  | { kind: 'char'; test: CharacterTest }
  | { kind: 'split'; first: number; second: number }
  | { kind: 'assert'; holds: (text: string, at: number) => boolean }
  | { kind: 'match' };

/** Steps of one pattern: the time of a search is at most this times the length of the text. */
const MOST_STEPS = 1_000;
/** How often a text is read again in all, because ways went on behind a match in vain. */
const MOST_REREADS = 4;

/**
 * Compiles the syntax of JavaScript without back references and lookaround; `^` and `$` are the ends of
 * a line. Throws a {@link PatternError}.
 */
export function toLinearPattern(source: string, { ignoreCase = false } = {}): LinearPattern {
  const flags = ignoreCase ? 'iu' : 'u';
  const tree = readPattern(source, flags);
  const steps: Step[] = [];
  emit(tree, steps);
  steps.push({ kind: 'match' });
  const required = toRequiredPart(tree, flags);
  return {
    find: (text) => (required === null || required.test(text) ? findAll(steps, text) : []),
  };
}

function emit(node: PatternNode, steps: Step[]): void {
  if (steps.length > MOST_STEPS) throw new PatternError('is too large: it takes too many steps');
  switch (node.kind) {
    case 'char':
    case 'assert':
      steps.push(node);
      break;
    case 'all':
      for (const each of node.nodes) emit(each, steps);
      break;
    case 'any':
      emitWays(node.nodes, steps);
      break;
    case 'repeat':
      emitRepeat(node, steps);
  }
}

type Split = Extract<Step, { kind: 'split' }>;

function addSplit(steps: Step[]): Split {
  const split: Split = { kind: 'split', first: steps.length + 1, second: -1 };
  steps.push(split);
  return split;
}

function emitWays(nodes: readonly PatternNode[], steps: Step[]): void {
  const jumps: Split[] = [];
  for (const [at, node] of nodes.entries()) {
    const split = at < nodes.length - 1 ? addSplit(steps) : null;
    emit(node, steps);
    if (split === null) continue;
    jumps.push(addSplit(steps));
    split.second = steps.length;
  }
  for (const jump of jumps) jump.first = jump.second = steps.length;
}

function emitRepeat(node: Extract<PatternNode, { kind: 'repeat' }>, steps: Step[]): void {
  const { least, most, isLazy } = node;
  const leave = (split: Split, out: number) => {
    if (isLazy) [split.first, split.second] = [out, split.first];
    else split.second = out;
  };
  for (let count = 0; count < least; count += 1) emit(node.node, steps);
  if (most === Infinity) {
    const from = steps.length;
    const split = addSplit(steps);
    emit(node.node, steps);
    const back = addSplit(steps);
    back.first = back.second = from;
    leave(split, steps.length);
    return;
  }
  const splits: Split[] = [];
  for (let count = least; count < most; count += 1) {
    splits.push(addSplit(steps));
    emit(node.node, steps);
  }
  for (const split of splits) leave(split, steps.length);
}

/** The ways that are followed at one place: steps by priority, and where each began. */
interface Ways {
  steps: number[];
  starts: number[];
}

function findAll(steps: readonly Step[], text: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  const seen = new Float64Array(steps.length).fill(-1);
  const starters = findStarters(steps);
  let turn = 0;
  let rereads = 0;
  let ways: Ways = { steps: [], starts: [] };
  let best: { start: number; end: number } | null = null;
  for (let at = 0; ;) {
    if (best === null && ways.steps.length === 0) at = skipTo(starters, text, at);
    const code = at < text.length ? (text.codePointAt(at) as number) : -1;
    const width = code > 0xffff ? 2 : 1;
    turn += 1;
    const here: Ways = { steps: [], starts: [] };
    const add = (step: number, start: number) =>
      addWay({ steps, text, at, seen, turn, ways: here }, step, start);
    ways.steps.forEach((step, index) => add(step, ways.starts[index] as number));
    if (best === null) add(0, at);
    const next: Ways = { steps: [], starts: [] };
    for (const [index, number] of here.steps.entries()) {
      const step = steps[number] as Step;
      const start = here.starts[index] as number;
      if (step.kind === 'match') {
        if (at > start) best = { start, end: at };
        // The ways behind it have a lower priority.
        if (at > start) break;
      } else if (step.kind === 'char' && code !== -1 && step.test(code)) {
        next.steps.push(number + 1);
        next.starts.push(start);
      }
    }
    ways = next;
    if (best !== null && ways.steps.length === 0) {
      found.push(best);
      // Goes on behind the match, as long as what is read twice stays little in all.
      rereads += at - best.end;
      if (rereads > MOST_REREADS * text.length) best.end = at;
      at = best.end;
      best = null;
      if (code === -1 && at >= text.length) return found;
      continue;
    }
    if (code === -1) return found;
    at += width;
  }
}

/** What a match begins with; `null` if it may begin with anything. */
function findStarters(steps: readonly Step[]): readonly CharacterTest[] | null {
  const starters: CharacterTest[] = [];
  const open = [0];
  const seen = new Set<number>();
  for (let number = open.pop(); number !== undefined; number = open.pop()) {
    if (seen.has(number)) continue;
    seen.add(number);
    const step = steps[number] as Step;
    if (step.kind === 'match') return null;
    if (step.kind === 'split') open.push(step.first, step.second);
    else if (step.kind === 'assert') open.push(number + 1);
    else starters.push(step.test);
  }
  return starters;
}

/** The next place where a match may begin. */
function skipTo(starters: readonly CharacterTest[] | null, text: string, from: number): number {
  if (starters === null) return from;
  let at = from;
  while (at < text.length) {
    const code = text.codePointAt(at) as number;
    if (starters.some((test) => test(code))) break;
    at += code > 0xffff ? 2 : 1;
  }
  return at;
}

interface Place {
  steps: readonly Step[];
  text: string;
  at: number;
  seen: Float64Array;
  turn: number;
  ways: Ways;
}

/** Follows a way through the steps that read nothing, in the order of their priority. */
function addWay(place: Place, from: number, start: number): void {
  const { steps, text, at, seen, turn, ways } = place;
  const open = [from];
  while (open.length > 0) {
    const number = open.pop() as number;
    if (seen[number] === turn) continue;
    seen[number] = turn;
    const step = steps[number] as Step;
    if (step.kind === 'split') open.push(step.second, step.first);
    else if (step.kind === 'assert') {
      if (step.holds(text, at)) open.push(number + 1);
    } else {
      ways.steps.push(number);
      ways.starts.push(start);
    }
  }
}
