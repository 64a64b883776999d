import Type from 'typebox';
import type { Host, PluginRuns } from '../../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import type { RunUser } from '../../../core/contracts/runs.ts';
import { type ErrorCode, invalidField, MemoryError, readAfterWrite } from '../../../core/errors.ts';
import { labelOf, parseSpaceId, spaceNotFound, toScope, toUserId } from '../../../core/plugin.ts';
import { answerList } from '../../../core/lists/page.ts';
import { adminRoute } from '../../../core/schemas/define-route.ts';
import { AdminDreamRunDetail } from '../../../core/schemas/dreams.ts';
import { listOf, pageQuery, strictObject } from '../../../core/schemas/shapes.ts';
import type { Circumstances } from '../eligibility.ts';
import { isFrozen } from '../run.ts';
import type { Runs } from '../runs.ts';
import type { SettingsReader } from '../settings.ts';
import { tokensLeftOfAll } from '../tokens.ts';
import { toRunDetail, toUserView } from '../views.ts';
import { AdminDreamUser } from './answers.ts';

/** What the routes of users and spaces work with. */
interface UsersRoutesOptions {
  host: Host;
  dreams: PluginRuns;
  settings: SettingsReader;
  runs: Runs;
  /** What decides, beside the memory, whether one is dreamed of; runs that were cut off are recovered. */
  look: () => Promise<Circumstances>;
}

/** Users, or spaces, in the words of their routes. */
interface Owners {
  name: 'users' | 'spaces';
  /** What one of them is called. */
  one: string;
  idField: 'userId' | 'spaceId';
  /** The scope of an id, which came in a field of the request. */
  toScope: (id: unknown, field?: string) => ScopeKey;
  /** What the routes that name one may answer. */
  errorCodes: readonly ErrorCode[];
}

const USERS: Owners = {
  name: 'users',
  one: 'user',
  idField: 'userId',
  toScope: (userId) => toScope({ userId }),
  errorCodes: ['INVALID_USER_ID'],
};
const SPACES: Owners = {
  name: 'spaces',
  one: 'space',
  idField: 'spaceId',
  toScope: (id, field) => toScope({ spaceId: parseSpaceId(id, field) }),
  errorCodes: ['SPACE_NOT_FOUND'],
};

/** The users and spaces with the state of their dreaming, and what an operator can do for one of them. */
export function usersRoutes(
  options: Omit<UsersRoutesOptions, 'look'> & { isModelResting: () => boolean },
): RouteDefinition[] {
  const { host, settings, runs } = options;

  async function look(): Promise<Circumstances> {
    const held = await settings.read();
    await runs.recover(held.dream_waiting_days);
    const now = host.now();
    return {
      settings: held,
      now,
      tokensLeft: await tokensLeftOfAll(options.dreams, held, now),
      timeZone: host.settings.timeZone,
      hasModel: host.models.model !== null,
      isModelResting: options.isModelResting(),
      isFrozen: (scope) => isFrozen(host, scope),
    };
  }

  const given = { ...options, look };
  return [USERS, SPACES].flatMap((owners) => [
    listRoute(given, owners),
    pauseRoute(given, owners),
    runRoute(given, owners),
  ]);
}

function listRoute({ dreams, look }: UsersRoutesOptions, owners: Owners): RouteDefinition {
  const { name, one, idField } = owners;
  const ids = `${idField}s` as const;
  return adminRoute('Dreams', {
    method: 'GET',
    path: `/v1/admin/dream/${name}`,
    role: 'viewer',
    summary: `List ${name} with the state of their dreaming`,
    description: `By ${one} id. Whatever is not dreamed at the next tick has a skipReason.`,
    querySchema: strictObject({
      q: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 128,
          description: `Text that the ${one} id contains.`,
        }),
      ),
      [ids]: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 8_000,
          description: `Only these ${name}, on one page: up to 50 ids, separated by commas.`,
        }),
      ),
      ...pageQuery,
    }),
    resultSchema: listOf(AdminDreamUser),
    errorCodes: ['INVALID_CURSOR', ...(owners === USERS ? (['INVALID_USER_ID'] as const) : [])],
    async handle({ query }) {
      const { [ids]: named, q } = query as { q?: string } & Partial<Record<typeof ids, string>>;
      return await answerList(query, {
        list: `dream-${name}`,
        sort: idField,
        defaultOrder: 'asc',
        async read(page) {
          const circumstances = await look();
          if (named !== undefined) {
            const scopes = parseIds(named, owners);
            const users = await Promise.all(scopes.map((scope) => dreams.user(scope)));
            const known = users.filter((user) => user !== null);
            return { items: known.map((user) => toUserView(user, circumstances)), next: null };
          }
          const filter = { of: name, ...(q === undefined ? {} : { contains: q }) };
          const { items, next } = await dreams.listUsers(filter, page);
          return { items: items.map((user) => toUserView(user, circumstances)), next };
        },
        toItem: (view) => view,
      });
    },
  });
}

function pauseRoute({ dreams, look }: UsersRoutesOptions, owners: Owners): RouteDefinition {
  const { name, one, idField } = owners;
  return adminRoute('Dreams', {
    method: 'PUT',
    path: `/v1/admin/dream/${name}/:${idField}/paused`,
    role: 'operator',
    summary: `Pause or resume a ${one}`,
    description: `A paused ${one} is skipped at every tick; a run under way goes on.`,
    bodySchema: strictObject({ paused: Type.Boolean() }),
    resultSchema: AdminDreamUser,
    errorCodes: owners.errorCodes,
    async handle({ params, body, caller }) {
      const scope = owners.toScope(params[idField]);
      const { paused } = body;
      const before = await find(dreams, scope);
      await dreams.update({ scope, runId: null }, ({ user }) => ({
        result: null,
        user: { ...user, paused },
        audit: {
          action: 'dream.paused',
          target: labelOf(scope),
          details: { paused },
          caller,
        },
      }));
      const view = await readAfterWrite(async () => {
        const user = (await dreams.user(scope)) ?? before;
        return toUserView(user, await look());
      });
      // A user without memory has no scope yet, and is paused all the same.
      return { ...view, paused };
    },
  });
}

/** A user, also one without memory, or a space. Throws `SPACE_NOT_FOUND` for a space that does not exist. */
async function find(dreams: PluginRuns, scope: ScopeKey): Promise<RunUser> {
  const found = await dreams.user(scope);
  if (found !== null) return found;
  if (toUserId(scope) === null) throw spaceNotFound(scope);
  return {
    scope,
    dream: true,
    archivedAt: null,
    files: 0,
    lastWriteAt: null,
    lastQualifyingAt: null,
    record: null,
  };
}

function runRoute({ host, settings, runs }: UsersRoutesOptions, owners: Owners): RouteDefinition {
  const { name, one, idField } = owners;
  const alsoWhen =
    owners === USERS
      ? 'Also when the user is paused, dreaming is disabled, or the grace period lasts: a person asked for it.'
      : 'Also when the space is paused, the scheduler is switched off, or the grace period lasts: a person asked for it. Where the settings of the space do not say dream, it is 409 RUN_STATE.';
  return adminRoute('Dreams', {
    method: 'POST',
    path: `/v1/admin/dream/${name}/:${idField}/run`,
    role: 'operator',
    summary: `Dream of a ${one} now`,
    description: `${alsoWhen} The run goes on behind the answer.`,
    bodySchema: strictObject({
      dryRun: Type.Optional(Type.Boolean({ description: 'Propose, and write nothing.' })),
    }),
    resultSchema: AdminDreamRunDetail,
    status: 202,
    errorCodes: [
      ...owners.errorCodes,
      ...(owners === SPACES ? (['RUN_STATE', 'READ_ONLY_SCOPE'] as const) : []),
      'DREAM_RUNNING',
      'MODEL_NOT_CONFIGURED',
      'QUOTA_EXCEEDED',
      'WRITES_FROZEN',
    ],
    async handle({ params, body, caller }) {
      const begun = await runs.request(owners.toScope(params[idField]), {
        dryRun: body.dryRun ?? false,
        settings: await settings.read(),
        caller,
      });
      return await readAfterWrite(() => toRunDetail(host, begun));
    },
  });
}

/** The most users or spaces that one query names. */
const MOST_NAMED = 50;

/** The scopes that a query names. Throws for an id that cannot be one, or for too many. */
function parseIds(text: string, owners: Owners): ScopeKey[] {
  const scopes = text.split(',').map((id) => owners.toScope(id, `${owners.idField}s`));
  if (scopes.length <= MOST_NAMED) return scopes;
  if (owners === USERS) {
    throw new MemoryError('INVALID_USER_ID', `userIds takes up to ${MOST_NAMED} ids.`);
  }
  throw invalidField('/spaceIds', `takes up to ${MOST_NAMED} ids`, 'spaceIds');
}
