import type { RedactTextAnswer } from '../../contracts/admin.ts';
import { addLeft } from './left-names.ts';

/** Adds the next page of a redaction to those before. The last page has the receipt, and all records beside files. */
export function addRedactionPage(
  before: RedactTextAnswer,
  page: RedactTextAnswer,
): RedactTextAnswer {
  return {
    ...page,
    files: [...before.files, ...page.files],
    records: { ...page.records, reasons: before.records.reasons + page.records.reasons },
    left: addLeft(before.left, page.left),
    readers: [...before.readers, ...page.readers],
    readersComplete: before.readersComplete && page.readersComplete,
  };
}
