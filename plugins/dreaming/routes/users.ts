import Type, { type Static } from 'typebox';
import type { Host, PluginDreams } from '../../../core/contracts/plugin.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import { parseUserId, toScope } from '../../../core/files/paths.ts';
import type { Circumstances } from '../eligibility.ts';
import { parsePage, toCursor } from '../page.ts';
import type { Runs } from '../runs.ts';
import type { SettingsReader } from '../settings.ts';
import { toRunDetail, toUserView } from '../views.ts';
import { listOf, pageQuery, runDetailSchema, strict, userSchema } from './shapes.ts';

const listQuery = Type.Object(
  {
    q: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'Text that the user id contains.' }),
    ),
    ...pageQuery,
  },
  strict,
);

const pausedBody = Type.Object({ paused: Type.Boolean() }, strict);

const runBody = Type.Object(
  { dryRun: Type.Optional(Type.Boolean({ description: 'Propose, and write nothing.' })) },
  strict,
);

/** What dreaming has to say of users, and what one can ask of it for one of them. */
export function usersRoutes(deps: {
  host: Host;
  dreams: PluginDreams;
  settings: SettingsReader;
  runs: Runs;
  isModelResting: () => boolean;
}): RouteDefinition[] {
  const { host, dreams, settings, runs } = deps;

  async function look(): Promise<Circumstances> {
    await runs.recover();
    return {
      settings: await settings.read(),
      now: host.now(),
      hasModel: host.model !== null,
      isModelResting: deps.isModelResting(),
    };
  }

  const list: RouteDefinition<Static<typeof listQuery>> = {
    method: 'GET',
    path: '/v1/admin/dream/users',
    auth: 'admin',
    tag: 'Dreams',
    summary: 'List users with the state of their dreaming',
    description: 'By user id. Whoever is not dreamed at the next tick has a skipReason.',
    querySchema: listQuery,
    resultSchema: listOf(userSchema),
    errorCodes: ['INVALID_CURSOR'],
    async handle({ query }) {
      const { q } = query;
      const tag = `dream-users ${q ?? ''}`;
      const page = parsePage(query, { tag, defaultOrder: 'asc' });
      const circumstances = await look();
      const { items, next } = await dreams.listUsers(q === undefined ? {} : { contains: q }, page);
      return {
        items: items.map((user) => toUserView(user, circumstances)),
        nextCursor: toCursor(next, tag, page.order),
      };
    },
  };

  const pause: RouteDefinition<unknown, Static<typeof pausedBody>> = {
    method: 'PUT',
    path: '/v1/admin/dream/users/:userId/paused',
    auth: 'admin',
    tag: 'Dreams',
    summary: 'Pause or resume a user',
    description: 'A paused user is skipped at every tick; a run under way goes on.',
    bodySchema: pausedBody,
    resultSchema: userSchema,
    errorCodes: ['INVALID_USER_ID'],
    async handle({ params, body, address, traceId }) {
      const scope = toScope(parseUserId(params['userId']));
      const userId = scope.slice(2);
      const { paused } = body;
      await dreams.update({ scope, runId: null }, ({ user }) => ({
        result: null,
        user: { ...user, paused },
        audit: {
          action: 'dream.paused',
          target: userId,
          details: { paused },
          caller: { address, traceId },
        },
      }));
      const unknown = { scope, files: 0, lastWriteAt: null, lastQualifyingAt: null, record: null };
      const user = (await dreams.user(scope)) ?? unknown;
      // A user without memory has no scope yet, and is paused all the same.
      const view = toUserView(user, await look());
      return { ...view, paused };
    },
  };

  const run: RouteDefinition<unknown, Static<typeof runBody>> = {
    method: 'POST',
    path: '/v1/admin/dream/users/:userId/run',
    auth: 'admin',
    tag: 'Dreams',
    summary: 'Dream of a user now',
    description:
      'Also when the user is paused, dreaming is disabled, or the grace period lasts: a person asked for it. The run goes on behind the answer.',
    bodySchema: runBody,
    resultSchema: runDetailSchema,
    status: 202,
    errorCodes: ['INVALID_USER_ID', 'DREAM_RUNNING', 'MODEL_NOT_CONFIGURED', 'QUOTA_EXCEEDED'],
    async handle({ params, body, address, traceId }) {
      const userId = parseUserId(params['userId']);
      const begun = await runs.request(userId, {
        dryRun: body.dryRun ?? false,
        settings: await settings.read(),
        caller: { address, traceId },
      });
      return await toRunDetail(host, begun);
    },
  };

  return [list, pause, run] as RouteDefinition[];
}
