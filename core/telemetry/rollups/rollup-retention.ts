import type { ObservationStore } from '../../contracts/storage.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long roll-ups by hour and day are kept at least: the dashboard can look a year back. */
const ROLLUP_DAYS = 400;

/**
 * Removes roll-ups that are past their time, in batches: those by minute go with their events,
 * those by hour and day stay for 400 days, or as long as events do. Days of 0 keep all.
 */
export async function expireRollups(
  store: ObservationStore,
  options: { eventsDays: number; now: number; batchRows: number; signal: AbortSignal },
): Promise<void> {
  const { eventsDays, now, batchRows, signal } = options;
  if (eventsDays === 0) return;
  const longDays = Math.max(eventsDays, ROLLUP_DAYS);
  const days = { minute: eventsDays, hour: longDays, day: longDays } as const;
  for (const grain of ['minute', 'hour', 'day'] as const) {
    let removed = batchRows;
    while (removed === batchRows && !signal.aborted) {
      removed = await store.expireRollups(grain, now - days[grain] * DAY_MS, batchRows);
    }
  }
}
