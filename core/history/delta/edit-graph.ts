/**
 * Steps that the search for a shortest line diff may take before the rest becomes one replacement.
 * About 10 ms: a write waits for it inside its transaction.
 */
const SEARCH_STEPS = 2 ** 20;

/**
 * Edits from either end after which a search no longer looks for the shortest path, but parts the
 * texts at the lines that each has once, or else at the best point that it reached (git's
 * `--patience`, and GNU diff's "too expensive" heuristic).
 */
const SEARCH_EDITS = 256;

interface ChangedLines {
  /** 1 where a line is not in the other text, 0 where it is. */
  older: Uint8Array;
  newer: Uint8Array;
  steps: number;
}

/**
 * Finds a longest common subsequence of two lists of lines and marks what is not in it.
 *
 * Lines that only one side has can't be part of it. Taking them out first makes the usual edit,
 * which brings new lines in and throws old ones out, almost free, and so is a text of 100,000
 * lines of which none is left.
 */
export function findChangedLines(
  olderLines: readonly string[],
  newerLines: readonly string[],
): ChangedLines {
  const numbers = new Map<string, number>();
  const olderNumbers = olderLines.map((line) => {
    const known = numbers.get(line);
    if (known !== undefined) return known;
    numbers.set(line, numbers.size);
    return numbers.size - 1;
  });
  const isShared = new Uint8Array(numbers.size);
  const newerNumbers = newerLines.map((line) => {
    const known = numbers.get(line) ?? -1;
    if (known >= 0) isShared[known] = 1;
    return known;
  });
  const older = toSide(olderNumbers, isShared);
  const newer = toSide(newerNumbers, isShared);
  const steps = searchPath(older, newer, numbers.size);
  return {
    older: older.changed,
    newer: newer.changed,
    steps: olderLines.length + newerLines.length + steps,
  };
}

/** The lines of one text that the other has too. */
interface Side {
  /** Each such line as a number that is equal for equal lines. */
  lines: Int32Array;
  /** Which line of the text it is. */
  indexes: Int32Array;
  /** For each line of the text, 1 when it is changed. */
  changed: Uint8Array;
}

function toSide(numbers: readonly number[], isShared: Uint8Array): Side {
  const changed = new Uint8Array(numbers.length);
  const lines = new Int32Array(numbers.length);
  const indexes = new Int32Array(numbers.length);
  let count = 0;
  numbers.forEach((number, index) => {
    if (isShared[number] === 1) {
      lines[count] = number;
      indexes[count] = index;
      count++;
    } else {
      changed[index] = 1;
    }
  });
  return { lines: lines.subarray(0, count), indexes: indexes.subarray(0, count), changed };
}

/** A part of the edit graph: lines `x` to `xEnd` of the older side, `y` to `yEnd` of the newer. */
interface Box {
  x: number;
  xEnd: number;
  y: number;
  yEnd: number;
}

/** A point of the edit graph: before line `x` of the older side and line `y` of the newer. */
interface Point {
  x: number;
  y: number;
}

/**
 * Marks the changed lines of a shortest path through the edit graph: Myers, "An O(ND) Difference
 * Algorithm and Its Variations" (1986), section 4b, which halves the graph at a middle point and
 * needs linear memory. Gives the steps that it took: at most {@link SEARCH_STEPS} and two a line.
 */
function searchPath(older: Side, newer: Side, differentLines: number): number {
  const diagonals = older.lines.length + newer.lines.length + 3;
  const search: Search = {
    older: older.lines,
    newer: newer.lines,
    forward: new Int32Array(diagonals),
    backward: new Int32Array(diagonals),
    origin: newer.lines.length + 1,
    differentLines,
    steps: 0,
  };
  const boxes: Box[] = [{ x: 0, xEnd: older.lines.length, y: 0, yEnd: newer.lines.length }];
  for (let box = boxes.pop(); box !== undefined; box = boxes.pop()) {
    let { x, xEnd, y, yEnd } = box;
    const before = x - xEnd;
    while (x < xEnd && y < yEnd && older.lines[x] === newer.lines[y]) {
      x++;
      y++;
    }
    while (x < xEnd && y < yEnd && older.lines[xEnd - 1] === newer.lines[yEnd - 1]) {
      xEnd--;
      yEnd--;
    }
    search.steps += 1 + (x - xEnd - before);
    const points = x < xEnd && y < yEnd ? findPoints(search, { x, xEnd, y, yEnd }) : [];
    if (points.length === 0) {
      for (; x < xEnd; x++) older.changed[older.indexes[x] as number] = 1;
      for (; y < yEnd; y++) newer.changed[newer.indexes[y] as number] = 1;
      continue;
    }
    for (const point of points) {
      boxes.push({ x, xEnd: point.x, y, yEnd: point.y });
      ({ x, y } = point);
    }
    boxes.push({ x, xEnd, y, yEnd });
  }
  return search.steps;
}

/** What one search through the edit graph has at hand. */
interface Search {
  older: Int32Array;
  newer: Int32Array;
  /** For each diagonal `x - y`, the largest x that a path from the start of the box reaches. */
  forward: Int32Array;
  /** For each diagonal, the smallest x that a path from the end of the box reaches. */
  backward: Int32Array;
  /** Index of diagonal 0 in both. */
  origin: number;
  /** How many numbers stand for lines. */
  differentLines: number;
  steps: number;
}

/** What a forward path has reached on a diagonal where there is none. */
const NOT_FORWARD = -(2 ** 30);

/** The same for a backward path. */
const NOT_BACKWARD = 2 ** 30;

/**
 * Finds points inside a box on a path through it, neither its start nor its end, or none when the
 * steps are used up. The box has no common line at either end and no empty side.
 */
function findPoints(search: Search, box: Box): Point[] {
  const { older, newer, forward, backward, origin } = search;
  const { x: xStart, xEnd, y: yStart, yEnd } = box;
  const lowest = xStart - yEnd;
  const highest = xEnd - yStart;
  const first = xStart - yStart;
  const last = xEnd - yEnd;
  const isOdd = ((first - last) & 1) === 1;
  forward[origin + first] = xStart;
  backward[origin + last] = xEnd;
  for (let edits = 1; edits <= SEARCH_EDITS; edits++) {
    // A path spreads by one diagonal with each edit; those beyond hold what an earlier box left.
    if (first - edits >= lowest) forward[origin + first - edits - 1] = NOT_FORWARD;
    if (first + edits <= highest) forward[origin + first + edits + 1] = NOT_FORWARD;
    const forwardTo = Math.min(first + edits, highest);
    for (let k = firstDiagonal(first - edits, lowest); k <= forwardTo; k += 2) {
      const removing = (forward[origin + k - 1] as number) + 1;
      const adding = forward[origin + k + 1] as number;
      let x = removing <= xEnd ? removing : NOT_FORWARD;
      if (adding > x && adding - k <= yEnd) x = adding;
      if (++search.steps > SEARCH_STEPS) return [];
      if (x < xStart) {
        forward[origin + k] = NOT_FORWARD;
        continue;
      }
      const reached = x;
      while (x < xEnd && x - k < yEnd && older[x] === newer[x - k]) x++;
      search.steps += x - reached;
      forward[origin + k] = x;
      if (isOdd && Math.abs(k - last) < edits && x >= (backward[origin + k] as number)) {
        return [{ x, y: x - k }];
      }
    }
    if (last - edits >= lowest) backward[origin + last - edits - 1] = NOT_BACKWARD;
    if (last + edits <= highest) backward[origin + last + edits + 1] = NOT_BACKWARD;
    const backwardTo = Math.min(last + edits, highest);
    for (let k = firstDiagonal(last - edits, lowest); k <= backwardTo; k += 2) {
      const removing = (backward[origin + k + 1] as number) - 1;
      const adding = backward[origin + k - 1] as number;
      let x = removing >= xStart ? removing : NOT_BACKWARD;
      if (adding < x && adding - k >= yStart) x = adding;
      if (++search.steps > SEARCH_STEPS) return [];
      if (x > xEnd) {
        backward[origin + k] = NOT_BACKWARD;
        continue;
      }
      const reached = x;
      while (x > xStart && x - k > yStart && older[x - 1] === newer[x - k - 1]) x--;
      search.steps += reached - x;
      backward[origin + k] = x;
      if (!isOdd && Math.abs(k - first) <= edits && x <= (forward[origin + k] as number)) {
        return [{ x, y: x - k }];
      }
    }
  }
  const points = findOnceLines(search, box);
  return points.length > 0 ? points : [findFarthestPoint(search, box)];
}

/** Finds the longest row of lines that either side of the box has once and in the same order. */
function findOnceLines(search: Search, { x: xStart, xEnd, y: yStart, yEnd }: Box): Point[] {
  const inOlder = findOncePlaces(search.older, xStart, xEnd, search.differentLines);
  const inNewer = findOncePlaces(search.newer, yStart, yEnd, search.differentLines);
  search.steps += xEnd - xStart + (yEnd - yStart);
  // The longest increasing subsequence of y by patience sorting: `ends[n]` is the candidate with
  // the smallest y that ends a row of n + 1.
  const ends: Candidate[] = [];
  for (let x = xStart; x < xEnd; x++) {
    const line = search.older[x] as number;
    const y = (inNewer[line] as number) - 1;
    if (y < 0 || (inOlder[line] as number) < 0) continue;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const half = (low + high) >>> 1;
      if ((ends[half] as Candidate).y < y) low = half + 1;
      else high = half;
    }
    ends[low] = { x, y, before: ends[low - 1] ?? null };
  }
  const points: Point[] = [];
  for (let end = ends.at(-1) ?? null; end !== null; end = end.before) points.push(end);
  return points.reverse();
}

interface Candidate extends Point {
  before: Candidate | null;
}

/** For each line's number: 0 where it does not occur, its index + 1 where once, -1 where often. */
function findOncePlaces(
  lines: Int32Array,
  from: number,
  to: number,
  differentLines: number,
): Int32Array {
  const places = new Int32Array(differentLines);
  for (let index = from; index < to; index++) {
    const line = lines[index] as number;
    places[line] = places[line] === 0 ? index + 1 : -1;
  }
  return places;
}

/** Finds the point of the paths after {@link SEARCH_EDITS} edits that is farthest from its end. */
function findFarthestPoint(search: Search, { x: xStart, xEnd, y: yStart, yEnd }: Box): Point {
  const { forward, backward, origin } = search;
  const lowest = xStart - yEnd;
  const highest = xEnd - yStart;
  const first = xStart - yStart;
  const last = xEnd - yEnd;
  let best = { x: xStart, y: yStart };
  let length = 0;
  const forwardTo = Math.min(first + SEARCH_EDITS, highest);
  for (let k = firstDiagonal(first - SEARCH_EDITS, lowest); k <= forwardTo; k += 2) {
    const x = forward[origin + k] as number;
    if (x - xStart + (x - k - yStart) > length) {
      best = { x, y: x - k };
      length = x - xStart + (x - k - yStart);
    }
  }
  const backwardTo = Math.min(last + SEARCH_EDITS, highest);
  for (let k = firstDiagonal(last - SEARCH_EDITS, lowest); k <= backwardTo; k += 2) {
    const x = backward[origin + k] as number;
    if (xEnd - x + (yEnd - (x - k)) > length) {
      best = { x, y: x - k };
      length = xEnd - x + (yEnd - (x - k));
    }
  }
  return best;
}

/** The first diagonal inside the box that has the parity of `from`. */
function firstDiagonal(from: number, lowest: number): number {
  return from >= lowest ? from : lowest + ((lowest - from) & 1);
}
