import type { PrefixEraseAnswer } from '../contracts/admin.ts';

/** Adds the next page of an erasure by prefix, or of its preview, to those before. */
export function addErasePage(
  before: PrefixEraseAnswer,
  page: PrefixEraseAnswer,
): PrefixEraseAnswer {
  return {
    ...page,
    matches: [...before.matches, ...page.matches],
    receipts: [...before.receipts, ...page.receipts],
  };
}
