import type { RouteDefinition } from '../../contracts/route.ts';
import { parseRequestedChecks } from '../../checks/check.ts';
import { CheckRun, CheckRunBody } from '../../schemas/checks.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import type { Core } from '../../service.ts';

/** How long the checks of one request may take. */
const DEADLINE_MS = 10 * 60_000;

/** Runs checks on memory. */
export function checksRoutes(core: Pick<Core, 'runChecks'>): RouteDefinition[] {
  return [
    adminRoute('Checks', {
      tagDescription: 'Tests for memory.',
      method: 'POST',
      path: '/v1/admin/checks/run',
      role: 'operator',
      summary: 'Run checks on memory',
      description:
        'Changes nothing, and leaves no access row. Results say where something is, never what stands there. memory-service check calls it.',
      bodySchema: CheckRunBody,
      resultSchema: CheckRun,
      deadlineMs: DEADLINE_MS,
      handle: ({ body }) => core.runChecks(parseRequestedChecks(body)),
    }),
  ];
}
