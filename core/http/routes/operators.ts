import type { KeyRecord, Operator } from '../../contracts/access.ts';
import type { RouteDefinition } from '../../contracts/route.ts';
import { invalidField } from '../../errors.ts';
import { createProxySignIn, mayUse, SERVICE_OPERATOR } from '../../access/operators.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import {
  AdminAccessRights,
  AdminMe,
  AdminOperator,
  MadeOperatorAnswer,
  OperatorList,
  OperatorRequest,
  RotateRequest,
} from '../../schemas/keys.ts';
import type { Core } from '../../service.ts';
import { OVERLAP_MINUTES, toKept } from './keys.ts';

/** Named operators, and who asks. `routes` gives all routes of the service. */
export function operatorsRoutes(
  { access, settings }: Pick<Core, 'access' | 'settings'>,
  { routes }: { routes: () => readonly RouteDefinition[] },
): RouteDefinition[] {
  const { operators } = access;
  const proxy = createProxySignIn(settings);
  return [
    adminRoute('Operators', {
      tagDescription: 'Who may use the admin API, each with a token and a role.',
      method: 'GET',
      path: '/v1/admin/me',
      role: 'viewer',
      summary: 'Read who you are',
      description: 'The name and role of the operator who asks.',
      resultSchema: AdminMe,
      handle: ({ operator }) => operator ?? SERVICE_OPERATOR,
    }),
    adminRoute('Operators', {
      method: 'GET',
      path: '/v1/admin/me/rights',
      role: 'viewer',
      summary: 'Read what you may do',
      description:
        'Every route of the admin API with the role that it needs, and whether the operator who asks has it.',
      resultSchema: AdminAccessRights,
      handle({ operator }) {
        const asker = operator ?? SERVICE_OPERATOR;
        return { operator: asker, routes: routes().flatMap((route) => toRight(route, asker)) };
      },
    }),
    adminRoute('Operators', {
      method: 'POST',
      path: '/v1/admin/operators',
      role: 'admin',
      summary: 'Make an operator',
      description: 'The answer has the token, which is stored nowhere: only its hash is.',
      bodySchema: OperatorRequest,
      resultSchema: MadeOperatorAnswer,
      status: 201,
      errorCodes: ['QUOTA_EXCEEDED'],
      async handle({ body: { name, role, contents }, caller }) {
        if (name === SERVICE_OPERATOR.name) {
          throw invalidField('/name', 'is that of the secret of the configuration', 'name');
        }
        if (role !== 'viewer' && contents === false) {
          throw invalidField('/contents', 'is true for all roles but viewer', 'contents');
        }
        const rules = { role, contents: role !== 'viewer' || contents === true };
        const { record, text } = await operators.create({ name, rules, expiresAt: null }, caller);
        return { ...toAdminOperator(record), token: text };
      },
    }),
    adminRoute('Operators', {
      method: 'GET',
      path: '/v1/admin/operators',
      role: 'admin',
      summary: 'List the operators',
      description:
        'By name, without their tokens. Those whom a proxy signs in are not among them: proxy says which names get which role.',
      resultSchema: OperatorList,
      handle: async () => ({
        items: (await operators.list()).map(toAdminOperator),
        proxy: proxy && { header: proxy.header, roles: proxy.roles },
      }),
    }),
    adminRoute('Operators', {
      method: 'POST',
      path: '/v1/admin/operators/:id/rotate',
      role: 'admin',
      summary: 'Rotate the token of an operator',
      description: 'The token of now stays valid for overlapMinutes.',
      bodySchema: RotateRequest,
      resultSchema: MadeOperatorAnswer,
      errorCodes: ['OPERATOR_NOT_FOUND'],
      async handle({ params, body, caller }) {
        const overlapMinutes = body.overlapMinutes ?? OVERLAP_MINUTES;
        const made = await operators.rotate(params['id'] ?? '', { overlapMinutes }, caller);
        return { ...toAdminOperator(made.record), token: made.text };
      },
    }),
    adminRoute('Operators', {
      method: 'DELETE',
      path: '/v1/admin/operators/:id',
      role: 'admin',
      summary: 'Remove an operator',
      description: 'The token is refused here at once, and on other instances within a second.',
      resultSchema: AdminOperator,
      errorCodes: ['OPERATOR_NOT_FOUND'],
      handle: async ({ params, caller }) =>
        toAdminOperator(await operators.revoke(params['id'] ?? '', caller)),
    }),
  ];
}

/** Nothing for a route outside the admin API. */
function toRight(
  { auth, method, path, role: needed = 'admin', summary }: RouteDefinition,
  asker: Operator,
): AdminAccessRights['routes'] {
  if (auth !== 'admin') return [];
  return [{ method, path, summary, role: needed, allowed: mayUse(asker, needed) }];
}

function toAdminOperator(record: KeyRecord & { kind: 'admin' }): AdminOperator {
  return { ...toKept(record), role: record.rules.role, contents: record.rules.contents };
}
