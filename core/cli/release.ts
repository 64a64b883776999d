import { loadConfig } from '../config/index.ts';
import { parseUserId } from '../files/paths.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { NOBODY } from '../telemetry/audit.ts';
import { writeOutput } from './streams.ts';

/** `memory-service release <userId>`: ends a restore that cannot go on, so that writes go on. */
export const release: Command = {
  summary: 'End a restore that cannot go on; the files stay as they are.',
  argument: 'userId',
  run,
};

async function run(context: CommandContext): Promise<void> {
  if (context.argument === null) throw new StartError('release needs a user id.');
  const loaded = await loadConfig(context);
  const userId = parseUserId(context.argument);
  await workOnMemory<unknown>(loaded, {
    there: (server) => server.ask('POST', `users/${encodeURIComponent(userId)}/release`),
    here: ({ storage }) =>
      onCore(loaded, { storage }, (core) => core.restores.release(userId, NOBODY)),
  });
  writeOutput(`Released ${userId}: the files stay as they are, and writes go on.\n`);
}
