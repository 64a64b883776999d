import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../core.ts';
import { MemoryError } from '../../errors.ts';
import { strict } from './shapes.ts';

const healthSchema = Type.Object({ status: Type.Literal('ok') }, strict);

/** Alive, and ready: for whoever restarts the service and sends it work. */
export function healthRoutes(core: Pick<Core, 'state' | 'ready' | 'storage'>): RouteDefinition[] {
  // However many ask, the database answers one of them at a time.
  let asking: Promise<void> | null = null;
  const ask = (): Promise<void> => {
    asking ??= core
      .ready()
      .then(() => core.storage.ping())
      .finally(() => {
        asking = null;
      });
    return asking;
  };
  return [
    {
      method: 'GET',
      path: '/healthz',
      auth: 'none',
      tag: 'Health',
      summary: 'Alive',
      description: 'The process answers. Touches nothing else.',
      resultSchema: healthSchema,
      errorCodes: [],
      handle: () => ({ status: 'ok' }),
    },
    {
      method: 'GET',
      path: '/readyz',
      auth: 'none',
      tag: 'Health',
      summary: 'Ready for work',
      description: 'Storage answers and migrations are done.',
      resultSchema: healthSchema,
      errorCodes: ['STORAGE_UNAVAILABLE', 'SHUTTING_DOWN'],
      async handle() {
        const state = core.state();
        if (state === 'closing' || state === 'closed') throw new MemoryError('SHUTTING_DOWN');
        await ask();
        return { status: 'ok' };
      },
    },
  ];
}
