import type { AdminAccess, ShownContent } from '../contracts/admin.ts';
import type { Storage } from '../contracts/storage.ts';
import { toMemoryError } from '../errors.ts';
import { sliceLines } from '../files/content.ts';
import { parsePhysicalPath } from '../files/paths.ts';
import type { Revisions } from '../history/revisions.ts';
import { createPause } from '../time/pause.ts';

interface ShownDependencies {
  storage: Pick<Storage, 'revisions'>;
  revisions: Pick<Revisions, 'contentAt'>;
}

/** The most characters of content in one answer. */
const MAX_CHARS = 2_000_000;

/** Reads what accesses showed, from the history of their files. */
export async function readShown(
  deps: ShownDependencies,
  accesses: readonly AdminAccess[],
): Promise<ShownContent[]> {
  const pause = createPause();
  const shown: ShownContent[] = [];
  let room = MAX_CHARS;
  for (const access of accesses) {
    const { id: accessId, path, action, revisionId, lines, outcome } = access;
    const isShowing = lines === null || lines.length > 0;
    if (!isShowing || outcome !== 'ok' || action === 'write' || action === 'list') continue;
    // Older rows have no version of their own.
    const version = access.version ?? (await findVersion(deps, revisionId));
    const content =
      lines === null || version === null || room <= 0
        ? null
        : await readContent(deps, { path, version });
    shown.push({
      accessId,
      path,
      action,
      revisionId,
      version,
      lines:
        lines?.map(({ startLine, endLine }) => {
          const text = content === null ? null : sliceLines(content, startLine, endLine);
          room -= text?.length ?? 0;
          return { startLine, endLine, content: room < 0 ? null : text };
        }) ?? null,
    });
    await pause();
  }
  return shown;
}

async function findVersion(
  { storage }: ShownDependencies,
  revisionId: string | null,
): Promise<number | null> {
  if (revisionId === null) return null;
  return (await storage.revisions.get(revisionId))?.version ?? null;
}

/** The content of a version; `null` if it is no longer kept, or damaged. */
async function readContent(
  { revisions }: ShownDependencies,
  { path, version }: { path: string; version: number },
): Promise<string | null> {
  try {
    return (await revisions.contentAt(parsePhysicalPath(path), { version })).content;
  } catch (error) {
    const { code } = toMemoryError(error);
    if (code === 'REVISION_NOT_FOUND' || code === 'STORAGE_DAMAGED') return null;
    throw error;
  }
}
