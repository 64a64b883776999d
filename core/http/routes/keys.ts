import Type from 'typebox';
import { parseKeyRules } from '../../access/key-request.ts';
import type { KeyRecord } from '../../contracts/access.ts';
import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { AdminKey, KeyRequest, MadeKeyAnswer, RotateRequest } from '../../schemas/keys.ts';
import { strictObject } from '../../schemas/shapes.ts';
import type { Core } from '../../service.ts';
import { parseTimeOrNull, toTime } from '../../time/time.ts';
import { SPACE_TOOLS } from '../../tools/run-space-call.ts';

/** How long the text of before stays valid, where a request does not say. */
export const OVERLAP_MINUTES = 60;

/** Named keys of the tools API. */
export function keysRoutes({
  access,
  tools,
  settings,
}: Pick<Core, 'access' | 'tools' | 'settings'>): RouteDefinition[] {
  const { keys } = access;
  /** Memory stores call these tools even where they are off. */
  const toolNames = () => [
    ...new Set([
      ...tools.definitions.map((tool) => tool.name),
      ...(settings.memoryStores ? SPACE_TOOLS : []),
    ]),
  ];
  return [
    adminRoute('Keys', {
      tagDescription: 'Named keys of the tools API, each with what it may do.',
      method: 'POST',
      path: '/v1/admin/keys',
      role: 'admin',
      summary: 'Make a key',
      description:
        'The answer has the key, which is stored nowhere: only its hash is. Calls with it get 403 USER_NOT_ALLOWED, SPACE_NOT_ALLOWED or TOOL_NOT_ALLOWED for what it is not for, and 429 RATE_LIMITED beyond its rateLimit.',
      bodySchema: KeyRequest,
      resultSchema: MadeKeyAnswer,
      status: 201,
      errorCodes: ['QUOTA_EXCEEDED'],
      async handle({ body: { name, expiresAt, ...request }, caller }) {
        const rules = parseKeyRules(request, toolNames());
        const ends = parseTimeOrNull(expiresAt ?? undefined, 'expiresAt');
        const { record, text } = await keys.create({ name, rules, expiresAt: ends }, caller);
        return { ...toAdminKey(record), key: text };
      },
    }),
    adminRoute('Keys', {
      method: 'GET',
      path: '/v1/admin/keys',
      role: 'admin',
      summary: 'List the keys',
      description: 'By name, without their texts; those that are over, too, and no revoked ones.',
      resultSchema: strictObject({ items: Type.Array(AdminKey) }),
      handle: async () => ({ items: (await keys.list()).map(toAdminKey) }),
    }),
    adminRoute('Keys', {
      method: 'POST',
      path: '/v1/admin/keys/:id/rotate',
      role: 'admin',
      summary: 'Rotate a key',
      description:
        'The key gets a new text, and keeps its name and rules. The text of now stays valid for overlapMinutes.',
      bodySchema: RotateRequest,
      resultSchema: MadeKeyAnswer,
      errorCodes: ['KEY_NOT_FOUND'],
      async handle({ params, body, caller }) {
        const overlapMinutes = body.overlapMinutes ?? OVERLAP_MINUTES;
        const { record, text } = await keys.rotate(params['id'] ?? '', { overlapMinutes }, caller);
        return { ...toAdminKey(record), key: text };
      },
    }),
    adminRoute('Keys', {
      method: 'DELETE',
      path: '/v1/admin/keys/:id',
      role: 'admin',
      summary: 'Revoke a key',
      description:
        'Calls with it get 401, here at once and on other instances within a second. Rows of its calls keep its name.',
      resultSchema: AdminKey,
      errorCodes: ['KEY_NOT_FOUND'],
      handle: async ({ params, caller }) =>
        toAdminKey(await keys.revoke(params['id'] ?? '', caller)),
    }),
  ];
}

function toAdminKey(record: KeyRecord & { kind: 'tools' }): AdminKey {
  const { users, spaces, tools, rateLimit, actor, manage } = record.rules;
  return {
    ...toKept(record),
    users: users === null ? null : [...users],
    spaces: [...spaces],
    tools: tools === null ? null : [...tools],
    rateLimit,
    actor,
    manage,
  };
}

/** What the answers of keys and of operators have in common. */
export function toKept({
  id,
  name,
  createdAt,
  createdBy,
  expiresAt,
  lastUsedAt,
  previousUntil,
}: KeyRecord) {
  const toTimeOrNull = (time: number | null) => (time === null ? null : toTime(time));
  return {
    id,
    name,
    createdAt: toTime(createdAt),
    createdBy,
    expiresAt: toTimeOrNull(expiresAt),
    lastUsedAt: toTimeOrNull(lastUsedAt),
    previousUntil: toTimeOrNull(previousUntil),
  };
}
