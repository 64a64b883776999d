import { createHash } from 'node:crypto';

/** Where the next run of a user continues reading. Stored between runs as one short text. */
export interface ReadingPlace {
  /** All changed files up to this one were shown; by the time of its change, and its key. */
  changedAt: number;
  changedKey: string;
  /** The key of the last file whose turn it was in the rotation. */
  rotationKey: string;
  /** The number of runs that had no room for the next file of the rotation. */
  waited: number;
  /** The key of a large file that is read in parts, and the line where the next part begins. */
  partKey: string;
  partLine: number;
}

/** After so many runs without room, the next file of the rotation comes first. */
export const MOST_WAITED = 3;

const FORMS = ['v2', 'v3'];

/**
 * Reads the place where a run stopped. A text of another form was written by an earlier version. Then
 * all files that changed after the last run's watermark count as changed, and the rotation begins
 * again.
 */
export function parsePlace(text: string | null, watermark: number | null): ReadingPlace {
  const [form = '', changedAt = '', changedKey = '', rotationKey = '', waited = '', ...part] =
    text?.split(':') ?? [];
  const [partKey = '', partLine = '1'] = part;
  const large = { partKey, partLine: Number(partLine) };
  if (!FORMS.includes(form)) {
    // `z` comes after every key of that millisecond, all of which the watermark includes.
    return { changedAt: watermark ?? -1, changedKey: 'z', rotationKey: '', waited: 0, ...large };
  }
  return {
    changedAt: Number(changedAt),
    changedKey,
    rotationKey,
    waited: Number(waited),
    ...large,
  };
}

/** The text of a place; {@link parsePlace} reads it. */
export function formatPlace(place: ReadingPlace): string {
  const { changedAt, changedKey, rotationKey, waited, partKey, partLine } = place;
  return ['v3', changedAt, changedKey, rotationKey, waited, partKey, partLine].join(':');
}

/** The key that orders files: short, whatever the length of the path. */
export function keyOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 24);
}

/** Files that changed after a place, the earliest change first. */
export function inOrderOfChange<T extends { updatedAt: number; key: string }>(
  files: readonly T[],
  { changedAt, changedKey }: ReadingPlace,
): T[] {
  return files
    .filter(
      ({ updatedAt, key }) =>
        updatedAt > changedAt || (updatedAt === changedAt && key > changedKey),
    )
    .sort((a, b) => a.updatedAt - b.updatedAt || (a.key < b.key ? -1 : 1));
}

/** All files once, beginning after a place: the longest unreviewed first. */
export function inRotation<T extends { key: string }>(
  files: readonly T[],
  { rotationKey }: ReadingPlace,
): T[] {
  const sorted = [...files].sort((a, b) => (a.key < b.key ? -1 : 1));
  const start = sorted.findIndex(({ key }) => key > rotationKey);
  return start <= 0 ? sorted : [...sorted.slice(start), ...sorted.slice(0, start)];
}
