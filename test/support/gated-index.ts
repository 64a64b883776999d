import type { IndexStore, Storage } from '../../core/contracts/storage.ts';
import { MemoryError } from '../../core/errors.ts';

/** A real storage whose search index is brought up to date only while a test says so. */
export interface GatedIndex {
  storage: Storage;
  /** Whether stale files are handed out: closed at first. */
  isOpen: boolean;
  /**
   * How the next changes of the index end, the first first: done, as a process that was killed
   * before the commit leaves it, or as one that was killed after it. Done when there is none left.
   */
  fates: ('done' | 'lost' | 'unheard')[];
}

/** Puts a gate before the index of a storage; everything else is the storage's own. */
export function gateIndex(real: Storage): GatedIndex {
  const meetFate = async <T>(run: () => Promise<T>): Promise<T> => {
    const fate = gate.fates.shift() ?? 'done';
    if (fate === 'lost') throw new MemoryError('STORAGE_UNAVAILABLE', 'Killed.');
    const answer = await run();
    if (fate !== 'done') throw new MemoryError('STORAGE_UNAVAILABLE', 'Killed.');
    return answer;
  };
  const index: IndexStore = {
    ...real.index,
    listStale: async (limit, scopes) =>
      gate.isOpen ? await real.index.listStale(limit, scopes) : [],
    add: (scope, segment) => meetFate(() => real.index.add(scope, segment)),
    merge: (scope, inputs, segment) => meetFate(() => real.index.merge(scope, inputs, segment)),
    copy: (scope, range, segment) => meetFate(() => real.index.copy(scope, range, segment)),
  };
  const storage = new Proxy(real, {
    get(target, name) {
      if (name === 'index') return index;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const gate: GatedIndex = { storage, isOpen: false, fates: [] };
  return gate;
}
