import type { RedactTextAnswer, RedactTextRequest } from '../../core/contracts/admin.ts';
import { addRedactionPage } from '../../core/history/redaction/add-page.ts';
import { addPages } from '../../core/lists/add-pages.ts';
import type { Api } from './api.ts';
import { count } from './story.ts';

/** Asks for all pages of a redaction, or of its preview, and adds them up. */
export async function redactAll(api: Api, request: RedactTextRequest): Promise<RedactTextAnswer> {
  return await addPages((place) => api.redactText({ ...request, ...place }), addRedactionPage);
}

const RECORDS = {
  reasons: 'reason of a revision',
  runs: 'dream run',
  events: 'event',
  answers: 'kept answer',
  audit: 'row of the audit',
  notes: 'note of an operator',
} as const;

/** `5 versions of 2 files, 1 dream run.` */
export function tellPlaces({ files, records }: RedactTextAnswer): string {
  const versions = files.reduce((sum, file) => sum + file.versions, 0);
  const others = Object.entries(RECORDS)
    .map(([name, label]) => [records[name as keyof typeof RECORDS], label] as const)
    .filter(([rows]) => rows > 0)
    .map(([rows, label]) => (rows === 1 ? `1 ${label}` : `${rows} × ${label}`));
  return [`${count(versions, 'version')} of ${count(files.length, 'file')}`, ...others].join(', ');
}

/** Whether the text was found nowhere. */
export function isNowhere({ files, records }: RedactTextAnswer): boolean {
  return files.length === 0 && Object.values(records).every((rows) => rows === 0);
}
