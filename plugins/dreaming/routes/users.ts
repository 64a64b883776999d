import Type from 'typebox';
import type { Host, PluginRuns } from '../../../core/contracts/plugin.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import { MemoryError, readAfterWrite } from '../../../core/errors.ts';
import { parseUserId, toScope, ownerOf } from '../../../core/plugin.ts';
import { answerList } from '../../../core/lists/page.ts';
import { adminRoute } from '../../../core/schemas/define-route.ts';
import { AdminDreamRunDetail } from '../../../core/schemas/dreams.ts';
import { listOf, pageQuery, strictObject } from '../../../core/schemas/shapes.ts';
import type { Circumstances } from '../eligibility.ts';
import { isFrozen } from '../run.ts';
import type { Runs } from '../runs.ts';
import type { SettingsReader } from '../settings.ts';
import { toRunDetail, toUserView } from '../views.ts';
import { AdminDreamUser } from './answers.ts';

/** What the routes of users work with. */
interface UsersRoutesOptions {
  host: Host;
  dreams: PluginRuns;
  settings: SettingsReader;
  runs: Runs;
  /** What decides, beside the user, whether one is dreamed of; runs that were cut off are recovered. */
  look: () => Promise<Circumstances>;
}

/** The users with the state of their dreaming, and what an operator can do for one of them. */
export function usersRoutes(
  options: Omit<UsersRoutesOptions, 'look'> & { isModelResting: () => boolean },
): RouteDefinition[] {
  const { host, settings, runs } = options;

  async function look(): Promise<Circumstances> {
    const held = await settings.read();
    await runs.recover(held.dream_waiting_days);
    return {
      settings: held,
      now: host.now(),
      hasModel: host.models.model !== null,
      isModelResting: options.isModelResting(),
      isFrozen: (userId) => isFrozen(host, userId),
    };
  }

  const given = { ...options, look };
  return [listRoute(given), pauseRoute(given), runRoute(given)];
}

function listRoute({ dreams, look }: UsersRoutesOptions): RouteDefinition {
  return adminRoute('Dreams', {
    method: 'GET',
    path: '/v1/admin/dream/users',
    role: 'viewer',
    summary: 'List users with the state of their dreaming',
    description: 'By user id. Whoever is not dreamed at the next tick has a skipReason.',
    querySchema: strictObject({
      q: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 128,
          description: 'Text that the user id contains.',
        }),
      ),
      userIds: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 8_000,
          description: 'Only these users, on one page: up to 50 ids, separated by commas.',
        }),
      ),
      ...pageQuery,
    }),
    resultSchema: listOf(AdminDreamUser),
    errorCodes: ['INVALID_CURSOR', 'INVALID_USER_ID'],
    async handle({ query }) {
      return await answerList(query, {
        list: 'dream-users',
        sort: 'userId',
        defaultOrder: 'asc',
        async read(page) {
          const circumstances = await look();
          if (query.userIds !== undefined) {
            const scopes = parseUserIds(query.userIds).map((userId) => toScope({ userId }));
            const users = await Promise.all(scopes.map((scope) => dreams.user(scope)));
            const known = users.filter((user) => user !== null);
            return { items: known.map((user) => toUserView(user, circumstances)), next: null };
          }
          const filter = query.q === undefined ? {} : { contains: query.q };
          const { items, next } = await dreams.listUsers(filter, page);
          return { items: items.map((user) => toUserView(user, circumstances)), next };
        },
        toItem: (view) => view,
      });
    },
  });
}

function pauseRoute({ dreams, look }: UsersRoutesOptions): RouteDefinition {
  return adminRoute('Dreams', {
    method: 'PUT',
    path: '/v1/admin/dream/users/:userId/paused',
    role: 'operator',
    summary: 'Pause or resume a user',
    description: 'A paused user is skipped at every tick; a run under way goes on.',
    bodySchema: strictObject({ paused: Type.Boolean() }),
    resultSchema: AdminDreamUser,
    errorCodes: ['INVALID_USER_ID'],
    async handle({ params, body, caller }) {
      const scope = toScope({ userId: params['userId'] });
      const userId = ownerOf(scope);
      const { paused } = body;
      await dreams.update({ scope, runId: null }, ({ user }) => ({
        result: null,
        user: { ...user, paused },
        audit: {
          action: 'dream.paused',
          target: userId,
          details: { paused },
          caller,
        },
      }));
      const unknown = {
        scope,
        files: 0,
        lastWriteAt: null,
        lastQualifyingAt: null,
        record: null,
      };
      const view = await readAfterWrite(async () => {
        const user = (await dreams.user(scope)) ?? unknown;
        return toUserView(user, await look());
      });
      // A user without memory has no scope yet, and is paused all the same.
      return { ...view, paused };
    },
  });
}

function runRoute({ host, settings, runs }: UsersRoutesOptions): RouteDefinition {
  return adminRoute('Dreams', {
    method: 'POST',
    path: '/v1/admin/dream/users/:userId/run',
    role: 'operator',
    summary: 'Dream of a user now',
    description:
      'Also when the user is paused, dreaming is disabled, or the grace period lasts: a person asked for it. The run goes on behind the answer.',
    bodySchema: strictObject({
      dryRun: Type.Optional(Type.Boolean({ description: 'Propose, and write nothing.' })),
    }),
    resultSchema: AdminDreamRunDetail,
    status: 202,
    errorCodes: [
      'INVALID_USER_ID',
      'DREAM_RUNNING',
      'MODEL_NOT_CONFIGURED',
      'QUOTA_EXCEEDED',
      'WRITES_FROZEN',
    ],
    async handle({ params, body, caller }) {
      const userId = parseUserId(params['userId']);
      const begun = await runs.request(userId, {
        dryRun: body.dryRun ?? false,
        settings: await settings.read(),
        caller,
      });
      return await readAfterWrite(() => toRunDetail(host, begun));
    },
  });
}

/** The most users that one query names. */
const MOST_NAMED = 50;

/** The users that a query names. Throws `INVALID_USER_ID` for one that cannot be one, or too many. */
function parseUserIds(text: string) {
  const userIds = text.split(',').map(parseUserId);
  if (userIds.length <= MOST_NAMED) return userIds;
  throw new MemoryError('INVALID_USER_ID', `userIds takes up to ${MOST_NAMED} ids.`);
}
