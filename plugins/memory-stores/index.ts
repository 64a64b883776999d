import type { Plugin } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import { storeRoute } from './route.ts';
import { memoryStoreRoutes } from './routes.ts';

/**
 * Spaces as memory stores, at `/v1/memory_stores`: the wire format of hosted platforms, so that their
 * clients work with this service. Off unless `SERVICE_MEMORY_STORES` is `true`.
 */
export function memoryStores(): Plugin {
  return {
    name: 'memory-stores',
    apiVersion: 2,
    setup(host) {
      const routes = memoryStoreRoutes(host.stores);
      if (host.settings.memoryStores) return { routes };
      return {
        routes: routes.map((route) =>
          storeRoute({
            ...route,
            handle: () => {
              throw new MemoryError('NOT_FOUND', 'Memory stores are switched off.', {
                action: 'Switch them on with SERVICE_MEMORY_STORES=true.',
              });
            },
          }),
        ),
      };
    },
  };
}
