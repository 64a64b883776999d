import type { RouteDefinition } from '../../core/contracts/route.ts';
import type { HostStores } from '../../core/contracts/stores.ts';
import { memoryRoutes } from './memories.ts';
import { storeRoutes } from './stores.ts';
import { versionRoutes } from './versions.ts';

/** Every route of memory stores. Nothing of `stores` is used before a request comes. */
export function memoryStoreRoutes(stores: HostStores): RouteDefinition[] {
  return [...storeRoutes(stores), ...memoryRoutes(stores), ...versionRoutes(stores)];
}
