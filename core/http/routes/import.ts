import { Readable } from 'node:stream';
import { spoolArchive } from '../../archive/spool.ts';
import type { RouteDefinition } from '../../contracts/route.ts';
import { describeError } from '../../describe-error.ts';
import { toErrorBody, toMemoryError } from '../../errors.ts';
import type { Imported } from '../../archive/import.ts';
import { ImportQuery, type ImportSummary } from '../../schemas/archive.ts';
import { createPause } from '../../time/pause.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import type { Core } from '../../service.ts';
import { STREAM_HEADERS } from '../middleware/security-headers.ts';

/** The content decides, not the type: any of them will do. */
const BODY_TYPES = [
  'application/gzip',
  'application/json',
  'application/x-ndjson',
  'application/octet-stream',
];

/** Imports memory. `memory-service import` calls this on a running server. */
export function importRoutes(core: Pick<Core, 'archive' | 'log'>): RouteDefinition[] {
  /** The answer's lines. An error after its start becomes the last line. */
  async function* toLines(imported: Imported, traceId: string): AsyncGenerator<string, void> {
    const pause = createPause();
    try {
      let next = await imported.next();
      for (; next.done !== true; next = await imported.next()) {
        yield `${JSON.stringify(next.value)}\n`;
        // Hundreds of thousands of items may have been skipped.
        await pause();
      }
      yield `${JSON.stringify({ summary: next.value })}\n`;
    } catch (thrown) {
      const error = toMemoryError(thrown);
      core.log.warn({ code: error.code, error: describeError(thrown) }, 'an import stopped');
      yield `${JSON.stringify(toErrorBody(error, traceId, 'admin'))}\n`;
    } finally {
      // Stops the import if the client disconnects.
      await imported.return({} as ImportSummary);
    }
  }

  return [
    adminRoute('Export and import', {
      method: 'POST',
      path: '/v1/admin/import',
      role: 'operator',
      summary: 'Import memory',
      description:
        'The body is an archive of the export, or an export of another program. An archive is checked before anything is written, and imported as a whole or not at all. The answer has a JSON line for each file, { path, outcome }, one for each item of a folder or of another program that is skipped, { item, reason }, and as the last line { summary }, or { error } for an import that stopped. A skipped item stops nothing: summary.source counts them. An import that stopped can be repeated. Users without other files get ids, actors, times and history as they were; others get new versions by the actor import.',
      querySchema: ImportQuery,
      streamedBody: BODY_TYPES,
      resultSchema: null,
      contentType: 'application/x-ndjson; charset=utf-8',
      deadlineMs: null,
      errorCodes: [
        'WRITES_FROZEN',
        'INVALID_ARCHIVE',
        'INVALID_USER_ID',
        'IMPORT_CONFLICT',
        'INVALID_CONTENT',
        'PAYLOAD_TOO_LARGE',
        'UNSUPPORTED_MEDIA_TYPE',
        'QUOTA_EXCEEDED',
      ],
      async handle(request) {
        const { onExisting = 'refuse', dryRun = false, from, userId = null } = request.query;
        const spool = await spoolArchive(request.stream);
        try {
          const caller = request.caller;
          const options = { onExisting, dryRun, caller, from, userId };
          const imported = await core.archive.import(spool.open, options);
          for (const [name, value] of STREAM_HEADERS) request.setHeader(name, value);
          const answer = Readable.from(toLines(imported, request.traceId));
          // Also if the client disconnects before the first line.
          return answer.once('close', () => void spool.remove());
        } catch (error) {
          await spool.remove();
          throw error;
        }
      },
    }),
  ];
}
