import type { EarlierContent, FilePointQuery } from '../contracts/admin.ts';
import type { FileKey, RevisionRecord } from '../contracts/records.ts';
import { MemoryError } from '../errors.ts';
import { countLines } from '../files/content.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { parseTime, toTimeOrNull } from '../time/time.ts';
import type { HistoryParts } from './history-parts.ts';
import { fileAt } from './time-travel.ts';

/**
 * The content of a file at a version or a time. Throws `REVISION_NOT_FOUND` for a version without a
 * content that is kept, and what {@link fileAt} throws for a time.
 */
export async function readContentAt(
  parts: HistoryParts,
  key: FileKey,
  { version: wanted = 0, at }: FilePointQuery,
): Promise<EarlierContent> {
  const { storage, textAt } = parts;
  if (at !== undefined) {
    const { content, revision } = await fileAt(parts, key, { at: parseTime(at, 'at') });
    return toEarlierContent({ content, version: revision.version, made: revision });
  }
  const made = await storage.revisions.ofVersion(key, wanted);
  const content = await textAt(key, wanted);
  if (content === null) {
    const path = toPhysicalPath(key);
    const message =
      made?.redacted === true
        ? `The content of ${path} at version ${wanted} is redacted.`
        : `${path} has no content at version ${wanted}.`;
    throw new MemoryError('REVISION_NOT_FOUND', message, { details: { path, version: wanted } });
  }
  return toEarlierContent({ content, version: wanted, made });
}

function toEarlierContent({
  content,
  version,
  made,
}: {
  content: string;
  version: number;
  made: RevisionRecord | null;
}): EarlierContent {
  return {
    content,
    version,
    size: Buffer.byteLength(content),
    lines: countLines(content),
    updatedAt: toTimeOrNull(made?.at ?? null),
    latestActor: made?.actor ?? null,
    latestRevisionId: made?.id ?? null,
  };
}
