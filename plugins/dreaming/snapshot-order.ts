import { createHash } from 'node:crypto';

/** Where reading goes on: kept between the runs of a user as one short text. */
export interface ReadingPlace {
  /** The changed file that all before it were shown with, by when it changed and by its key. */
  changedAt: number;
  changedKey: string;
  /** The key of the last file that came by in rotation. */
  rotationKey: string;
  /** Runs that had no room for the next one in rotation. */
  waited: number;
  /** The key of a large file that is read in parts, and the line where the next part begins. */
  partKey: string;
  partLine: number;
}

/** Runs that the next file in rotation waits for room, before it comes before all others. */
export const MOST_WAITED = 3;

const FORMS = ['v2', 'v3'];

/**
 * The place that a run left. A text of another form is one of an earlier version: then what changed
 * since the last run's watermark is changed, and the rotation begins again.
 */
export function parsePlace(text: string | null, watermark: number | null): ReadingPlace {
  const [form = '', changedAt = '', changedKey = '', rotationKey = '', waited = '', ...part] =
    text?.split(':') ?? [];
  const [partKey = '', partLine = '1'] = part;
  const large = { partKey, partLine: Number(partLine) };
  if (!FORMS.includes(form)) {
    // Behind every key of that millisecond: the watermark has seen all of it.
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

/** What files are put in order by: short, whatever the length of their path. */
export function keyOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 24);
}

/** Files that changed behind a place, those that wait the longest first. */
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

/** Files from the one behind a place on, once around: the longest unreviewed first. */
export function inRotation<T extends { key: string }>(
  files: readonly T[],
  { rotationKey }: ReadingPlace,
): T[] {
  const sorted = [...files].sort((a, b) => (a.key < b.key ? -1 : 1));
  const start = sorted.findIndex(({ key }) => key > rotationKey);
  return start <= 0 ? sorted : [...sorted.slice(start), ...sorted.slice(0, start)];
}
