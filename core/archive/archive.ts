import type { Readable } from 'node:stream';
import { MemoryError } from '../errors.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type {
  ForeignName,
  ImportFormat,
  ImportSummary,
  SkippedItem,
  SourceName,
} from '../schemas/archive.ts';
import { type ExportDependencies, type ExportSelection, exportMemory } from './export.ts';
import { sniff } from '../formats/convert-export.ts';
import { openForeign } from '../formats/open-foreign.ts';
import {
  type ImportDependencies,
  type Imported,
  importMemory,
  type ImportOptions,
} from './import.ts';
import { importVersions } from './import-versions.ts';
import type { OpenArchive } from './read.ts';

/** What is imported, and whose it is where it does not say so itself. */
export interface ImportSource extends Omit<ImportOptions, 'from' | 'goesOn'> {
  /** By default found by the content. */
  from?: ImportFormat | undefined;
  userId?: string | null;
}

/** Memory as a file: out of a service, and into one. */
export interface Archive {
  /** Exports memory; see {@link exportMemory}. `caller` is `null` for the command line. */
  export(selection: ExportSelection, caller: AuditCaller | null): Promise<Readable>;
  /** Imports an archive, or an export of another program; see {@link importMemory}. */
  import(open: OpenArchive, source: ImportSource): Promise<Imported>;
}

/** Creates exports and imports on a storage. */
export function createArchive(deps: ImportDependencies & ExportDependencies): Archive {
  return {
    export: (selection, caller) => exportMemory(deps, selection, caller),

    async import(open, { from, userId = null, ...options }) {
      if (from === 'memory-stores') return await importVersions(deps, open, options);
      const foreign = from === 'archive' || from === 'markdown' ? null : (from ?? 'any');
      if (foreign === null || (foreign === 'any' && (await sniff(open)) === 'archive')) {
        const isFolder = from === 'markdown';
        if (userId === null) {
          if (!isFolder) return await importMemory(deps, open, options);
          const imported = await importMemory(deps, open, { ...options, from, goesOn: true });
          return reportItems({ from, items: null, itemsOf: () => 1, skipped: [] }, imported);
        }
        const message = 'An archive names its users itself: leave out the user.';
        throw new MemoryError('INVALID_REQUEST', message);
      }
      const archive = await openForeign(open, {
        from: foreign === 'any' ? null : (foreign satisfies ForeignName),
        userId,
        maxFileBytes: deps.limits.maxFileBytes,
        now: deps.now(),
      });
      const { items, itemsOf, skipped } = archive;
      const imported = await importMemory(deps, archive.open, {
        ...options,
        from: archive.from,
        goesOn: true,
      });
      const source = { from: archive.from, items, skipped };
      return reportItems({ ...source, itemsOf: (path) => itemsOf.get(path) ?? 0 }, imported);
    },
  };
}

/** What an import was made of. */
interface Source {
  from: SourceName;
  /** `null` where each file is one item. */
  items: number | null;
  itemsOf(path: string): number;
  skipped: readonly SkippedItem[];
}

/** Names the items that were skipped, then the files, and counts items at the end. */
async function* reportItems(
  { from, items: all, itemsOf, skipped }: Source,
  imported: Imported,
): Imported {
  try {
    yield* skipped;
    let written = 0;
    let seen = 0;
    let next = await imported.next();
    for (; next.done !== true; next = await imported.next()) {
      const line = next.value;
      seen += 1;
      if ('path' in line && line.outcome !== 'skipped') written += itemsOf(line.path);
      yield line;
    }
    const items = all ?? seen;
    return { ...next.value, source: { from, items, written, skipped: items - written } };
  } finally {
    // A reader that stops early stops the import.
    await imported.return({} as ImportSummary);
  }
}
