/**
 * A regular expression that takes linear time for any text: all ways to match are followed at once
 * (Pike's algorithm), and nothing is tried again. https://swtch.com/~rsc/regexp/regexp2.html
 */
export interface LinearPattern {
  /** Every part of a text that matches, in order, without overlaps. Empty matches are left out. */
  find(text: string): { start: number; end: number }[];
}

/** Why a pattern can't be used. The message says what to write instead. */
export class PatternError extends Error {}

type Test = (code: number) => boolean;
type Step =
  | { kind: 'char'; test: Test }
  | { kind: 'split'; first: number; second: number }
  | { kind: 'assert'; holds: (text: string, at: number) => boolean }
  | { kind: 'match' };

type Node =
  | { kind: 'char'; test: Test }
  | { kind: 'assert'; holds: (text: string, at: number) => boolean }
  | { kind: 'all' | 'any'; nodes: readonly Node[] }
  | { kind: 'repeat'; node: Node; least: number; most: number; isLazy: boolean };

/** Steps of one pattern: the time of a search is at most this times the length of the text. */
const MOST_STEPS = 1_000;
const MOST_REPEATS = 200;
const PATTERN_LENGTH = 500;
/** How often a text is read again in all, because ways went on behind a match in vain. */
const MOST_REREADS = 4;

/**
 * Compiles the syntax of JavaScript without back references and lookaround; `^` and `$` are the ends of
 * a line. Throws a {@link PatternError}.
 */
export function toLinearPattern(source: string, { ignoreCase = false } = {}): LinearPattern {
  if (source.length > PATTERN_LENGTH) {
    throw new PatternError(`is longer than ${PATTERN_LENGTH} characters`);
  }
  try {
    new RegExp(source, 'u');
  } catch (error) {
    const message = (error as Error).message.replace(/^.*\/u?: /, '');
    throw new PatternError(`is not a regular expression: ${message}`);
  }
  const node = new Parser(source, ignoreCase).parse();
  const steps: Step[] = [];
  emit(node, steps);
  steps.push({ kind: 'match' });
  return { find: (text) => findAll(steps, text) };
}

/** Reads a pattern that JavaScript accepts with the flag `u`. */
class Parser {
  readonly #source: string;
  readonly #flags: string;
  #at = 0;

  constructor(source: string, ignoreCase: boolean) {
    this.#source = source;
    this.#flags = ignoreCase ? 'iu' : 'u';
  }

  parse(): Node {
    const ways: Node[] = [];
    do {
      const nodes: Node[] = [];
      while (this.#at < this.#source.length && !'|)'.includes(this.#peek())) {
        nodes.push(this.#repeated(this.#atom()));
      }
      ways.push({ kind: 'all', nodes });
    } while (this.#take('|'));
    return ways.length === 1 ? (ways[0] as Node) : { kind: 'any', nodes: ways };
  }

  #peek(): string {
    return this.#source[this.#at] ?? '';
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #atom(): Node {
    if (this.#take('(')) return this.#group();
    if (this.#take('^'))
      return { kind: 'assert', holds: (text, at) => at === 0 || text[at - 1] === '\n' };
    if (this.#take('$')) {
      return {
        kind: 'assert',
        holds: (text, at) => at === text.length || /[\r\n]/.test(text[at] ?? ''),
      };
    }
    const rest = this.#source.slice(this.#at);
    if (/^\\[bB]/.test(rest)) return this.#edge(rest.startsWith('\\b'));
    if (/^\\(?:[1-9]|k<)/.test(rest))
      throw new PatternError('refers back to a group, which takes too long');
    const one =
      /^\[(?:\\[\s\S]|[^\]\\])*\]/.exec(rest)?.[0] ??
      /^\\(?:[pP]\{[^}]*\}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[\s\S])/.exec(
        rest,
      )?.[0] ??
      String.fromCodePoint(rest.codePointAt(0) as number);
    this.#at += one.length;
    return { kind: 'char', test: toTest(one, this.#flags) };
  }

  #group(): Node {
    if (/^\?(?:[=!]|<[=!])/.test(this.#source.slice(this.#at))) {
      throw new PatternError('looks ahead or behind, which takes too long');
    }
    const name = /^\?(?::|<[^>]+>)/.exec(this.#source.slice(this.#at))?.[0];
    if (name !== undefined) this.#at += name.length;
    else if (this.#peek() === '?') throw new PatternError('has a group with flags');
    const inside = this.parse();
    this.#take(')');
    return inside;
  }

  #edge(isEdge: boolean): Node {
    this.#at += 2;
    const isWord = (sign: string | undefined) => sign !== undefined && /[\p{L}\p{N}_]/u.test(sign);
    return {
      kind: 'assert',
      holds: (text, at) => (isWord(text[at - 1]) !== isWord(text[at])) === isEdge,
    };
  }

  #repeated(node: Node): Node {
    const found = /^(?:[*+?]|\{(\d{1,9})(?:(,)(\d{0,9}))?\})(\??)/.exec(
      this.#source.slice(this.#at),
    );
    if (found === null) return node;
    const [whole, from, comma, to, lazy] = found;
    this.#at += whole.length;
    const sign = whole[0];
    const least = from === undefined ? (sign === '+' ? 1 : 0) : Number(from);
    const most =
      from === undefined
        ? sign === '?'
          ? 1
          : Infinity
        : comma === undefined
          ? least
          : to === '' || to === undefined
            ? Infinity
            : Number(to);
    const bound = most === Infinity ? least : most;
    if (bound > MOST_REPEATS)
      throw new PatternError(`repeats something more than ${MOST_REPEATS} times`);
    return this.#repeated({ kind: 'repeat', node, least, most, isLazy: lazy === '?' });
  }
}

/** Whether a character fits, asked of JavaScript once for each ASCII character. */
function toTest(one: string, flags: string): Test {
  const pattern = new RegExp(`^${one}$`, flags);
  const isEnd = one === '.' ? (code: number) => code === 10 || code === 13 : () => false;
  const fits = (code: number) => !isEnd(code) && pattern.test(String.fromCodePoint(code));
  const known = Uint8Array.from({ length: 128 }, (_, code) => Number(fits(code)));
  return (code) => (code < 128 ? known[code] === 1 : fits(code));
}

function emit(node: Node, steps: Step[]): void {
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

function emitWays(nodes: readonly Node[], steps: Step[]): void {
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

function emitRepeat(node: Extract<Node, { kind: 'repeat' }>, steps: Step[]): void {
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
function findStarters(steps: readonly Step[]): readonly Test[] | null {
  const starters: Test[] = [];
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
function skipTo(starters: readonly Test[] | null, text: string, from: number): number {
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
