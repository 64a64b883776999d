/** Why a pattern can't be used. The message says what to write instead. */
export class PatternError extends Error {}

/** Whether a character fits. */
export type CharacterTest = (code: number) => boolean;

/** A part of a pattern, as it was written. */
export type PatternNode =
  | { kind: 'char'; test: CharacterTest; source: string }
  | { kind: 'assert'; holds: (text: string, at: number) => boolean }
  | { kind: 'all' | 'any'; nodes: readonly PatternNode[] }
  | { kind: 'repeat'; node: PatternNode; least: number; most: number; isLazy: boolean };

const MOST_REPEATS = 200;
const PATTERN_LENGTH = 500;

/**
 * Reads the syntax of JavaScript with `flags`, without back references and lookaround; `^` and `$` are
 * the ends of a line. Throws a {@link PatternError}.
 */
export function readPattern(source: string, flags: 'u' | 'iu'): PatternNode {
  if (source.length > PATTERN_LENGTH) {
    throw new PatternError(`is longer than ${PATTERN_LENGTH} characters`);
  }
  try {
    new RegExp(source, 'u');
  } catch (error) {
    const message = (error as Error).message.replace(/^.*\/u?: /, '');
    throw new PatternError(`is not a regular expression: ${message}`);
  }
  return new Parser(source, flags).parse();
}

/** Reads a pattern that JavaScript accepts with the flag `u`. */
class Parser {
  readonly #source: string;
  readonly #flags: string;
  #at = 0;

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#flags = flags;
  }

  parse(): PatternNode {
    const ways: PatternNode[] = [];
    do {
      const nodes: PatternNode[] = [];
      while (this.#at < this.#source.length && !'|)'.includes(this.#peek())) {
        nodes.push(this.#repeated(this.#atom()));
      }
      ways.push({ kind: 'all', nodes });
    } while (this.#take('|'));
    return ways.length === 1 ? (ways[0] as PatternNode) : { kind: 'any', nodes: ways };
  }

  #peek(): string {
    return this.#source[this.#at] ?? '';
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #atom(): PatternNode {
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
      /^\\(?:[pP]\{[^}]*\}|u\{[0-9a-fA-F]+\}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[\s\S])/.exec(
        rest,
      )?.[0] ??
      String.fromCodePoint(rest.codePointAt(0) as number);
    this.#at += one.length;
    return { kind: 'char', test: toTest(one, this.#flags), source: one };
  }

  #group(): PatternNode {
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

  #edge(isEdge: boolean): PatternNode {
    this.#at += 2;
    const isWord = (sign: string | undefined) => sign !== undefined && /[\p{L}\p{N}_]/u.test(sign);
    return {
      kind: 'assert',
      holds: (text, at) => (isWord(text[at - 1]) !== isWord(text[at])) === isEdge,
    };
  }

  #repeated(node: PatternNode): PatternNode {
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
function toTest(one: string, flags: string): CharacterTest {
  const pattern = new RegExp(`^${one}$`, flags);
  const isEnd = one === '.' ? (code: number) => code === 10 || code === 13 : () => false;
  const fits = (code: number) => !isEnd(code) && pattern.test(String.fromCodePoint(code));
  const known = Uint8Array.from({ length: 128 }, (_, code) => Number(fits(code)));
  return (code) => (code < 128 ? known[code] === 1 : fits(code));
}
