import { loadConfig } from '../config/index.ts';
import { parseUserId } from '../files/paths.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { NOBODY } from '../telemetry/audit.ts';
import { writeOutput } from './streams.ts';

/** `memory-service release <userId>|--shared`: ends a restore that cannot go on, so that writes go on. */
export const release: Command = {
  summary: 'End a restore that cannot go on; the files stay as they are.',
  argument: 'userId',
  isArgumentOptional: true,
  flags: { shared: { value: null, summary: 'Of shared memory, instead of that of a user.' } },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const { argument, flags } = context;
  if ((argument === null) !== flags.has('shared')) {
    throw new StartError('release needs a user id, or --shared.');
  }
  const loaded = await loadConfig(context);
  const userId = argument === null ? null : parseUserId(argument);
  const memory = userId === null ? 'shared' : `users/${encodeURIComponent(userId)}`;
  await workOnMemory<unknown>(loaded, {
    there: (server) => server.ask('POST', `${memory}/release`),
    here: ({ storage }) =>
      onCore(loaded, { storage }, (core) => core.restores.release(userId, NOBODY)),
  });
  writeOutput(
    `Released ${userId ?? 'shared memory'}: the files stay as they are, and writes go on.\n`,
  );
}
