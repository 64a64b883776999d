import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { AdminFreeze, FreezeRequest } from '../../schemas/freezes.ts';
import { strictObject } from '../../schemas/shapes.ts';
import type { Core } from '../../service.ts';

/** Stops writes for a while, and allows them again. */
export function freezesRoutes({
  access,
  freezes,
}: Pick<Core, 'access' | 'freezes'>): RouteDefinition[] {
  return [
    adminRoute('Freezes', {
      tagDescription:
        'Stop the writes of a user, of an actor, with an API key, or all, while you look into something.',
      method: 'POST',
      path: '/v1/admin/freeze',
      role: 'operator',
      summary: 'Stop writes for a while',
      description:
        'Writes of tools, memory_remember, dreams and imports there get 403 WRITES_FROZEN, here at once and on other instances within a second. Reads go on, and so does what an operator does: edit, apply, restore, revert, redact, erase. It ends by itself after minutes.',
      bodySchema: FreezeRequest,
      resultSchema: AdminFreeze,
      status: 201,
      errorCodes: ['INVALID_USER_ID', 'KEY_NOT_FOUND', 'QUOTA_EXCEEDED'],
      async handle({ body, caller }) {
        if (body.keyId !== undefined) await access.keys.get(body.keyId);
        return await freezes.freeze(body, caller);
      },
    }),
    adminRoute('Freezes', {
      method: 'GET',
      path: '/v1/admin/freezes',
      role: 'viewer',
      summary: 'List the freezes in force',
      description: 'Oldest first; those that are over are not listed.',
      resultSchema: strictObject({ items: Type.Array(AdminFreeze) }),
      handle: async () => ({ items: await freezes.list() }),
    }),
    adminRoute('Freezes', {
      method: 'DELETE',
      path: '/v1/admin/freezes/:id',
      role: 'operator',
      summary: 'Allow writes again',
      description:
        'Ends a freeze early, and returns it. If another freeze stops the same writes, they stay stopped.',
      resultSchema: AdminFreeze,
      errorCodes: ['FREEZE_NOT_FOUND'],
      handle: (request) => freezes.thaw(request.params['id'] ?? '', request.caller),
    }),
  ];
}
