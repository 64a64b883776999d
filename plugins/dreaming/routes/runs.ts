import Type from 'typebox';
import type { DreamRunRecord } from '../../../core/contracts/dreams.ts';
import type { Host, PluginDreams } from '../../../core/contracts/plugin.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import { MemoryError } from '../../../core/errors.ts';
import { parseUserId, toScope } from '../../../core/files/paths.ts';
import { answerList } from '../../../core/page.ts';
import { adminRoute } from '../../../core/schemas/define-route.ts';
import { AdminDreamRun, DreamState } from '../../../core/schemas/dreams.ts';
import { listOf, pageQuery, strictObject } from '../../../core/schemas/shapes.ts';
import type { Runs } from '../runs.ts';
import { toPhysical, toRunDetail, toRunView, toVirtual } from '../views.ts';
import { AdminDreamRevert, AdminDreamRunDetail } from './answers.ts';

const ListQuery = strictObject({
  userId: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  state: Type.Optional(DreamState),
  waiting: Type.Optional(
    Type.Enum(['true'], { description: 'Runs with operations that wait for a person.' }),
  ),
  ...pageQuery,
});

const PathsBody = strictObject({
  paths: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 1200 }), {
      minItems: 1,
      maxItems: 100,
      description: 'Files of the proposal; default all that are not decided on.',
    }),
  ),
});

const CancelBody = strictObject({
  paths: Type.Optional(
    Type.Unknown({
      description: 'Not taken: a run is canceled as a whole. Reject files instead.',
    }),
  ),
});

/** The history of runs, and what people decide about them. */
export function runsRoutes(deps: {
  host: Host;
  dreams: PluginDreams;
  runs: Runs;
}): RouteDefinition[] {
  const { host, dreams, runs } = deps;

  const list = adminRoute('Dreams', {
    method: 'GET',
    path: '/v1/admin/dream/runs',
    summary: 'List dream runs',
    description: 'Newest first, without their proposals.',
    querySchema: ListQuery,
    resultSchema: listOf(AdminDreamRun),
    errorCodes: ['INVALID_CURSOR', 'INVALID_USER_ID'],
    async handle({ query }) {
      const { userId, state = null } = query;
      const scope = userId === undefined ? null : toScope(parseUserId(userId));
      return await answerList(query, {
        list: 'dream-runs',
        async read(page) {
          await runs.recover();
          return await dreams.listRuns({ scope, state }, page);
        },
        toItem: toRunView,
      });
    },
  });

  const get = adminRoute('Dreams', {
    method: 'GET',
    path: '/v1/admin/dream/runs/:id',
    summary: 'Read a dream run',
    description: 'What was proposed, what was dropped and why, the diffs, and what was written.',
    resultSchema: AdminDreamRunDetail,
    errorCodes: ['RUN_NOT_FOUND'],
    async handle({ params }) {
      await runs.recover();
      return await toRunDetail(host, await findRun(dreams, params['id'] ?? ''));
    },
  });

  const decide = (verb: 'apply' | 'reject', summary: string, description: string) =>
    adminRoute('Dreams', {
      method: 'POST',
      path: `/v1/admin/dream/runs/:id/${verb}`,
      summary,
      description,
      bodySchema: PathsBody,
      resultSchema: AdminDreamRunDetail,
      errorCodes: ['RUN_NOT_FOUND', 'RUN_STATE', 'DREAM_RUNNING'],
      async handle({ params, body, address, traceId }) {
        await runs.recover();
        const { id, scope } = await findRun(dreams, params['id'] ?? '');
        const userId = scope.slice(2);
        const paths = body.paths?.map((path) => toVirtual(path, userId)) ?? null;
        return await toRunDetail(
          host,
          await runs.decide(id, { verb, paths, caller: { address, traceId } }),
        );
      },
    });

  const cancel = adminRoute('Dreams', {
    method: 'POST',
    path: '/v1/admin/dream/runs/:id/cancel',
    summary: 'Cancel a dream run',
    description:
      'Queued, running or awaiting review, as a whole: the body is empty. What it has written stays, and can be undone. A run that another instance is at ends within a write or two of its own.',
    bodySchema: CancelBody,
    resultSchema: AdminDreamRunDetail,
    errorCodes: ['RUN_NOT_FOUND', 'RUN_STATE'],
    async handle({ params, body, address, traceId }) {
      if (body.paths !== undefined) {
        const message = 'is not taken: a run is canceled as a whole; reject files instead';
        throw new MemoryError('INVALID_REQUEST', `paths ${message}.`, {
          details: { issues: [{ path: '/paths', message }] },
        });
      }
      await runs.recover();
      const run = await runs.cancel(params['id'] ?? '', { address, traceId });
      return await toRunDetail(host, run);
    },
  });

  const revert = adminRoute('Dreams', {
    method: 'POST',
    path: '/v1/admin/dream/runs/:id/revert',
    summary: 'Undo a dream run',
    description:
      'Puts back what its files held before it, where nobody has changed them since; says what it left and why.',
    bodySchema: strictObject({}),
    resultSchema: AdminDreamRevert,
    errorCodes: ['RUN_NOT_FOUND', 'RUN_STATE', 'DREAM_RUNNING'],
    async handle({ params, address, traceId }) {
      // What was begun of it is not ended by a recovery here: whoever asks again gets all of it told.
      const { run, reverted, left } = await runs.revert(params['id'] ?? '', { address, traceId });
      const userId = run.scope.slice(2);
      return {
        ...(await toRunDetail(host, run)),
        reverted: reverted.map(({ path, ...more }) => ({
          path: toPhysical(path, userId),
          ...more,
        })),
        left: left.map(({ path, why }) => ({ path: toPhysical(path, userId), why })),
      };
    },
  });

  return [
    list,
    get,
    decide(
      'apply',
      'Apply a proposal',
      'Writes what a run in review proposes, or some files of it.',
    ),
    decide(
      'reject',
      'Reject a proposal',
      'Drops what a run in review proposes, or some files of it.',
    ),
    cancel,
    revert,
  ];
}

async function findRun(dreams: PluginDreams, id: string): Promise<DreamRunRecord> {
  const run = await dreams.run(id);
  if (run !== null) return run;
  throw new MemoryError('RUN_NOT_FOUND', undefined, { details: { id: id.slice(0, 64) } });
}
