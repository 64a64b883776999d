import type { RedactTextAnswer } from '../../contracts/admin.ts';

/** Adds the next page of a redaction to those before. The last page has the receipt, and all records beside files. */
export function addRedactionPage(
  before: RedactTextAnswer,
  page: RedactTextAnswer,
): RedactTextAnswer {
  const both = <Item>(one: readonly Item[], other: readonly Item[]) => [
    ...new Set([...one, ...other]),
  ];
  return {
    ...page,
    files: [...before.files, ...page.files],
    records: { ...page.records, reasons: before.records.reasons + page.records.reasons },
    left: {
      paths: both(before.left.paths, page.left.paths),
      userIds: both(before.left.userIds, page.left.userIds),
      actors: both(before.left.actors, page.left.actors),
    },
    readers: [...before.readers, ...page.readers],
    readersComplete: before.readersComplete && page.readersComplete,
  };
}
