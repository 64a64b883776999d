import type { RouteDefinition } from '../../contracts/route.ts';
import { createJob } from '../../maintenance/job.ts';
import { verifyMemory } from '../../maintenance/verify.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { jobOf, Verification } from '../../schemas/jobs.ts';
import { nullable } from '../../schemas/shapes.ts';
import type { Core } from '../../service.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

const VerifyJob = jobOf(Verification);

/** Verifies the memory. `memory-service verify` calls this on a running server. */
export function verifyRoutes(
  core: Pick<Core, 'storage' | 'settings' | 'log' | 'now'>,
): RouteDefinition[] {
  const { accessLogDays } = core.settings.retention;
  const job = createJob({
    name: 'verify',
    log: core.log,
    work: (_options: undefined, progress) =>
      verifyMemory(core.storage, {
        progress,
        accessLogSince: accessLogDays > 0 ? core.now() - accessLogDays * DAY_MS : null,
      }),
  });
  return [
    adminRoute('Status', {
      method: 'POST',
      path: '/v1/admin/verify',
      role: 'operator',
      summary: 'Verify the memory',
      description:
        'Answers at once: histories, counts, access rows and the search index are checked in the background, and nothing is changed. A verification under way is not started again.',
      resultSchema: VerifyJob,
      status: 202,
      handle: () => job.start(undefined),
    }),
    adminRoute('Status', {
      method: 'GET',
      path: '/v1/admin/verify',
      role: 'viewer',
      summary: 'Read how far the verification is, and what it found',
      description: 'The last one of the process that answers; null before the first.',
      resultSchema: nullable(VerifyJob),
      handle: () => job.state(),
    }),
  ];
}
