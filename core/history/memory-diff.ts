import type { ChangedFile, DiffQuery, ListAnswer } from '../contracts/admin.ts';
import type { ScopeKey } from '../contracts/records.ts';
import { invalidField } from '../errors.ts';
import { toFilteredScope, toPhysicalPath } from '../files/paths.ts';
import { answerList } from '../lists/page.ts';
import { createPause } from '../time/pause.ts';
import { parseTime } from '../time/time.ts';
import { unifiedDiff } from './delta/unified-diff.ts';
import type { HistoryParts } from './history-parts.ts';
import { type EarlierFile, memoryAt } from './time-travel.ts';

/** The most files that a page examines, and the longest that its diffs are together. */
const MAX_EXAMINED = 5_000;
const MAX_LENGTH = 2 * 1024 * 1024;

type Parts = Pick<HistoryParts, 'storage' | 'now' | 'textAt'>;

/** Lists the files of a user, a space or shared memory that differ between two times, by path, with their diffs. */
export async function listChanges(
  parts: Parts,
  query: DiffQuery,
): Promise<ListAnswer<ChangedFile>> {
  const scope = toFilteredScope(query);
  if (scope === null) throw invalidField('/userId', 'or spaceId or shared is needed', 'userId');
  const from = parseTime(query.from, 'from');
  const to = query.to === undefined ? parts.now() : parseTime(query.to, 'to');
  if (from > to) throw invalidField('/from', 'must not be after to', 'from');
  return await answerList(query, {
    list: 'diff',
    sort: 'path',
    defaultOrder: 'asc',
    async read({ limit, after }) {
      const items: ChangedFile[] = [];
      const pause = createPause();
      let length = 0;
      let examined = 0;
      for await (const [before, present] of walkPairs(parts, scope, {
        from,
        to,
        after: after === null ? null : String(after[0]),
      })) {
        const changed = await compare(parts, before, present);
        examined += 1;
        if (changed !== null) items.push(changed);
        length += changed?.diff.length ?? 0;
        if (items.length === limit || length >= MAX_LENGTH || examined === MAX_EXAMINED) {
          return { items, next: [present.file.path] };
        }
        await pause();
      }
      return { items, next: null };
    },
    toItem: (item) => item,
  });
}

/** Every file that the scope ever had, by path, as it was at the two times. */
async function* walkPairs(
  { storage: { revisions } }: Parts,
  scope: ScopeKey,
  options: { from: number; to: number; after: string | null },
): AsyncGenerator<[before: EarlierFile | null, present: EarlierFile]> {
  let { after } = options;
  do {
    const earlier = await memoryAt(revisions, scope, { at: options.from, after });
    const later = await memoryAt(revisions, scope, { at: options.to, after });
    const before = new Map(earlier.files.map((file) => [file.file.path, file]));
    for (const file of later.files) yield [before.get(file.file.path) ?? null, file];
    after = later.next;
  } while (after !== null);
}

async function compare(
  { textAt }: Parts,
  before: EarlierFile | null,
  present: EarlierFile,
): Promise<ChangedFile | null> {
  const { scope, path } = present.file;
  const key = { scope, path };
  const existed = before !== null && before.state !== 'absent';
  const exists = present.state !== 'absent';
  if (!existed && !exists) return null;
  const fromVersion = existed ? (before.revision?.version ?? null) : null;
  const toVersion = exists ? (present.revision?.version ?? null) : null;
  if (existed && exists && fromVersion !== null) {
    const [one, other] = [before.revision?.hash ?? null, present.revision?.hash ?? null];
    if (fromVersion === toVersion || (one !== null && one === other)) return null;
  }
  const older = fromVersion === null ? null : await textAt(key, fromVersion);
  const newer = toVersion === null ? null : await textAt(key, toVersion);
  const isUnknown = existed !== (older !== null) || exists !== (newer !== null);
  const physicalPath = toPhysicalPath(key);
  return {
    path: physicalPath,
    change: isUnknown ? 'unknown' : !existed ? 'created' : exists ? 'updated' : 'deleted',
    fromVersion,
    toVersion,
    diff: isUnknown ? '' : unifiedDiff(older, newer, { path: physicalPath }),
  };
}
