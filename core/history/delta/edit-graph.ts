/**
 * Steps that the search for a shortest line diff may take before the rest becomes one replacement.
 * They take about 10 ms, and the search runs inside a write's transaction.
 */
const SEARCH_STEPS = 2 ** 20;

/**
 * Edits from either end after which a search stops looking for the shortest path. It then splits the
 * texts at the lines that occur once in each (git's `--patience`), or else at the farthest point
 * reached (GNU diff's "too expensive" heuristic).
 */
const SEARCH_EDITS = 256;

/**
 * Finds a longest common subsequence of two lists of lines and marks the lines outside it: 1 where a
 * line is not in the other text, 0 where it is.
 *
 * Lines that only one side has can't be part of it, so they are removed first. This makes both the
 * usual edit (some new lines, some removed) and a complete rewrite of 100,000 lines almost free.
 */
export function findChangedLines(olderLines: readonly string[], newerLines: readonly string[]) {
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

/** The lines of one text that also occur in the other. */
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
 * needs linear memory. Returns the steps taken: at most {@link SEARCH_STEPS} plus two per line.
 */
function searchPath(older: Side, newer: Side, differentLines: number): number {
  const search = createSearch(older.lines, newer.lines, differentLines);
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

/** The state of one search through the edit graph. */
type Search = ReturnType<typeof createSearch>;

/** `differentLines`: how many different lines both sides have together. */
function createSearch(older: Int32Array, newer: Int32Array, differentLines: number) {
  const diagonals = older.length + newer.length + 3;
  return {
    older,
    newer,
    differentLines,
    /** For each diagonal `x - y`, the largest x that a path from the start of the box reaches. */
    forward: new Int32Array(diagonals),
    /** For each diagonal, the smallest x that a path from the end of the box reaches. */
    backward: new Int32Array(diagonals),
    /** Index of diagonal 0 in both. */
    origin: newer.length + 1,
    steps: 0,
  };
}

/** Marks a diagonal that no forward path has reached. */
const NOT_FORWARD = -(2 ** 30);

/** Marks a diagonal that no backward path has reached. */
const NOT_BACKWARD = 2 ** 30;

/**
 * Finds points on a path through a box, excluding its start and end. Returns none when the steps are
 * used up. Neither side of the box may be empty, or share its first or last line with the other.
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
    // Each edit reaches one more diagonal on either side, which may hold values of an earlier box.
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

/** Finds the longest list of lines that occur once on each side of the box, in the same order. */
function findOnceLines(search: Search, { x: xStart, xEnd, y: yStart, yEnd }: Box): Point[] {
  const { differentLines } = search;
  const inOlder = findOncePlaces(search.older.subarray(xStart, xEnd), {
    offset: xStart,
    differentLines,
  });
  const inNewer = findOncePlaces(search.newer.subarray(yStart, yEnd), {
    offset: yStart,
    differentLines,
  });
  search.steps += xEnd - xStart + (yEnd - yStart);
  // The longest increasing subsequence of y by patience sorting: `ends[n]` is the match with the
  // smallest y that ends a subsequence of n + 1 matches.
  const ends: OnceMatch[] = [];
  for (let x = xStart; x < xEnd; x++) {
    const line = search.older[x] as number;
    const y = (inNewer[line] as number) - 1;
    if (y < 0 || (inOlder[line] as number) < 0) continue;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const half = (low + high) >>> 1;
      if ((ends[half] as OnceMatch).y < y) low = half + 1;
      else high = half;
    }
    ends[low] = { x, y, before: ends[low - 1] ?? null };
  }
  const points: Point[] = [];
  for (let end = ends.at(-1) ?? null; end !== null; end = end.before) points.push(end);
  return points.reverse();
}

/** A line that occurs once on either side, linked to the match before it. */
interface OnceMatch extends Point {
  before: OnceMatch | null;
}

/**
 * For each line's number: 0 if it does not occur, -1 if it occurs several times, else its index in
 * the text (`offset` is the index of the first line) + 1.
 */
function findOncePlaces(
  lines: Int32Array,
  { offset, differentLines }: { offset: number; differentLines: number },
): Int32Array {
  const places = new Int32Array(differentLines);
  for (const [index, line] of lines.entries()) {
    places[line] = places[line] === 0 ? offset + index + 1 : -1;
  }
  return places;
}

/** Finds the point farthest from where its path started, after {@link SEARCH_EDITS} edits. */
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

/** The first diagonal inside the box with the same parity as `from`. */
function firstDiagonal(from: number, lowest: number): number {
  return from >= lowest ? from : lowest + ((lowest - from) & 1);
}
