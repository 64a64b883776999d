import { AssertionError } from 'node:assert/strict';
import { MemoryError } from '../errors.ts';
import { toError } from './watch-calls.ts';

/** A store that a storage driver may do without, and that rules of the suite are about. */
export type OptionalStore = 'observations' | 'dreams' | 'vectors' | 'holds' | 'erasure';

/** A rule that was checked and holds. */
export interface PassedCase {
  name: string;
  status: 'passed';
  error: null;
}

/** A rule that is broken. */
export interface FailedCase {
  name: string;
  status: 'failed';
  /** What is wrong, mostly an `AssertionError`. */
  error: Error;
}

/** A rule that was not checked, because the driver does not have the optional store. */
export interface AbsentCase {
  name: string;
  status: 'absent';
  error: null;
  store: OptionalStore;
}

/** The outcome of one case on a storage driver. */
export type StorageCaseResult = PassedCase | FailedCase | AbsentCase;

/** The outcome of one case on an embedder or a model provider. */
export type ProviderCaseResult = PassedCase | FailedCase;

/** How many rules passed, failed, and were not checked because their store is absent. */
export function countResults(results: readonly StorageCaseResult[]): {
  passed: number;
  failed: number;
  absent: number;
} {
  const counts = { passed: 0, failed: 0, absent: 0 };
  for (const { status } of results) counts[status] += 1;
  return counts;
}

/**
 * The results as text: each failed rule with its reason, the absent stores, and the counts.
 *
 * @example
 * console.log(formatResults(await checkStorage(makeStorage)));
 * // failed: keeps content byte for byte
 * //   Expected values to be strictly equal: …
 * // absent: vectors (13 rules)
 * // 78 passed, 1 failed, 13 absent of 92 rules
 */
export function formatResults(results: readonly StorageCaseResult[]): string {
  const lines: string[] = [];
  const absentStores = new Map<OptionalStore, number>();
  for (const result of results) {
    if (result.status === 'failed') {
      const reason = describeError(result.error).split('\n');
      lines.push(`failed: ${result.name}`, ...reason.map((line) => `  ${line}`.trimEnd()));
    } else if (result.status === 'absent') {
      absentStores.set(result.store, (absentStores.get(result.store) ?? 0) + 1);
    }
  }
  for (const [store, rules] of absentStores) lines.push(`absent: ${store} (${rules} rules)`);
  const { passed, failed, absent } = countResults(results);
  lines.push(`${passed} passed, ${failed} failed, ${absent} absent of ${results.length} rules`);
  return lines.join('\n');
}

function describeError(thrown: Error): string {
  const error = toError(thrown);
  if (error instanceof MemoryError) {
    const { code, message } = error;
    return `${String(code)}: ${message}${describeCause(error)}`;
  }
  const name = error instanceof AssertionError ? '' : `${error.name}: `;
  return `${name}${error.message.trimEnd()}`;
}

function describeCause(error: MemoryError): string {
  try {
    return error.cause === undefined ? '' : `\ncause: ${toError(error.cause).message}`;
  } catch {
    return '';
  }
}
