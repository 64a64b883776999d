import assert from 'node:assert/strict';
import { MemoryError, type ErrorCode } from '../errors.ts';
import type { CaseResult } from './report.ts';
import { runCase } from './run-case.ts';
import { type PendingCalls, show, toError, watchCalls } from './watch-calls.ts';

/** Makes the embedders or model providers that a suite checks. */
export interface ProviderSetup<Provider> {
  /** Makes one that works, a new one each time. */
  make(): Provider | Promise<Provider>;
  /** Makes one whose provider can't be reached and that gives up within seconds. */
  makeUnreachable(): Provider | Promise<Provider>;
}

/** One rule of a provider's contract. */
export interface ProviderCase<Setup> {
  /** The rule, as a sentence about the provider. */
  name: string;
  /** Rejects with what is wrong when the provider breaks the rule. */
  run: (setup: Setup) => Promise<void>;
}

/** Options of `checkEmbedder` and `checkModelProvider`. */
export interface CheckProviderOptions {
  /** A case fails when it takes longer. Default 180,000, as a model on a small machine is slow. */
  timeLimitMs?: number;
  /** Called after each case. */
  onResult?: (result: CaseResult) => void;
}

const TIME_LIMIT_MS = 180_000;

/** Text that an error must not repeat. */
export const CANARY = 'a word that nobody else says: quetzalcoatlus';

/** Runs cases one after the other. Never rejects for a broken provider. */
export async function checkProvider<Provider extends object>(
  setup: ProviderSetup<Provider>,
  cases: readonly ProviderCase<ProviderSetup<Provider>>[],
  { timeLimitMs = TIME_LIMIT_MS, onResult }: CheckProviderOptions = {},
): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const providerCase of cases) {
    const result = await resultOf(providerCase, setup, timeLimitMs);
    results.push(result);
    onResult?.(result);
  }
  return results;
}

async function resultOf<Provider extends object>(
  { name, run }: ProviderCase<ProviderSetup<Provider>>,
  setup: ProviderSetup<Provider>,
  timeLimitMs: number,
): Promise<CaseResult> {
  const pending: PendingCalls = new Map();
  const watch = (made: unknown): Provider => {
    assert.ok(typeof made === 'object' && made !== null, `There is no provider: ${show(made)}.`);
    return watchCalls(made as Provider, { pending });
  };
  const watched = watchCalls(
    {
      make: async () => watch(await setup.make()),
      makeUnreachable: async () => watch(await setup.makeUnreachable()),
    },
    { pending },
  );
  try {
    await runCase(() => run(watched), { timeLimitMs, pending });
    return { name, status: 'passed', error: null };
  } catch (thrown) {
    return { name, status: 'failed', error: toError(thrown) };
  }
}

/** Fails unless the call rejects with a `MemoryError` of one of the codes that repeats no input. */
export async function assertRefused(
  call: Promise<unknown>,
  codes: readonly ErrorCode[],
): Promise<void> {
  const error = await call.then(
    () => assert.fail('The call was not refused.'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof MemoryError, `Not a MemoryError: ${show(error)}`);
  assert.ok(codes.includes(error.code), `The code is ${error.code}, not ${codes.join(' or ')}.`);
  const shown = JSON.stringify([error.message, error.details ?? null]);
  assert.ok(!shown.includes(CANARY), 'The error repeats what was sent.');
}

/** Fails when the call takes longer: one that ignores its signal may never end. */
export async function withinLimit<T>(call: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new assert.AssertionError({ message: `The call took over ${limitMs} ms.` })),
      limitMs,
    );
  });
  try {
    return await Promise.race([call, limit]);
  } finally {
    clearTimeout(timer);
  }
}
