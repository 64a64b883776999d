/** What bounds a JSON text that somebody else wrote, whatever it holds. */
export interface JsonLimits {
  /** UTF-16 code units of the text. */
  chars: number;
  depth: number;
  /** Lists and objects: a small one takes 3 characters as text, and 20 times that in memory. */
  containers: number;
  keys: number;
  /** Members of lists and objects, whatever they are. */
  values: number;
}

/** The limits where a caller names no others: enough for an answer, a line or a request. */
const JSON_LIMITS: Readonly<JsonLimits> = {
  chars: 8 * 1024 ** 2,
  depth: 64,
  containers: 20_000,
  keys: 50_000,
  values: 200_000,
};

/** Why a text was refused. The message names the limit, or says that it is not JSON: it quotes nothing. */
export class ForeignJsonError extends Error {
  /** `cut_off`: the text ended too early. */
  readonly reason: 'syntax' | 'cut_off' | keyof JsonLimits;
  /** Where it is wrong; `null` where that is not known. */
  readonly position: number | null;

  constructor(
    reason: ForeignJsonError['reason'],
    message: string,
    { position = null, cause }: { position?: number | null; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'ForeignJsonError';
    this.reason = reason;
    this.position = position;
  }
}

/**
 * Parses JSON that somebody else wrote, at once. Longer texts are parsed in steps: see
 * {@link foreignJsonSteps}. Throws a {@link ForeignJsonError}.
 */
export function parseForeignJson(
  text: string,
  limits: Partial<Readonly<JsonLimits>> = {},
): unknown {
  const steps = foreignJsonSteps(text, limits);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * The same in steps of less than a millisecond, for `inSlices`. The result is that of `JSON.parse`,
 * which holds up everybody: 8 MB of `[],[],[]` take it half a second and 150 MB. So the text is counted
 * before anything is parsed, and a list or an object that is long is parsed in parts.
 *
 * @example
 * const value = await inSlices(foreignJsonSteps(text, { containers: 1_000 }));
 */
export function* foreignJsonSteps(
  text: string,
  limits: Partial<Readonly<JsonLimits>> = {},
  /** For tests: how many characters are parsed at a time. */
  partChars: number = PART_CHARS,
): Generator<null, unknown> {
  const long = yield* scan(text, { ...JSON_LIMITS, ...limits }, partChars);
  if (long === null) return parsePart(text, 0);
  assertBlank(text, 0, long.start);
  assertBlank(text, long.end, text.length);
  return yield* build(text, long, partChars);
}

/** So many characters are scanned or parsed in well under a millisecond. */
const PART_CHARS = 32_768;

/** A value that is longer than a part: with the parts of its content, or a text. */
interface LongValue {
  kind: 'list' | 'object' | 'text';
  start: number;
  end: number;
  parts: Part[];
}

/** Members between two commas: short ones, or a single one whose value is long. */
interface Part {
  start: number;
  end: number;
  value: LongValue | null;
}

/** A list or an object that is being scanned; the outermost one is the text itself. */
interface Frame {
  kind: 'list' | 'object' | 'root';
  start: number;
  /** Where the part begins that is not yet cut off, and its last member. */
  partStart: number;
  memberStart: number;
  /** The long value of the last member. */
  value: LongValue | null;
  parts: Part[];
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Counts what a text holds, and finds its long values; `null` where the text has none. */
function* scan(
  text: string,
  limits: Readonly<JsonLimits>,
  partChars: number,
): Generator<null, LongValue | null> {
  if (text.length > limits.chars) throw exceeds('chars', limits);
  let frame = createFrame('root', 0);
  const frames = [frame];
  let depth = 0;
  let containers = 0;
  let keys = 0;
  let values = 1;
  let stepEnd = partChars;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const start = at;
      for (;;) {
        at = text.indexOf('"', at + 1);
        if (at === -1) throw cutOff(text);
        if (at >= stepEnd) {
          yield null;
          stepEnd = at + partChars;
        }
        let first = at;
        while (text.charCodeAt(first - 1) === BACKSLASH) {
          first -= 1;
          if ((at - first) % partChars === 0) yield null;
        }
        const isEscaped = (at - first) % 2 === 1;
        if (!isEscaped) break;
      }
      if (at - start > partChars) keepLong(frame, { kind: 'text', start, end: at + 1, parts: [] });
    } else if (code === COMMA) {
      if (frame.kind === 'root') throw syntax(at);
      if (++values > limits.values) throw exceeds('values', limits);
      cut(frame, at, partChars);
      frame.memberStart = at + 1;
    } else if (code === COLON) {
      if (++keys > limits.keys) throw exceeds('keys', limits);
      // A long text may be a key; it is parsed with its member.
      if (frame.value !== null && frame.value.kind !== 'text') throw syntax(at);
      frame.value = null;
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > limits.depth) throw exceeds('depth', limits);
      if (++containers > limits.containers) throw exceeds('containers', limits);
      frame = frames[depth] ??= createFrame('list', 0);
      frame.kind = code === OPEN_LIST ? 'list' : 'object';
      frame.start = at;
      frame.partStart = frame.memberStart = at + 1;
      frame.value = null;
      if (frame.parts.length > 0) frame.parts = [];
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      const kind = code === CLOSE_LIST ? 'list' : 'object';
      if (frame.kind !== kind) throw syntax(at);
      depth -= 1;
      const { start } = frame;
      const isLong = at - start > partChars;
      if (isLong) cut(frame, at, -1);
      const { parts } = frame;
      frame = frames[depth] as Frame;
      if (isLong) keepLong(frame, { kind, start, end: at + 1, parts });
    }
    if (at >= stepEnd) {
      yield null;
      stepEnd = at + partChars;
    }
  }
  if (depth > 0) throw cutOff(text);
  return frame.value;
}

function createFrame(kind: Frame['kind'], start: number): Frame {
  return { kind, start, partStart: start, memberStart: start, value: null, parts: [] };
}

function keepLong(frame: Frame, value: LongValue): void {
  // Two values without a comma between them.
  if (frame.value !== null) throw syntax(value.start);
  frame.value = value;
}

/** Ends a part at a comma or a bracket, if it is long enough or its last member is a part of its own. */
function cut(frame: Frame, at: number, partChars: number): void {
  const { memberStart, value } = frame;
  if (value === null && at - frame.partStart <= partChars) return;
  if (value !== null && memberStart > frame.partStart) {
    frame.parts.push({ start: frame.partStart, end: memberStart - 1, value: null });
  }
  const start = value === null ? frame.partStart : memberStart;
  frame.parts.push({ start, end: at, value });
  frame.partStart = at + 1;
  frame.value = null;
}

function* build(text: string, long: LongValue, partChars: number): Generator<null, unknown> {
  if (long.kind === 'text') return yield* buildText(text, long, partChars);
  return long.kind === 'list'
    ? yield* buildList(text, long, partChars)
    : yield* buildObject(text, long, partChars);
}

function* buildList(
  text: string,
  { parts }: LongValue,
  partChars: number,
): Generator<null, unknown[]> {
  const list: unknown[] = [];
  for (const { start, end, value } of parts) {
    if (value === null) {
      const members = parsePart(`[${text.slice(start, end)}]`, start - 1) as unknown[];
      if (members.length === 0) throw syntax(end);
      for (const member of members) list.push(member);
    } else {
      assertBlank(text, start, value.start);
      assertBlank(text, value.end, end);
      list.push(yield* build(text, value, partChars));
    }
    yield null;
  }
  return list;
}

function* buildObject(
  text: string,
  { parts }: LongValue,
  partChars: number,
): Generator<null, Record<string, unknown>> {
  const object: Record<string, unknown> = {};
  for (const { start, end, value } of parts) {
    const written =
      value === null
        ? `{${text.slice(start, end)}}`
        : // The member with another value: a digit could go on with a number before it.
          `{${text.slice(start, value.start)}null}`;
    const members = parsePart(written, start - 1) as Record<string, unknown>;
    const keys = Object.keys(members);
    if (keys.length === 0) throw syntax(end);
    if (value === null) {
      for (const key of keys) setMember(object, key, members[key]);
    } else {
      assertBlank(text, value.end, end);
      setMember(object, keys[0] as string, yield* build(text, value, partChars));
    }
    yield null;
  }
  return object;
}

/** As `JSON.parse` does it: `__proto__` is a key as any other. */
function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else {
    const own = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(object, key, own);
  }
}

function* buildText(
  text: string,
  { start, end }: LongValue,
  partChars: number,
): Generator<null, string> {
  const pieces: string[] = [];
  const last = end - 1;
  for (let from = start + 1; from < last;) {
    const to = from + partChars < last ? beforeEscape(text, from, from + partChars) : last;
    pieces.push(parsePart(`"${text.slice(from, to)}"`, from - 1) as string);
    from = to;
    yield null;
  }
  return pieces.join('');
}

/** `\u0041` is the longest escape. */
const ESCAPE_CHARS = 6;

/** The last place up to `to` that is not inside an escape. */
function beforeEscape(text: string, from: number, to: number): number {
  const near = to - ESCAPE_CHARS + 1;
  const found = text.slice(near, to).lastIndexOf('\\');
  if (found === -1) return to;
  const last = near + found;
  let first = last;
  while (first > from && text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  const isComplete = (last - first) % 2 === 1;
  return isComplete ? last + 1 : last;
}

/** Parses a piece of JSON whose first character is at `offset` of the whole text. */
function parsePart(part: string, offset: number): unknown {
  try {
    // eslint-disable-next-line no-restricted-syntax -- short, and counted before
    return JSON.parse(part);
  } catch (cause) {
    const { message } = cause as Error;
    if (offset === 0 && /^(?:Unexpected end|Unterminated)/.test(message)) {
      throw new ForeignJsonError('cut_off', 'The JSON is cut off.', {
        position: part.length,
        cause,
      });
    }
    // V8 says of some faults only what they are.
    const at = / position (\d+)/.exec(message)?.[1];
    const position = at === undefined ? null : Math.max(0, offset + Number(at));
    throw new ForeignJsonError('syntax', 'It is not JSON.', { position, cause });
  }
}

function assertBlank(text: string, from: number, to: number): void {
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) throw syntax(at);
  }
}

function syntax(position: number): ForeignJsonError {
  return new ForeignJsonError('syntax', 'It is not JSON.', { position });
}

function cutOff(text: string): ForeignJsonError {
  return new ForeignJsonError('cut_off', 'The JSON is cut off.', { position: text.length });
}

const NAMES: Record<keyof JsonLimits, string> = {
  chars: 'characters',
  depth: 'levels',
  containers: 'lists and objects',
  keys: 'keys',
  values: 'values',
};

function exceeds(limit: keyof JsonLimits, limits: Readonly<JsonLimits>): ForeignJsonError {
  return new ForeignJsonError(limit, `The JSON has more than ${limits[limit]} ${NAMES[limit]}.`);
}
