import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { createJob } from '../../maintenance/job.ts';
import { INVARIANTS, verifyMemory } from '../../maintenance/verify.ts';
import { jobSchema } from './job.ts';
import { countSchema, nullable, strict } from './shapes.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

const verificationSchema = jobSchema(
  Type.Object(
    {
      scopes: countSchema,
      files: countSchema,
      revisions: countSchema,
      findings: Type.Array(
        Type.Object(
          {
            invariant: Type.Enum([...INVARIANTS]),
            path: nullable(Type.String({ description: 'Physical path.' })),
            message: Type.String({ description: 'What is wrong, without content.' }),
          },
          strict,
        ),
        { description: 'At most 1,000 of them.' },
      ),
      found: Type.Integer({ minimum: 0, description: 'All findings.' }),
    },
    strict,
  ),
);

/** Whether all that was acknowledged is there: what `memory-service verify` asks a server for. */
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
    {
      method: 'POST',
      path: '/v1/admin/verify',
      auth: 'admin',
      tag: 'Status',
      summary: 'Verify the memory',
      description:
        'Begins, and answers: histories, counts, access rows and the search index are looked at in the background, and nothing is changed. One that is under way is not begun again.',
      resultSchema: verificationSchema,
      status: 202,
      errorCodes: [],
      handle: () => job.start(undefined),
    },
    {
      method: 'GET',
      path: '/v1/admin/verify',
      auth: 'admin',
      tag: 'Status',
      summary: 'Read how far the verification is, and what it found',
      description: 'The last one of the process that answers; null before the first.',
      resultSchema: nullable(verificationSchema),
      errorCodes: [],
      handle: () => job.state(),
    },
  ];
}
