import type { Host, PluginRuns } from '../../../core/contracts/plugin.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import type { Runs } from '../runs.ts';
import type { SettingsReader } from '../settings.ts';
import { configRoutes } from './config.ts';
import { runsRoutes } from './runs.ts';
import { usersRoutes } from './users.ts';

/** What the routes work with. */
export interface DreamRoutesDependencies {
  host: Host;
  dreams: PluginRuns;
  settings: SettingsReader;
  runs: Runs;
  /** Whether the scheduler of this instance was started. */
  isStarted: () => boolean;
  isModelResting: () => boolean;
}

/** Every route of dreaming. Nothing of `deps` is used before a request comes. */
export function dreamRoutes(deps: DreamRoutesDependencies): RouteDefinition[] {
  return [...configRoutes(deps), ...usersRoutes(deps), ...runsRoutes(deps)];
}
