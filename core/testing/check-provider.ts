import assert from 'node:assert/strict';
import { MemoryError, type ErrorCode } from '../errors.ts';

/** One rule of a provider's contract. */
export interface ProviderCase<Setup> {
  /** The rule, as a sentence about the provider. */
  name: string;
  /** Rejects with what is wrong when the provider breaks the rule. */
  run: (setup: Setup) => Promise<void>;
}

/** What one case came to. */
export interface ProviderCaseResult {
  name: string;
  /** What is wrong, mostly an `AssertionError`; `null` when the rule holds. */
  error: Error | null;
}

/** Text that a refusal must not repeat. */
export const CANARY = 'a word that nobody else says: quetzalcoatlus';

/** Runs cases one after the other. Never rejects for a rule that is broken. */
export async function checkProvider<Setup>(
  setup: Setup,
  cases: readonly ProviderCase<Setup>[],
): Promise<readonly ProviderCaseResult[]> {
  const results: ProviderCaseResult[] = [];
  for (const { name, run } of cases) {
    const error = await run(setup).then(
      () => null,
      (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown))),
    );
    results.push({ name, error });
  }
  return results;
}

/** Fails unless the call rejects with a `MemoryError` of one of the codes that repeats no input. */
export async function assertRefused(
  call: Promise<unknown>,
  codes: readonly ErrorCode[],
): Promise<void> {
  const error = await call.then(
    () => assert.fail('The call went through.'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof MemoryError, `It was no MemoryError: ${String(error)}`);
  assert.ok(codes.includes(error.code), `${error.code} is none of ${codes.join(', ')}.`);
  const shown = JSON.stringify([error.message, error.details ?? null]);
  assert.ok(!shown.includes(CANARY), 'The error repeats what was sent.');
}

/** Fails when the call takes longer: one that hears no signal would hold up the suite for ever. */
export async function withinLimit<T>(call: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new assert.AssertionError({ message: `It went on for ${limitMs} ms.` })),
      limitMs,
    );
  });
  try {
    return await Promise.race([call, limit]);
  } finally {
    clearTimeout(timer);
  }
}
