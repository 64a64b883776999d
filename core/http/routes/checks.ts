import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import { parseRequestedChecks } from '../../checks/check.ts';
import { invalidField, MemoryError } from '../../errors.ts';
import {
  AdminCheckBisect,
  AdminCheckProgress,
  AdminCheckRun,
  AdminCheckRuns,
  AdminChecks,
  CheckAnswers,
  CheckAskBody,
  CheckBisectBody,
  CheckRun,
  CheckRunBody,
  ChecksBody,
} from '../../schemas/checks.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { nullable } from '../../schemas/shapes.ts';
import type { Core } from '../../service.ts';
import { ifVersionOf, toVersionTag, withPrecondition } from '../precondition.ts';

/** How long the checks of one request may take. */
const DEADLINE_MS = 10 * 60_000;

/** Runs checks on memory, and keeps those of the service. */
export function checksRoutes({ checks }: Pick<Core, 'checks'>): RouteDefinition[] {
  return [...storedRoutes(checks), ...runRoutes(checks), ...resultRoutes(checks)];
}

/** The stored checks themselves. */
function storedRoutes({ stored }: Core['checks']): RouteDefinition[] {
  return [
    adminRoute('Checks', {
      tagDescription: 'Tests for memory.',
      method: 'GET',
      path: '/v1/admin/checks',
      role: 'contents',
      summary: 'Read the stored checks',
      description: 'As they were written. The ETag is their version.',
      resultSchema: AdminChecks,
      async handle(request) {
        const answer = await stored.read();
        request.setHeader('ETag', toVersionTag(answer.version));
        return answer;
      },
    }),
    adminRoute('Checks', {
      method: 'PUT',
      path: '/v1/admin/checks',
      role: 'operator',
      summary: 'Replace the stored checks',
      description:
        'All of them, as text or as a list. Mistakes are answered all at once, each with its line: then nothing changes. Takes If-Match: the 412 says who changed them, and when.',
      bodySchema: ChecksBody,
      resultSchema: AdminChecks,
      errorCodes: ['VERSION_CONFLICT'],
      async handle(request) {
        const { body, caller } = request;
        if ((body.text === undefined) === (body.checks === undefined)) {
          throw invalidField('/text', 'or checks must be given, and not both', 'text');
        }
        const ifVersion = await ifVersionOf(request, () => stored.version());
        const answer = await withPrecondition(ifVersion, () =>
          stored.write(body, { caller, ifVersion }),
        );
        request.setHeader('ETag', toVersionTag(answer.version));
        return answer;
      },
    }),
  ];
}

/** What tries checks and questions on memory. */
function runRoutes(checks: Core['checks']): RouteDefinition[] {
  const { stored } = checks;
  return [
    adminRoute('Checks', {
      method: 'POST',
      path: '/v1/admin/checks/run',
      role: 'operator',
      summary: 'Run checks on memory',
      description:
        'Changes no memory, and leaves no access row. Without checks it runs the stored ones, and keeps what they find. Results say where something is, never what stands there. memory-service check calls it.',
      bodySchema: CheckRunBody,
      resultSchema: Type.Union([CheckRun, AdminCheckRun]),
      deadlineMs: DEADLINE_MS,
      async handle({ body, caller }) {
        const { progressId } = body;
        if (body.checks !== undefined) {
          return await checks.run(parseRequestedChecks({ checks: body.checks }), { progressId });
        }
        const run = await stored.run('hand', { caller, progressId });
        if (run === null) {
          throw new MemoryError('INVALID_REQUEST', 'There are no stored checks to run.', {
            action: 'Give checks, or store some with PUT /v1/admin/checks.',
          });
        }
        return run;
      },
    }),
    adminRoute('Checks', {
      method: 'POST',
      path: '/v1/admin/checks/bisect',
      role: 'operator',
      summary: 'Find the write that made a check fail',
      description:
        'Tries the check on memory as it stood after earlier writes, by words alone: at most 40 moments, of the newest 2,000 writes. A check about several memories is followed in the first one in which it fails.',
      bodySchema: CheckBisectBody,
      resultSchema: AdminCheckBisect,
      errorCodes: ['CHECK_NOT_FOUND'],
      deadlineMs: DEADLINE_MS,
      async handle({ body: { name, check } }) {
        if ((name === undefined) === (check === undefined)) {
          throw invalidField('/name', 'or check must be given, and not both', 'name');
        }
        const given =
          check === undefined
            ? (await stored.load()).checks.find((one) => one.name === name)
            : parseRequestedChecks({ checks: [check] })[0];
        if (given === undefined) {
          throw new MemoryError('CHECK_NOT_FOUND', 'There is no stored check of this name.');
        }
        return await checks.bisect(given);
      },
    }),
    adminRoute('Checks', {
      method: 'POST',
      path: '/v1/admin/checks/ask',
      role: 'operator',
      summary: 'Ask questions to measure what finds give',
      description:
        'Answers the paths of the files that each question finds, and leaves no access row. memory-service eval calls it.',
      bodySchema: CheckAskBody,
      resultSchema: CheckAnswers,
      deadlineMs: DEADLINE_MS,
      handle: async ({ body }) => ({ answers: await checks.ask(body.questions) }),
    }),
  ];
}

/** What runs find, and how far they are. */
function resultRoutes(checks: Core['checks']): RouteDefinition[] {
  const { stored } = checks;
  return [
    adminRoute('Checks', {
      method: 'GET',
      path: '/v1/admin/checks/progress/:id',
      role: 'viewer',
      summary: 'Read how far a run of checks is',
      description:
        'Of a run of the process that answers, by the progressId that it was begun with; null once it is over.',
      resultSchema: nullable(AdminCheckProgress),
      handle: ({ params }) => checks.progressOf(params['id'] ?? ''),
    }),
    adminRoute('Checks', {
      method: 'GET',
      path: '/v1/admin/checks/runs',
      role: 'viewer',
      summary: 'List the runs of the stored checks',
      description: 'Newest first, with the history of each check.',
      resultSchema: AdminCheckRuns,
      handle: () => stored.runs(),
    }),
    adminRoute('Checks', {
      method: 'GET',
      path: '/v1/admin/checks/runs/:id',
      role: 'viewer',
      summary: 'Read a run of the stored checks',
      description: 'With its results, and what got better and worse since the run before.',
      resultSchema: AdminCheckRun,
      errorCodes: ['CHECK_NOT_FOUND'],
      handle: ({ params }) => stored.get(params['id'] ?? ''),
    }),
  ];
}
