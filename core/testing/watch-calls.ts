import assert from 'node:assert/strict';
import { inspect } from 'node:util';

/** How many calls wait for their answer, by the name of the method. */
export type PendingCalls = Map<string, number>;

/** What {@link watchCalls} needs to know of an object. */
export interface WatchOptions {
  pending: PendingCalls;
  /** Members that may be missing. Reading any other missing member throws. */
  optional?: readonly string[];
  /** Stands before the names of the methods: `files.`. */
  prefix?: string;
}

/**
 * An object with the same members, for code that calls methods of an unknown quality. A method that
 * is missing, throws instead of rejecting or returns no promise throws an error that names it. A
 * rejection that nobody awaits does not end the process.
 */
export function watchCalls<T extends object>(target: T, options: WatchOptions): T {
  const { pending, optional = [], prefix = '' } = options;
  // An own target: the members of a frozen object can't be replaced by a proxy of that object.
  return new Proxy({} as T, {
    get(_own, key) {
      const value: unknown = Reflect.get(target, key, target);
      // `await` asks every object for `then`.
      if (typeof key === 'symbol' || key === 'then') return value;
      const name = `${prefix}${key}`;
      if (typeof value === 'function') {
        return (...args: unknown[]) =>
          watchCall(() => Reflect.apply(value, target, args) as unknown, { name, pending });
      }
      if (value === undefined || value === null) {
        assert.ok(optional.includes(key), `${name} is ${value === null ? 'null' : 'missing'}.`);
      }
      if (typeof value !== 'object' || value === null) return value;
      return watchCalls(value, { pending, prefix: `${name}.` });
    },
  });
}

function watchCall(
  call: () => unknown,
  { name, pending }: { name: string; pending: PendingCalls },
): Promise<unknown> {
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    throw new assert.AssertionError({
      message: `${name}() threw instead of rejecting: ${toError(error).message}`,
    });
  }
  assert.ok(isThenable(result), `${name}() returned ${show(result)} instead of a promise.`);
  pending.set(name, (pending.get(name) ?? 0) + 1);
  const answer = Promise.resolve(result);
  const end = () => {
    pending.set(name, (pending.get(name) ?? 0) - 1);
  };
  answer.then(end, end);
  return answer;
}

/** What was thrown, as an error with a name and a message, whatever a driver throws. */
export function toError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && isText(thrown.name) && isText(thrown.message)) return thrown;
  } catch {
    // A proxy, or an error with a getter that throws.
  }
  return new Error(`Thrown: ${show(thrown)}`);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

/** A value on one line. */
export function show(value: unknown): string {
  try {
    return inspect(value, { depth: 1, breakLength: Infinity, maxStringLength: 200 });
  } catch {
    return 'a value that cannot be shown';
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return typeof (value as { then?: unknown }).then === 'function';
}
