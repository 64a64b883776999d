import type { RedactTextAnswer, RedactTextRequest } from '../../core/contracts/admin.ts';
import type { Api } from './api.ts';
import { count } from './story.ts';

/** Asks for all pages of a redaction, or of its preview, and adds them up. */
export async function redactAll(api: Api, request: RedactTextRequest): Promise<RedactTextAnswer> {
  let all: RedactTextAnswer | null = null;
  let cursor: string | null = null;
  do {
    const page: RedactTextAnswer = await api.redactText({
      ...request,
      ...(cursor === null ? {} : { cursor }),
    });
    all = all === null ? page : addPage(all, page);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return all;
}

/** The last page has the receipt. */
function addPage(before: RedactTextAnswer, page: RedactTextAnswer): RedactTextAnswer {
  const { reasons, runs, events, answers, audit } = before.records;
  const both = (one: readonly string[], other: readonly string[]) => [
    ...new Set([...one, ...other]),
  ];
  return {
    ...page,
    files: [...before.files, ...page.files],
    records: {
      ...page.records,
      reasons: reasons + page.records.reasons,
      runs: runs + page.records.runs,
      events: events + page.records.events,
      answers: answers + page.records.answers,
      audit: audit + page.records.audit,
    },
    left: {
      paths: both(before.left.paths, page.left.paths),
      userIds: both(before.left.userIds, page.left.userIds),
      actors: both(before.left.actors, page.left.actors),
    },
    readers: [...before.readers, ...page.readers],
    readersComplete: before.readersComplete && page.readersComplete,
  };
}

const RECORDS = {
  reasons: 'reason of a revision',
  runs: 'dream run',
  events: 'event',
  answers: 'kept answer',
  audit: 'row of the audit',
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
