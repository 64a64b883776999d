import { type CoreConfig, toSettings } from '../config/service.ts';
import type { Settings } from '../config/settings.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { Storage } from '../contracts/storage.ts';
import { createIdSource, type InstanceIds } from '../ids/ids.ts';
import { toStorage } from '../storage/storage.ts';
import { createScreening, type Screening } from '../screening/screening.ts';
import { createClock } from '../time/clock.ts';

/** What every part of a service works with. */
export interface Basis {
  storage: Storage;
  settings: Settings;
  screening: Screening;
  log: Logger;
  ids: InstanceIds;
  now: () => number;
  /** The time by which old rows are removed: it follows a jump forward only after a day. */
  confirmedNow: () => number;
}

const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Checks the settings of a configuration, and makes the clock and the ids of a service. */
export function createBasis(
  config: CoreConfig,
  { ticks }: { ticks?: (() => number) | undefined },
): Basis {
  const settings = toSettings(config);
  const screening = createScreening(settings);
  const storage = toStorage(config.storage);
  const { log = SILENT } = config;
  const { now, confirmedNow } = createClock({
    now: config.now ?? Date.now,
    ticks: ticks ?? config.now ?? (() => performance.now()),
    log,
  });
  return { storage, settings, screening, log, ids: createIdSource(now), now, confirmedNow };
}
