import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { MemoryError } from '../../errors.ts';
import type { AuditCaller } from '../../contracts/plugin.ts';
import { createJob } from '../../maintenance/job.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { RewriteAnswer } from '../../schemas/erase.ts';
import { jobOf } from '../../schemas/jobs.ts';
import { nullable } from '../../schemas/shapes.ts';

const RewriteJob = jobOf(RewriteAnswer);

/** Rewrites the database file now. `memory-service vacuum` calls this on a running server. */
export function vacuumRoutes(core: Pick<Core, 'storage' | 'rewriter' | 'log'>): RouteDefinition[] {
  const { storage, rewriter, log } = core;
  const job = createJob({
    name: 'vacuum',
    log,
    work: (caller: AuditCaller, progress) => rewriter.rewrite(caller, progress),
  });
  return [
    adminRoute('Status', {
      method: 'POST',
      path: '/v1/admin/vacuum',
      role: 'admin',
      summary: 'Rewrite the database file',
      description:
        'Answers at once: all pages of a SQLite file are written anew in the background, so that none has what was erased or redacted. Reads go on, and writes wait: a gigabyte takes 10 to 20 s, and needs twice that room. The status says what waits for it.',
      resultSchema: RewriteJob,
      status: 202,
      errorCodes: ['INVALID_REQUEST'],
      handle(request) {
        if (storage.erasure?.file === undefined) {
          const message = `A ${storage.name} database is not a file: use its own tools, as in OPTIMIZE TABLE.`;
          throw new MemoryError('INVALID_REQUEST', message);
        }
        return job.start(request.caller);
      },
    }),
    adminRoute('Status', {
      method: 'GET',
      path: '/v1/admin/vacuum',
      role: 'viewer',
      summary: 'Read how far the rewriting is',
      description: 'Bytes written so far. The last one that this route began, or null.',
      resultSchema: nullable(RewriteJob),
      handle: () => job.state(),
    }),
  ];
}
