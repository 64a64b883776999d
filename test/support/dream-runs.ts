import type { RunStore } from '../../core/contracts/runs.ts';
import type { Storage } from '../../core/contracts/storage.ts';

/** The runs of dreaming in a storage. */
export function dreamRunsOf({ runs }: Pick<Storage, 'runs'>): RunStore {
  if (runs === undefined) throw new Error('The storage keeps no runs.');
  return runs.of('dreaming');
}

/** A storage with other methods of the runs of dreaming. */
export function withDreamRuns<S extends Storage>(
  storage: S,
  change: (runs: RunStore) => Partial<RunStore>,
): S {
  const { runs } = storage;
  if (runs === undefined) throw new Error('The storage keeps no runs.');
  const dreams = dreamRunsOf(storage);
  const changed = { ...dreams, ...change(dreams) };
  return {
    ...storage,
    runs: { ...runs, of: (plugin) => (plugin === 'dreaming' ? changed : runs.of(plugin)) },
  };
}
