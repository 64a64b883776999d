import { randomBytes } from 'node:crypto';
import type { Plugin } from '../contracts/plugin.ts';
import type { RouteDefinition, RouteRequest } from '../contracts/route.ts';
import type { Core } from '../core.ts';

/** Dreaming in the demo: the plugin of the configuration, by the routes that an operator uses. */
export interface DemoDreams {
  /** Settings, as an operator changes them. */
  configure(settings: Record<string, unknown>): Promise<void>;
  pause(userId: string): Promise<void>;
  /** A look of the scheduler for users, waited for until the runs have ended. */
  tick(): Promise<void>;
  /** A run that an operator asks for, waited for. */
  run(userId: string, options: { dryRun: boolean }): Promise<void>;
  /** The newest runs first. */
  runs(): Promise<DemoRun[]>;
  decide(run: DemoRun, verb: 'apply' | 'reject' | 'revert', paths?: string[]): Promise<void>;
}

/** What the demo looks at in a run. */
export interface DemoRun {
  id: string;
  userId: string;
  state: string;
  outcome: string | null;
  filesTouched: number;
  files: { path: string; status: string }[];
}

interface Ticking {
  tick(): Promise<unknown>;
  settle(): Promise<void>;
}

/** `null` where the configuration has no dreaming, or its storage keeps nothing of it. */
export function demoDreams(core: Core, plugins: readonly Plugin[]): DemoDreams | null {
  const plugin = plugins.find(({ name }) => name === 'dreaming') as (Plugin & Ticking) | undefined;
  const { pluginRoutes } = core;
  if (plugin === undefined || !pluginRoutes.some(({ path }) => path === RUNS)) return null;

  async function ask<T>(
    method: RouteDefinition['method'],
    path: string,
    more: Pick<Partial<RouteRequest>, 'params' | 'body'> = {},
  ): Promise<T> {
    const route = pluginRoutes.find((one) => one.method === method && one.path === path);
    return (await route?.handle({ ...requestOfOperator(), ...more })) as T;
  }

  const detail = (id: string) => ask<DemoRun>('GET', `${RUNS}/:id`, { params: { id } });
  return {
    configure: (body) => ask('PUT', '/v1/admin/dream/config', { body }),
    pause: (userId) =>
      ask('PUT', `${USERS}/:userId/paused`, { params: { userId }, body: { paused: true } }),
    async tick() {
      await plugin.tick();
    },
    async run(userId, body) {
      await ask('POST', `${USERS}/:userId/run`, { params: { userId }, body });
      await plugin.settle();
    },
    async runs() {
      const { items } = await ask<{ items: { id: string }[] }>('GET', RUNS);
      return Promise.all(items.map(({ id }) => detail(id)));
    },
    decide: (run, verb, paths) =>
      ask('POST', `${RUNS}/:id/${verb}`, {
        params: { id: run.id },
        body: paths === undefined ? {} : { paths },
      }),
  };
}

const RUNS = '/v1/admin/dream/runs';
const USERS = '/v1/admin/dream/users';

function requestOfOperator(): RouteRequest {
  return {
    params: {},
    query: {},
    body: {},
    header: () => null,
    userId: null,
    address: '127.0.0.1',
    traceId: randomBytes(16).toString('hex'),
    signal: new AbortController().signal,
    setStatus: () => undefined,
    setHeader: () => undefined,
  };
}
