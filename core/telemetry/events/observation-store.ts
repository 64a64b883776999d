import type { ObservationStore, Storage } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';

/** A storage's data for the dashboard. Each read throws `NOT_FOUND` if the storage has none. */
export function observationsOf(storage: Storage): ObservationStore {
  return storage.observations ?? ABSENT;
}

const ABSENT = new Proxy({} as ObservationStore, {
  get: () => () => {
    throw new MemoryError('NOT_FOUND', 'This storage keeps no roll-ups: there is no dashboard.');
  },
});
