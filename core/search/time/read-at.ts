import type { FileService } from '../../contracts/tool.ts';
import { MemoryError } from '../../errors.ts';
import { checkLineRange, countLines, sliceLines } from '../../files/content.ts';
import { fileNotFound, parseVirtualPath, toVirtualPath } from '../../files/paths.ts';
import type { Revisions } from '../../history/revisions.ts';
import type { IdSource } from '../../ids/ids.ts';
import type { AccessQueue } from '../../telemetry/access-queue.ts';
import { logAccess, toOutcome } from '../../telemetry/access-rows.ts';
import { toExpiredLines } from '../../markdown/valid-until.ts';
import { toTime } from '../../time/time.ts';
import { parseAsOf } from './memory-at.ts';

/** What reading the past works with. */
interface ReadAtDependencies {
  revisions: Pick<Revisions, 'fileAt'>;
  ids: IdSource;
  accessQueue: AccessQueue;
  /** In which the days of memory end. */
  timeZone: string;
  now: () => number;
}

/**
 * `memory_read` of a file as it stood at `asOf`. Throws `FILE_NOT_FOUND` if it did not exist then, and
 * `REVISION_NOT_FOUND` if its content of that time is pruned or redacted.
 */
export function createReadAt(deps: ReadAtDependencies): Pick<FileService, 'read'> {
  return {
    async read({ path: given, startLine = 1, endLine = Number.MAX_SAFE_INTEGER, asOf }, call) {
      const key = parseVirtualPath(given, call);
      const path = toVirtualPath(key);
      checkLineRange(startLine, endLine);
      const at = parseAsOf(asOf ?? '', deps.now());
      try {
        const { content, revision } = await deps.revisions.fileAt(key, { at });
        const { fileNo, id: revisionId, version } = revision;
        await logAccess(deps, { call, rows: [{ ...key, action: 'read', fileNo, revisionId }] });
        const moment = { at, timeZone: deps.timeZone };
        const expired = toExpiredLines(content, moment, { startLine, endLine });
        return {
          path,
          content: sliceLines(content, startLine, endLine),
          version,
          updatedAt: toTime(revision.at),
          totalLines: countLines(content),
          ...(expired !== undefined && { expired }),
        };
      } catch (error) {
        await logAccess(deps, {
          call,
          rows: [{ ...key, action: 'read', outcome: toOutcome(error) }],
        });
        if (!(error instanceof MemoryError)) throw error;
        // The history names physical paths.
        if (error.code === 'FILE_NOT_FOUND') throw fileNotFound(path);
        if (error.code !== 'REVISION_NOT_FOUND') throw error;
        const message = `The content of ${path} at ${toTime(at)} is pruned or redacted.`;
        throw new MemoryError('REVISION_NOT_FOUND', message, { details: { path } });
      }
    },
  };
}
