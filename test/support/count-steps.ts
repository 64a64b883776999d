type Search = (this: string, wanted: string, position?: number) => number;

/**
 * Counts the characters that a run may look at: one for each `charCodeAt`, and for each `indexOf`
 * the text it walked times what it looked for, which is what that costs at worst. So a test bounds
 * work without a clock.
 */
export function countSteps(run: () => unknown): number {
  const prototype = String.prototype as unknown as {
    charCodeAt: (this: string, index: number) => number;
    indexOf: Search;
    lastIndexOf: Search;
  };
  const { charCodeAt, indexOf, lastIndexOf } = prototype;
  let steps = 0;
  prototype.charCodeAt = function (index) {
    steps += 1;
    return charCodeAt.call(this, index);
  };
  prototype.indexOf = function (wanted, position = 0) {
    const at = indexOf.call(this, wanted, position);
    steps += ((at === -1 ? this.length : at) - position + 1) * String(wanted).length;
    return at;
  };
  prototype.lastIndexOf = function (wanted, position = Infinity) {
    const at = lastIndexOf.call(this, wanted, position);
    steps += (Math.min(position, this.length) - Math.max(at, 0) + 1) * String(wanted).length;
    return at;
  };
  try {
    run();
  } finally {
    Object.assign(prototype, { charCodeAt, indexOf, lastIndexOf });
  }
  return steps;
}

/** Counts the characters that expressions walk over, in the same way. */
export function countMatched(run: () => unknown): number {
  const { exec } = RegExp.prototype;
  let steps = 0;
  RegExp.prototype.exec = function (text) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const match = exec.call(this, text);
    steps += (match === null ? String(text).length : match.index + match[0].length) - from;
    return match;
  };
  try {
    run();
  } finally {
    RegExp.prototype.exec = exec;
  }
  return steps;
}

/** Counts the elements of arrays that look-ups pass: `some`, `every`, `find`, `includes` and their like. */
export async function countVisited(run: () => Promise<unknown>): Promise<number> {
  const prototype = Array.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
  let visited = 0;
  const names = ['some', 'every', 'find', 'findIndex', 'findLast', 'findLastIndex'];
  const plain = ['includes', 'indexOf', 'lastIndexOf'];
  const originals = [...names, ...plain].map((name) => [name, prototype[name]] as const);
  for (const [name, original] of originals) {
    prototype[name] = function (this: unknown[], ...args) {
      const [wanted, ...rest] = args;
      if (typeof wanted !== 'function' || plain.includes(name)) {
        // At worst.
        visited += this.length;
        return original?.call(this, ...args);
      }
      const test = (...values: unknown[]) => {
        visited += 1;
        return Reflect.apply(wanted as () => unknown, rest[0], values);
      };
      return original?.call(this, test, ...rest);
    };
  }
  try {
    await run();
  } finally {
    Object.assign(prototype, Object.fromEntries(originals));
  }
  return visited;
}
