import { randomBytes } from 'node:crypto';
import { type LoadedConfig, loadConfig } from '../config/index.ts';
import { listen } from '../http/server.ts';
import { createMemoryService } from '../index.ts';
import type { CommandContext } from './command.ts';
import { toText } from './history/text.ts';
import { createCommandLog } from './log.ts';
import { workOnMemory } from './open-memory.ts';
import { callAdminApi, type RunningServer } from './running-server.ts';
import { writeOutput } from './streams.ts';

const HOST = '127.0.0.1';

/**
 * Lets `work` call the admin API: that of the server that has the database open, or else that of a
 * service which this process runs meanwhile. So a command does what the route does. With `mayCreate`, there need
 * be no database yet.
 */
export async function withAdminApi<T>(
  loaded: LoadedConfig,
  work: (api: RunningServer) => Promise<T>,
  { mayCreate }: { mayCreate?: boolean } = {},
): Promise<T> {
  return await workOnMemory<T>(loaded, {
    ...(mayCreate === undefined ? {} : { mayCreate }),
    there: work,
    async here(config) {
      const adminSecret = randomBytes(32).toString('base64url');
      const log = createCommandLog(loaded.values.logLevel);
      const service = createMemoryService({ ...config, adminSecret, allowedHosts: [HOST], log });
      try {
        await service.ready();
        const server = await listen(service, { host: HOST, port: 0 });
        try {
          const address = `http://${HOST}:${server.address.port}${loaded.values.basePath}`;
          return await work(callAdminApi(address, adminSecret));
        } finally {
          await server.close({ graceMs: 0 });
        }
      } finally {
        await service.close();
      }
    },
  });
}

/** {@link withAdminApi} with the settings of a command's own. */
export async function askAdminApi<T>(
  context: CommandContext,
  work: (api: RunningServer) => Promise<T>,
): Promise<T> {
  return await withAdminApi(await loadConfig(context), work);
}

/** The flag by which {@link printAnswer} prints JSON. */
export const JSON_FLAG = { value: null, summary: 'Print the answer as JSON.' };

/** Prints an answer of the admin API in lines, or with `--json` as it is. */
export function printAnswer(
  { flags }: CommandContext,
  answer: unknown,
  toLines: () => string[],
): void {
  writeOutput(flags.has('json') ? `${JSON.stringify(answer, null, 2)}\n` : toText(toLines()));
}
