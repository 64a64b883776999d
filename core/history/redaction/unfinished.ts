import { createHmac } from 'node:crypto';
import type { Changes, Storage } from '../../contracts/storage.ts';
import type { UnfinishedRedaction } from '../../schemas/revisions.ts';
import { toTime } from '../../time/time.ts';

/** A setting for each redaction that has begun. */
export const REDACTION_PREFIX = 'redaction:';

/** What is kept of a redaction while it lasts: all but its text. */
export interface Begun {
  id: string;
  in: 'file' | 'user' | 'everywhere';
  path: string | null;
  userId: string | null;
  /** Absent in those that began before there were spaces. */
  spaceId?: string | null;
  /** Which lines of which revision are the text; `null` where it was given. */
  lines: string | null;
  reason: string;
  startedAt: number;
  /** See {@link toCheck}. */
  check: string;
  versions: number;
  /** Grows with each transaction, so that the setting proves its commit. */
  parts: number;
}

/** The setting of a redaction. */
export function toRedactionKey(id: string): string {
  return `${REDACTION_PREFIX}${id}`;
}

/** The setting with the state of a redaction, as a change. */
export function toRedactionSetting(begun: Begun): NonNullable<Changes['settings']>[number] {
  return { key: toRedactionKey(begun.id), setting: { value: begun } };
}

/**
 * Four bits of a hash of the text. They tell in most cases whether the same redaction is asked for again,
 * and tell nobody the text: of a number of four digits 625 are as likely.
 */
export function toCheck(id: string, text: string): string {
  return createHmac('sha256', id).update(text).digest('hex').slice(0, 1);
}

/** The redactions that began and have not ended, oldest first. */
export async function readBegun({ config }: Pick<Storage, 'config'>): Promise<Begun[]> {
  const entries = Object.values(await config.entries(REDACTION_PREFIX)) as (Begun | undefined)[];
  // A value that was damaged by hand is no redaction.
  return entries
    .filter((begun) => typeof begun?.startedAt === 'number')
    .map((begun) => begun as Begun)
    .sort((one, other) => one.startedAt - other.startedAt);
}

/** The same for the status. */
export async function listUnfinished(
  storage: Pick<Storage, 'config'>,
): Promise<UnfinishedRedaction[]> {
  return (await readBegun(storage)).map(
    ({ id, in: where, path, userId, spaceId = null, startedAt, reason }) => ({
      id,
      in: where,
      path,
      userId,
      spaceId,
      startedAt: toTime(startedAt),
      reason,
    }),
  );
}
