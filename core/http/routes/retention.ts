import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { createIdSource } from '../../ids.ts';
import { createJob } from '../../maintenance/job.ts';
import { createRetention } from '../../maintenance/retention.ts';
import { jobSchema } from './job.ts';
import { countSchema, nullable, strict } from './shapes.ts';

const bodySchema = Type.Object(
  { dryRun: Type.Optional(Type.Boolean({ description: 'Counts, and removes nothing.' })) },
  strict,
);

const retentionSchema = jobSchema(
  Type.Object(
    {
      dryRun: Type.Boolean(),
      counts: nullable(
        Type.Object(
          {
            events: countSchema,
            access: countSchema,
            idempotency: countSchema,
            revisions: countSchema,
            bytes: Type.Integer({ minimum: 0, description: 'Of those revisions.' }),
            dreams: Type.Integer({ minimum: 0, description: 'Dream runs that had ended.' }),
          },
          strict,
        ),
      ),
    },
    strict,
  ),
);

/** A round of the retention, now: what `memory-service prune` asks a running server for. */
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
    work: async ({ dryRun = false }: Static<typeof bodySchema>) => ({
      dryRun,
      counts: await retention.run({ dryRun }),
    }),
  });
  const begin: RouteDefinition<unknown, Static<typeof bodySchema>> = {
    method: 'POST',
    path: '/v1/admin/retention',
    auth: 'admin',
    tag: 'Status',
    summary: 'Remove what is past its retention',
    description:
      'Begins a round, and answers: what the settings of retention say is removed in the background, as it is once an hour. counts is null where another instance is at it.',
    bodySchema,
    resultSchema: retentionSchema,
    status: 202,
    errorCodes: [],
    handle: ({ body }) => job.start(body),
  };
  return [
    begin as RouteDefinition,
    {
      method: 'GET',
      path: '/v1/admin/retention',
      auth: 'admin',
      tag: 'Status',
      summary: 'Read what the last round removed',
      description: 'The last one that this route began, in the process that answers; or null.',
      resultSchema: nullable(retentionSchema),
      errorCodes: [],
      handle: () => job.state(),
    },
  ];
}
