import type { Readable } from 'node:stream';
import type { AdminCaller } from '../files/admin-files.ts';
import type { ImportedFile, ImportSummary } from '../schemas/archive.ts';
import { compress, type ExportSelection, exportMemory } from './export.ts';
import { type ImportDependencies, importMemory, type ImportOptions } from './import.ts';
import type { OpenArchive } from './read.ts';

/** Memory as an archive: out of a service, and into one. */
export interface Archive {
  /** The memory as a `.tar.gz`. `caller` is `null` for the command line. */
  export(selection: ExportSelection, caller: AdminCaller | null): Promise<Readable>;
  /** Imports an archive; see {@link importMemory}. */
  import(
    open: OpenArchive,
    options: ImportOptions,
  ): Promise<AsyncGenerator<ImportedFile, ImportSummary>>;
}

/** Creates exports and imports on a storage. */
export function createArchive(deps: ImportDependencies): Archive {
  return {
    export: async (selection, caller) => compress(await exportMemory(deps, selection, caller)),
    import: (open, options) => importMemory(deps, open, options),
  };
}
