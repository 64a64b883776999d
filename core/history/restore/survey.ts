import type { Storage } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { ownerOf, toPhysicalPath, toUserId } from '../../files/paths.ts';
import { createPause } from '../../time/pause.ts';
import { toTime } from '../../time/time.ts';
import type { Revisions } from '../revisions.ts';
import type { FileToRestore } from '../undo/plan.ts';
import { type Goal, invalidTime, nameScope } from './goal.ts';

/** Files that are looked at in one query. */
const PAGE = 500;

/** A file that is not as it was. */
export interface Target extends FileToRestore {
  size: number;
}

/** What a look at the memory found. */
export interface Survey {
  targets: Target[];
  unchanged: number;
  examined: number;
  /** When the oldest of the examined files was first written; `Infinity` without any. */
  firstAt: number;
}

/** Finds the files of a goal that are not as they were. */
export async function surveyMemory(
  revisions: Pick<Revisions, 'memoryAt'>,
  { scope, at, path }: Goal,
): Promise<Survey> {
  const found: Survey = { targets: [], unchanged: 0, examined: 0, firstAt: Infinity };
  const isOneFile = path !== '' && !path.endsWith('/');
  const pause = createPause();
  let after: string | null = null;
  do {
    const limit = isOneFile ? 1 : PAGE;
    const page = await revisions.memoryAt(scope, { at, prefix: path, after, limit });
    for (const { file, revision, state } of page.files) {
      if (isOneFile && file.path !== path) continue;
      found.examined += 1;
      found.firstAt = Math.min(found.firstAt, file.createdAt);
      const isSame =
        state === 'present'
          ? file.deletedAt === null && file.hash === revision?.hash
          : state === 'absent' && file.deletedAt !== null;
      if (isSame) {
        found.unchanged += 1;
        continue;
      }
      found.targets.push({
        key: { scope, path: file.path },
        version: state === 'pruned' ? null : (revision?.version ?? 0),
        exists: state === 'present',
        size: revision?.size ?? 0,
      });
    }
    after = isOneFile ? null : page.next;
    await pause();
  } while (after !== null);
  // Files that go make room for those that come back.
  found.targets.sort((a, b) => Number(toGo(b)) - Number(toGo(a)));
  return found;
}

const toGo = ({ version, exists }: Target): boolean => version !== null && !exists;

/** Refuses what would delete everything because of a mistake. */
export function checkGoal({ scope, at, path }: Goal, { examined, firstAt }: Survey): void {
  const whole = `${nameScope(scope)}${path === '' ? '' : ` in ${toPhysicalPath({ scope, path })}`}`;
  if (examined === 0) {
    const details = { userId: toUserId(scope), path };
    throw new MemoryError('FILE_NOT_FOUND', `There never was any memory of ${whole}.`, { details });
  }
  if (at < firstAt) {
    throw invalidTime(`${toTime(at)} is before the first write, at ${toTime(firstAt)}`);
  }
}

/** Throws `REVISION_NOT_FOUND` for a time before the user was erased. */
export async function checkErased(
  { erasure }: Pick<Storage, 'erasure'>,
  { scope, at }: Goal,
): Promise<void> {
  const erasedAt = (await erasure?.erasedAt(scope)) ?? null;
  if (erasedAt === null || at >= erasedAt) return;
  const [userId, time] = [ownerOf(scope), toTime(erasedAt)];
  const message = `The memory of ${userId} was erased at ${time}: nothing from before can be restored.`;
  throw new MemoryError('REVISION_NOT_FOUND', message, {
    details: { userId, reason: 'erased', erasedAt: time },
  });
}
