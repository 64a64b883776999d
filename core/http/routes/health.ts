import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { withDeadline } from '../../time/deadline.ts';
import { MemoryError } from '../../errors.ts';
import type { WriteState } from '../../files/write-health.ts';
import { defineRoute } from '../../schemas/define-route.ts';
import { strictObject, text } from '../../schemas/shapes.ts';

const Health = strictObject({ status: Type.Literal('ok') });

const Readiness = strictObject({
  status: Type.Literal('ok', { description: 'Reads are served.' }),
  writes: Type.Enum(['ok', 'failing'], {
    description:
      'failing: the database takes no writes now. It is full, read-only or locked, for all instances alike, so that reads still belong here.',
  }),
  code: Type.Optional(text('The code that writes get while they fail.')),
});

/** The time limit of an answer, whatever the database does. */
const READY_MS = 1_900;

/** Liveness and readiness checks, for supervisors and load balancers. */
export function healthRoutes(
  core: Pick<Core, 'state' | 'ready' | 'lateStart' | 'storage' | 'writeHealth'>,
): RouteDefinition[] {
  // Concurrent checks share one query.
  let asking: Promise<WriteState> | null = null;
  const ask = (): Promise<WriteState> => {
    asking ??= core
      .ready()
      .then(() => Promise.all([core.writeHealth.check(), core.storage.ping()]))
      .then(([writes]) => writes)
      .finally(() => {
        asking = null;
      });
    return withDeadline(asking, READY_MS, () =>
      core.state() === 'starting' ? core.lateStart() : new MemoryError('STORAGE_UNAVAILABLE'),
    );
  };
  return [
    defineRoute({
      method: 'GET',
      path: '/healthz',
      anyHost: true,
      auth: 'none',
      tag: 'Health',
      tagDescription: 'Checks for supervisors and load balancers.',
      summary: 'Alive',
      description: 'The process answers. Touches nothing else.',
      resultSchema: Health,
      handle: () => ({ status: 'ok' as const }),
    }),
    defineRoute({
      method: 'GET',
      path: '/readyz',
      anyHost: true,
      auth: 'none',
      tag: 'Health',
      summary: 'Ready for work',
      description:
        'Storage answers reads and migrations are done. It answers within 2 s, also when the database does not.',
      resultSchema: Readiness,
      errorCodes: ['STORAGE_UNAVAILABLE', 'STORAGE_DAMAGED', 'SHUTTING_DOWN'],
      async handle() {
        const state = core.state();
        if (state === 'closing' || state === 'closed') throw new MemoryError('SHUTTING_DOWN');
        const { status: writes, code } = await ask();
        return { status: 'ok' as const, writes, ...(code === null ? {} : { code }) };
      },
    }),
  ];
}
