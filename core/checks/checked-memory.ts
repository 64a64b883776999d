import type { FileKey, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { ContextService, FindService } from '../contracts/tool.ts';
import type { Observability } from '../telemetry/observability.ts';

/** The memory that checks look at: as it is, as it was at a moment, or as a dream would leave it. */
export interface CheckedMemory {
  /** Files by scope and path, page by page; of one scope, or (`null`) of all memory. */
  pages(scope: ScopeKey | null): AsyncIterable<readonly FileKey[]>;
  /** A file as this memory has it, with its bytes; `null` where it is gone. */
  read(key: FileKey): Promise<{ content: string; size: number } | null>;
  find: FindService['find'];
  context: ContextService['context'];
  /** `null` where nobody can tell. */
  hygiene: Observability['hygiene'] | null;
}

const PAGE = 500;

/** Files of memory as it is now. */
export function filesNow({ files }: Pick<Storage, 'files'>): Pick<CheckedMemory, 'pages' | 'read'> {
  return {
    async *pages(scope) {
      let after: readonly (string | number)[] | null = null;
      do {
        const page = { limit: PAGE, order: 'asc' as const, after, sort: 'path' as const };
        const { items, next }: Awaited<ReturnType<Storage['files']['listAll']>> =
          await files.listAll(scope === null ? {} : { scope }, page);
        yield items;
        after = next;
      } while (after !== null);
    },
    read: (key) => files.read(key),
  };
}
