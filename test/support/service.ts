import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { MemoryServiceConfig } from '../../core/contracts/config.ts';
import type { ToolResponse } from '../../core/contracts/tool.ts';
import { type Core, createCore } from '../../core/core.ts';
import { sqlite } from '../../plugins/storage-sqlite/index.ts';

/** A directory of the test's own, removed when the test ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'memory-service-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A service without HTTP on a real SQLite file, closed when the test ends. */
export async function openCore(config: Partial<MemoryServiceConfig> = {}): Promise<Core> {
  const directory = await temporaryDirectory();
  const storage = config.storage ?? sqlite({ filename: path.join(directory, 'memory.db') });
  const core = createCore({ ...config, storage });
  onTestFinished(() => core.close());
  await core.ready();
  return core;
}

/** Calls a tool as an agent of `userId`. */
export async function call<Result = Record<string, unknown>>(
  core: Core,
  userId: string,
  tool: string,
  args: object,
  more: { idempotencyKey?: string; actor?: string } = {},
): Promise<ToolResponse<Result>> {
  const { actor, idempotencyKey } = more;
  return (await core.tools.execute(tool, {
    context: { userId, ...(actor === undefined ? {} : { actor }) },
    arguments: args,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  })) as ToolResponse<Result>;
}
