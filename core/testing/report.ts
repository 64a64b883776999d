import { AssertionError } from 'node:assert/strict';
import { MemoryError } from '../errors.ts';
import { toError } from './watch-calls.ts';

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

/** A rule that was not checked, because its fault could not be brought about. */
export interface SkippedCase {
  name: string;
  status: 'skipped';
  error: null;
}

/** The outcome of one rule. */
export type CaseResult = PassedCase | FailedCase | SkippedCase;

/** How many rules passed and failed. */
export function countResults(results: readonly CaseResult[]): { passed: number; failed: number } {
  const countOf = (wanted: CaseResult['status']) =>
    results.filter(({ status }) => status === wanted).length;
  return { passed: countOf('passed'), failed: countOf('failed') };
}

/**
 * The results as text: each failed rule with its reason, and the counts.
 *
 * @example
 * console.log(formatResults(await checkEmbedder(setup)));
 * // failed: gives one vector for each text, in their order
 * //   Expected values to be strictly equal: …
 * // 9 passed, 1 failed of 10 rules
 */
export function formatResults(results: readonly CaseResult[]): string {
  const lines: string[] = [];
  for (const result of results) {
    if (result.status === 'skipped') lines.push(`not checked: ${result.name}`);
    if (result.status !== 'failed') continue;
    const reason = describeError(result.error).split('\n');
    lines.push(`failed: ${result.name}`, ...reason.map((line) => `  ${line}`.trimEnd()));
  }
  const { passed, failed } = countResults(results);
  lines.push(`${passed} passed, ${failed} failed of ${results.length} rules`);
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
