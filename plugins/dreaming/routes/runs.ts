import Type, { type Static } from 'typebox';
import type { RunFilter, RunRecord } from '../../../core/contracts/runs.ts';
import type { Host, PluginRuns } from '../../../core/contracts/plugin.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import { MemoryError, readAfterWrite } from '../../../core/errors.ts';
import { filterText, homeOf, SHARED, toFilteredScope, toOwner } from '../../../core/plugin.ts';
import { countValues } from '../../../core/lists/count-values.ts';
import { answerList } from '../../../core/lists/page.ts';
import { adminRoute } from '../../../core/schemas/define-route.ts';
import {
  AdminDreamDecision,
  AdminDreamRevert,
  AdminDreamRun,
  AdminDreamRunDetail,
  DreamDecisionBody,
  DreamRevertBody,
  DreamOutcome,
  DreamState,
} from '../../../core/schemas/dreams.ts';
import { listOf, pageQuery, sinceQuery, strictObject } from '../../../core/schemas/shapes.ts';
import { ValueCounts } from '../../../core/schemas/value-counts.ts';
import { parseTimeOrNull } from '../../../core/time/time.ts';
import { isLeft } from '../revert-run.ts';
import type { Runs } from '../runs.ts';
import type { SettingsReader } from '../settings.ts';
import { toRunDetail, toRunView, toVirtual } from '../views.ts';
import { takeStart } from '../../../core/encoding/take-text.ts';

const ValuesQuery = strictObject({
  userId: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Runs of this user.' }),
  ),
  spaceId: filterText('Runs of this space.'),
  state: Type.Optional(DreamState),
  waiting: Type.Optional(
    Type.Enum(['true'], { description: 'Runs with operations that wait for a person.' }),
  ),
  outcome: Type.Optional(DreamOutcome),
  wrote: Type.Optional(
    Type.Enum(['true'], { description: 'Runs that wrote, also when that was reverted.' }),
  ),
  ...sinceQuery,
});
const ListQuery = strictObject({ ...ValuesQuery.properties, ...pageQuery });

const CancelBody = strictObject({
  paths: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Not taken: a run is canceled as a whole. Reject operations instead.',
    }),
  ),
});

/** What the routes of runs work with. */
interface RunsRoutesOptions {
  host: Host;
  dreams: PluginRuns;
  runs: Runs;
  /** Recovers runs that were cut off, so that an answer shows what is. */
  recover: () => Promise<unknown>;
}

/** The history of runs, and what people decide about them. */
export function runsRoutes(
  options: Omit<RunsRoutesOptions, 'recover'> & { settings: SettingsReader },
): RouteDefinition[] {
  const { runs, settings } = options;
  const recover = async () => runs.recover((await settings.read()).dream_waiting_days);
  const given = { ...options, recover };
  return [
    listRoute(given),
    valuesRoute(given),
    readRoute(given),
    decideRoute(given, {
      verb: 'apply',
      summary: 'Apply operations of a dream run',
      description:
        'Those that the body names, else the preselected ones. Each is located again, on what the files hold now; one whose lines are gone is stale.',
    }),
    decideRoute(given, {
      verb: 'reject',
      summary: 'Reject operations of a dream run',
      description:
        'Those that the body names, else all that wait. They are not proposed again while their lines stand.',
    }),
    cancelRoute(given),
    revertRoute(given),
  ];
}

function listRoute({ dreams, recover }: RunsRoutesOptions): RouteDefinition {
  return adminRoute('Dreams', {
    method: 'GET',
    path: '/v1/admin/dream/runs',
    role: 'viewer',
    summary: 'List dream runs',
    description: 'Newest first, without their operations.',
    querySchema: ListQuery,
    resultSchema: listOf(AdminDreamRun),
    errorCodes: ['INVALID_CURSOR', 'INVALID_USER_ID'],
    async handle({ query }) {
      const filter = toRunFilter(query);
      return await answerList(query, {
        list: 'dream-runs',
        async read(page) {
          await recover();
          return await dreams.listRuns(filter, page);
        },
        toItem: toRunView,
      });
    },
  });
}

function valuesRoute({ dreams, recover }: RunsRoutesOptions): RouteDefinition {
  return adminRoute('Dreams', {
    method: 'GET',
    path: '/v1/admin/dream/runs/values',
    role: 'viewer',
    summary: 'Count the values that dream runs can be filtered by',
    description:
      'How often each value is in the newest runs, up to 5,000, with the filters of the list. No content.',
    querySchema: ValuesQuery,
    resultSchema: ValueCounts,
    errorCodes: ['INVALID_USER_ID'],
    async handle({ query }) {
      await recover();
      return await countValues(query, {
        read: (narrowed, page) => dreams.listRuns(toRunFilter(narrowed), page),
        timeOf: ({ createdAt }) => createdAt,
        fields: {
          userId: ({ scope }) => toOwner(scope).userId,
          spaceId: ({ scope }) => toOwner(scope).spaceId,
          outcome: ({ outcome }) => outcome,
          state: ({ state }) => state,
        },
      });
    },
  });
}

function toRunFilter(query: Static<typeof ValuesQuery>): RunFilter {
  const { userId, spaceId, state = null, outcome = null } = query;
  return {
    scope: toFilteredScope({ userId, spaceId }),
    state,
    outcome,
    isWaiting: query.waiting !== undefined,
    hasWritten: query.wrote !== undefined,
    since: parseTimeOrNull(query.since, 'since'),
    until: parseTimeOrNull(query.until, 'until'),
  };
}

function readRoute({ host, dreams, recover }: RunsRoutesOptions): RouteDefinition {
  return adminRoute('Dreams', {
    method: 'GET',
    path: '/v1/admin/dream/runs/:id',
    role: 'contents',
    summary: 'Read a dream run',
    description: 'Its operations, what became of each and why, and what was written.',
    resultSchema: AdminDreamRunDetail,
    errorCodes: ['RUN_NOT_FOUND'],
    shows: (run) => [homeOf(toFilteredScope(run) ?? SHARED)],
    async handle({ params }) {
      await recover();
      return await toRunDetail(host, await findRun(dreams, params['id'] ?? ''));
    },
  });
}

function decideRoute(
  { host, dreams, runs, recover }: RunsRoutesOptions,
  {
    verb,
    summary,
    description,
  }: { verb: 'apply' | 'reject'; summary: string; description: string },
): RouteDefinition {
  return adminRoute('Dreams', {
    method: 'POST',
    path: `/v1/admin/dream/runs/:id/${verb}`,
    role: 'operator',
    summary,
    description,
    bodySchema: DreamDecisionBody,
    resultSchema: AdminDreamDecision,
    errorCodes: ['RUN_NOT_FOUND', 'RUN_STATE', 'DREAM_RUNNING'],
    async handle({ params, body, caller }) {
      await recover();
      const { id, scope } = await findRun(dreams, params['id'] ?? '');
      const paths = body.paths?.map((path) => toVirtual(path, scope)) ?? null;
      const { run, picked } = await runs.decide(id, {
        verb,
        paths,
        operations: body.operations ?? null,
        caller,
      });
      const detail = await readAfterWrite(() => toRunDetail(host, run));
      const decided = detail.operations
        .filter(({ number }) => picked.includes(number))
        .map(({ number, status, why }) => ({ number, status, why }));
      return { ...detail, decided };
    },
  });
}

function cancelRoute({ host, runs, recover }: RunsRoutesOptions): RouteDefinition {
  return adminRoute('Dreams', {
    method: 'POST',
    path: '/v1/admin/dream/runs/:id/cancel',
    role: 'operator',
    summary: 'Cancel a dream run',
    description:
      'Queued or running, as a whole: the body is empty. What it has written stays, and can be reverted.',
    bodySchema: CancelBody,
    resultSchema: AdminDreamRunDetail,
    errorCodes: ['RUN_NOT_FOUND', 'RUN_STATE'],
    async handle({ params, body, caller }) {
      if (body.paths !== undefined) {
        const message = 'is not taken: a run is canceled as a whole; reject operations instead';
        throw new MemoryError('INVALID_REQUEST', `paths ${message}.`, {
          details: { issues: [{ path: '/paths', message }] },
        });
      }
      await recover();
      const run = await runs.cancel(params['id'] ?? '', caller);
      return await readAfterWrite(() => toRunDetail(host, run));
    },
  });
}

function revertRoute({ host, runs }: RunsRoutesOptions): RouteDefinition {
  return adminRoute('Dreams', {
    method: 'POST',
    path: '/v1/admin/dream/runs/:id/revert',
    role: 'operator',
    summary: 'Undo a dream run',
    description:
      'Takes out what the run wrote, and keeps what was written since; says what it left and why. Where others changed the same lines, onConflict or resolutions decide, as in a revert of any writes: look with POST /v1/admin/revert, the runId and dryRun.',
    bodySchema: DreamRevertBody,
    resultSchema: AdminDreamRevert,
    errorCodes: [
      'RUN_NOT_FOUND',
      'RUN_STATE',
      'DREAM_RUNNING',
      'VERSION_CONFLICT',
      'CONFLICTS_UNDECIDED',
    ],
    async handle({ params, body, caller }) {
      const { run, files } = await runs.revert(params['id'] ?? '', { ...body, caller });
      return {
        ...(await readAfterWrite(() => toRunDetail(host, run))),
        reverted: files
          .filter((file) => !isLeft(file))
          .map(({ path, version, revisionId, why }) => ({
            path,
            version: version ?? 0,
            revisionId,
            why,
          })),
        left: files
          .filter(isLeft)
          .map(({ path, outcome, why }) => ({ path, outcome, why: why ?? '' })),
      };
    },
  });
}

async function findRun(dreams: PluginRuns, id: string): Promise<RunRecord> {
  const run = await dreams.run(id);
  if (run !== null) return run;
  throw new MemoryError('RUN_NOT_FOUND', undefined, { details: { id: takeStart(id, 64) } });
}
