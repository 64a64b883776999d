import type {
  HygieneFinding,
  RedactTextAnswer,
  RedactTextRequest,
} from '../../core/contracts/admin.ts';
import { listSecrets } from '../../core/screening/detect.ts';
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

/** `v3`, or `2 of v1 to v5`. */
export function tellVersions({
  versions,
  fromVersion,
  toVersion,
}: Pick<RedactTextAnswer['files'][number], 'versions' | 'fromVersion' | 'toVersion'>): string {
  return fromVersion === toVersion
    ? `v${toVersion}`
    : `${versions} of v${fromVersion} to v${toVersion}`;
}

/** Whether the text was found nowhere. */
export function isNowhere({ files, records }: RedactTextAnswer): boolean {
  return files.length === 0 && Object.values(records).every((rows) => rows === 0);
}

/** A text that may have to go, and the file that it was seen in. */
export interface FoundText {
  text: string;
  path: string;
}

/**
 * The first line that a finding is about, without its bullet: as it stands, or as it was before it was taken
 * away. Of a line with a secret, the secret alone.
 */
export async function readFindingText(
  api: Pick<Api, 'file' | 'revision'>,
  { kind, places: [place], request }: Pick<HygieneFinding, 'kind' | 'places' | 'request'>,
): Promise<FoundText> {
  const [gone] = request?.revisions ?? [];
  const [path = '', number = 0, content] =
    gone === undefined
      ? [place?.path, place?.lines[0], (await api.file(place?.path ?? '')).file.content]
      : await api
          .revision(gone.id)
          .then((one) => [one.path, gone.lines[0], one.contentBefore ?? ''] as const);
  const line = content.split('\n')[number - 1] ?? '';
  const [secret] = kind === 'secret' ? listSecrets(line) : [];
  return { path, text: secret ?? line.trim().replace(/^[-*+]\s+/, '') };
}
