import type { ObservationStore, Storage } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';

/** What a storage keeps for the dashboard; where it keeps nothing, each read throws `NOT_FOUND`. */
export function observationsOf(storage: Storage): ObservationStore {
  return storage.observations ?? ABSENT;
}

const ABSENT = new Proxy({} as ObservationStore, {
  get: () => () => {
    throw new MemoryError('NOT_FOUND', 'This storage keeps no roll-ups: there is no dashboard.');
  },
});
