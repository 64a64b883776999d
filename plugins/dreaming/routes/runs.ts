import Type, { type Static } from 'typebox';
import type { DreamRunRecord } from '../../../core/contracts/dreams.ts';
import type { Host, PluginDreams } from '../../../core/contracts/plugin.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import { MemoryError } from '../../../core/errors.ts';
import { parseUserId, toScope } from '../../../core/files/paths.ts';
import { parsePage, toCursor } from '../page.ts';
import type { Runs } from '../runs.ts';
import { toPhysical, toRunDetail, toRunView, toVirtual } from '../views.ts';
import {
  listOf,
  pageQuery,
  revertSchema,
  runDetailSchema,
  runSchema,
  stateSchema,
  strict,
} from './shapes.ts';

const listQuery = Type.Object(
  {
    userId: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    state: Type.Optional(stateSchema),
    ...pageQuery,
  },
  strict,
);

const pathsBody = Type.Object(
  {
    paths: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 1200 }), {
        minItems: 1,
        maxItems: 100,
        description: 'Files of the proposal; default all that are not decided on.',
      }),
    ),
  },
  strict,
);

const emptyBody = Type.Object({}, strict);

const cancelBody = Type.Object(
  {
    paths: Type.Optional(
      Type.Unknown({
        description: 'Not taken: a run is canceled as a whole. Reject files instead.',
      }),
    ),
  },
  strict,
);

/** The history of runs, and what people decide about them. */
export function runsRoutes(deps: {
  host: Host;
  dreams: PluginDreams;
  runs: Runs;
}): RouteDefinition[] {
  const { host, dreams, runs } = deps;

  const list: RouteDefinition<Static<typeof listQuery>> = {
    method: 'GET',
    path: '/v1/admin/dream/runs',
    auth: 'admin',
    tag: 'Dreams',
    summary: 'List dream runs',
    description: 'Newest first, without their proposals.',
    querySchema: listQuery,
    resultSchema: listOf(runSchema),
    errorCodes: ['INVALID_CURSOR', 'INVALID_USER_ID'],
    async handle({ query }) {
      const { userId, state } = query;
      const tag = `dream-runs ${userId ?? ''} ${state ?? ''}`;
      const page = parsePage(query, { tag, defaultOrder: 'desc' });
      const scope = userId === undefined ? null : toScope(parseUserId(userId));
      await runs.recover();
      const { items, next } = await dreams.listRuns({ scope, state: state ?? null }, page);
      return { items: items.map(toRunView), nextCursor: toCursor(next, tag, page.order) };
    },
  };

  const get: RouteDefinition = {
    method: 'GET',
    path: '/v1/admin/dream/runs/:id',
    auth: 'admin',
    tag: 'Dreams',
    summary: 'Read a dream run',
    description: 'What was proposed, what was dropped and why, the diffs, and what was written.',
    resultSchema: runDetailSchema,
    errorCodes: ['RUN_NOT_FOUND'],
    async handle({ params }) {
      await runs.recover();
      return await toRunDetail(host, await findRun(dreams, params['id'] ?? ''));
    },
  };

  const decide = (
    verb: 'apply' | 'reject',
    summary: string,
    description: string,
  ): RouteDefinition<unknown, Static<typeof pathsBody>> => ({
    method: 'POST',
    path: `/v1/admin/dream/runs/:id/${verb}`,
    auth: 'admin',
    tag: 'Dreams',
    summary,
    description,
    bodySchema: pathsBody,
    resultSchema: runDetailSchema,
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

  const cancel: RouteDefinition<unknown, Static<typeof cancelBody>> = {
    method: 'POST',
    path: '/v1/admin/dream/runs/:id/cancel',
    auth: 'admin',
    tag: 'Dreams',
    summary: 'Cancel a dream run',
    description:
      'Queued, running or awaiting review, as a whole: the body is empty. What it has written stays, and can be undone. A run that another instance is at ends within a write or two of its own.',
    bodySchema: cancelBody,
    resultSchema: runDetailSchema,
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
  };

  const revert: RouteDefinition = {
    method: 'POST',
    path: '/v1/admin/dream/runs/:id/revert',
    auth: 'admin',
    tag: 'Dreams',
    summary: 'Undo a dream run',
    description:
      'Puts back what its files held before it, where nobody has changed them since; says what it left and why.',
    bodySchema: emptyBody,
    resultSchema: revertSchema,
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
  };

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
  ] as RouteDefinition[];
}

async function findRun(dreams: PluginDreams, id: string): Promise<DreamRunRecord> {
  const run = await dreams.run(id);
  if (run !== null) return run;
  throw new MemoryError('RUN_NOT_FOUND', undefined, { details: { id: id.slice(0, 64) } });
}
