import { loadConfig } from '../config/index.ts';
import { SHARED, toScope } from '../files/paths.ts';
import { nameScope } from '../history/restore/goal.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { NOBODY } from '../telemetry/audit.ts';
import { writeOutput } from './streams.ts';

/** `memory-service release <id>|--shared`: ends a restore that cannot go on, so that writes go on. */
export const release: Command = {
  summary: 'End a restore that cannot go on; the files stay as they are.',
  argument: 'id',
  isArgumentOptional: true,
  flags: {
    shared: { value: null, summary: 'Of shared memory, instead of that of a user.' },
    space: { value: null, summary: 'The id is that of a space.' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const { argument, flags } = context;
  if ((argument === null) !== flags.has('shared')) {
    throw new StartError('release needs the id of a user, of a space with --space, or --shared.');
  }
  const loaded = await loadConfig(context);
  const owner = flags.has('space') ? { spaceId: argument } : { userId: argument };
  const of = argument === null ? null : owner;
  const scope = of === null ? SHARED : toScope(of);
  const memory =
    argument === null
      ? 'shared'
      : `${flags.has('space') ? 'spaces' : 'users'}/${encodeURIComponent(argument)}`;
  await workOnMemory<unknown>(loaded, {
    there: (server) => server.ask('POST', `${memory}/release`),
    here: ({ storage }) => onCore(loaded, { storage }, (core) => core.restores.release(of, NOBODY)),
  });
  const name = scope === SHARED ? 'shared memory' : nameScope(scope);
  writeOutput(`Released ${name}: the files stay as they are, and writes go on.\n`);
}
