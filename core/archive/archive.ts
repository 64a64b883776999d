import type { Readable } from 'node:stream';
import { MemoryError } from '../errors.ts';
import type { AdminCaller } from '../files/admin-files.ts';
import type {
  ForeignName,
  ImportedFile,
  ImportFormat,
  ImportSummary,
  SkippedItem,
} from '../schemas/archive.ts';
import { type ExportDependencies, type ExportSelection, exportMemory } from './export.ts';
import { isGzip } from './foreign/convert-export.ts';
import { type ForeignArchive, openForeign } from './foreign/open-foreign.ts';
import { type ImportDependencies, importMemory, type ImportOptions } from './import.ts';
import type { OpenArchive } from './read.ts';

/** What is imported, and whose it is where it does not say so itself. */
export interface ImportSource extends Omit<ImportOptions, 'from'> {
  /** By default found by the content. */
  from?: ImportFormat | undefined;
  userId?: string | null;
}

/** The lines of an import. */
export type Imported = AsyncGenerator<ImportedFile | SkippedItem, ImportSummary>;

/** Memory as a file: out of a service, and into one. */
export interface Archive {
  /** Exports memory; see {@link exportMemory}. `caller` is `null` for the command line. */
  export(selection: ExportSelection, caller: AdminCaller | null): Promise<Readable>;
  /** Imports an archive, or an export of another program; see {@link importMemory}. */
  import(open: OpenArchive, source: ImportSource): Promise<Imported>;
}

/** Creates exports and imports on a storage. */
export function createArchive(deps: ImportDependencies & ExportDependencies): Archive {
  return {
    export: (selection, caller) => exportMemory(deps, selection, caller),

    async import(open, { from, userId = null, ...options }) {
      const foreign = from === 'archive' || from === 'markdown' ? null : (from ?? 'any');
      if (foreign === null || (foreign === 'any' && (await isGzip(open)))) {
        if (userId === null) return await importMemory(deps, open, options);
        const message = 'An archive names its users itself: leave out the user.';
        throw new MemoryError('INVALID_REQUEST', message);
      }
      const archive = await openForeign(open, {
        from: foreign === 'any' ? null : (foreign satisfies ForeignName),
        userId,
        maxFileBytes: deps.limits.maxFileBytes,
        now: deps.now(),
      });
      const imported = await importMemory(deps, archive.open, { ...options, from: archive.from });
      return reportItems(archive, imported);
    },
  };
}

/** Names the items that were skipped, then the files, and counts items at the end. */
async function* reportItems(
  { from, items, itemsOf, skipped }: ForeignArchive,
  imported: AsyncGenerator<ImportedFile, ImportSummary>,
): Imported {
  try {
    yield* skipped;
    let written = 0;
    let next = await imported.next();
    for (; next.done !== true; next = await imported.next()) {
      const { path, outcome } = next.value;
      if (outcome !== 'skipped') written += itemsOf.get(path) ?? 0;
      yield next.value;
    }
    return { ...next.value, source: { from, items, written, skipped: items - written } };
  } finally {
    // A reader that stops early stops the import.
    await imported.return({} as ImportSummary);
  }
}
