import type { LoadedConfig } from '../config/index.ts';
import type { MemoryServiceConfig } from '../config/service.ts';
import { type Core, createCore } from '../service.ts';
import { createCommandLog } from './log.ts';

/** Does some work on the memory of a configuration in this process, without a server. */
export async function onCore<T>(
  loaded: LoadedConfig,
  config: MemoryServiceConfig,
  work: (core: Core) => Promise<T>,
): Promise<T> {
  const core = createCore({ ...config, log: createCommandLog(loaded.values.logLevel) });
  try {
    await core.ready();
    return await work(core);
  } finally {
    await core.close();
  }
}
