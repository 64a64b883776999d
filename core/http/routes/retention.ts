import Type from 'typebox';
import { parseIdPrefix } from '../../access/prefix.ts';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { createIdSource } from '../../ids/ids.ts';
import { createJob } from '../../maintenance/job.ts';
import { createRetention } from '../../maintenance/retention.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { jobOf, RetentionCounts } from '../../schemas/jobs.ts';
import { flag, idPrefixSchema, nullable, strictObject } from '../../schemas/shapes.ts';

const RetentionBody = strictObject({
  dryRun: flag('Counts, and removes nothing.'),
});
const RetentionQuery = strictObject({ prefix: Type.Optional(idPrefixSchema) });

const RetentionJob = jobOf(
  strictObject({
    dryRun: Type.Boolean(),
    prefix: nullable(idPrefixSchema),
    counts: nullable(RetentionCounts),
  }),
);

/** Runs retention now. `memory-service prune` calls this on a running server. */
export function retentionRoutes(
  core: Pick<Core, 'storage' | 'settings' | 'log' | 'now' | 'confirmedNow'>,
): RouteDefinition[] {
  const { storage, settings, log, confirmedNow } = core;
  const retention = createRetention({
    storage,
    settings: settings.retention,
    now: confirmedNow,
    ids: createIdSource(core.now),
    log,
  });
  const job = createJob({
    name: 'retention',
    log,
    work: async ({ dryRun, prefix }: { dryRun: boolean; prefix: string | null }) => ({
      dryRun,
      prefix,
      counts: await retention.run({ dryRun, prefix }),
    }),
  });
  return [
    adminRoute('Status', {
      method: 'POST',
      path: '/v1/admin/retention',
      role: 'admin',
      summary: 'Remove what is past its retention',
      description:
        'Answers at once: a round of the retention runs in the background, as it does once an hour; with prefix only for the memory of the users and spaces whose ids start so. counts is null when another instance runs one.',
      querySchema: RetentionQuery,
      bodySchema: RetentionBody,
      resultSchema: RetentionJob,
      status: 202,
      handle({ body: { dryRun = false }, query: { prefix = null } }) {
        if (prefix !== null) parseIdPrefix(prefix);
        return job.start({ dryRun, prefix });
      },
    }),
    adminRoute('Status', {
      method: 'GET',
      path: '/v1/admin/retention',
      role: 'viewer',
      summary: 'Read what the last round removed',
      description: 'The last one that this route began, in the process that answers; or null.',
      resultSchema: nullable(RetentionJob),
      handle: () => job.state(),
    }),
  ];
}
