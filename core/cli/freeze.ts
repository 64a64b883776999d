import { loadConfig } from '../config/index.ts';
import { withAdminApi } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { FREEZE_TARGETS, listFreezes, toFreezeLine } from './freeze-lines.ts';
import type { AdminFreeze } from '../schemas/freezes.ts';
import { writeOutput } from './streams.ts';

const MINUTES = 60;
const NAME_ONE = 'Name one of --user, --space, --actor, --key and --all.';

/**
 * `memory-service freeze`: stops writes for some minutes: those of a user, a space, an actor or a key, or all. Without
 * one of these it lists what is stopped now.
 */
export const freeze: Command = {
  summary:
    'Stop writes of a user, space, actor or key, or all, for a while. Without a target: list them.',
  flags: {
    user: { value: 'id', summary: 'Writes to the memory of this user, and in calls for the user.' },
    space: { value: 'id', summary: 'Writes to the memory of this space.' },
    actor: { value: 'name', summary: 'Writes by this actor, for any user.' },
    key: { value: 'id', summary: 'Writes of calls with this API key.' },
    all: { value: null, summary: 'All writes.' },
    minutes: { value: 'n', summary: `How long, 1 to 10080; default ${MINUTES}.` },
    reason: { value: 'text', summary: 'Why, for operators and the audit.' },
    json: { value: null, summary: 'Print the answer as JSON.' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const { flags } = context;
  const named = FREEZE_TARGETS.filter((name) => flags.has(name));
  if (named.length > 1) throw new StartError(NAME_ONE);
  const loaded = await loadConfig(context);
  if (named.length === 0) {
    if (flags.has('minutes') || flags.has('reason')) {
      throw new StartError(NAME_ONE);
    }
    const items = await withAdminApi(loaded, listFreezes);
    return writeOutput(
      flags.has('json')
        ? `${JSON.stringify(items, null, 2)}\n`
        : items.length === 0
          ? 'No writes are stopped.\n'
          : items.map((one) => `${toFreezeLine(one)}\n`).join(''),
    );
  }
  const minutes = flags.get('minutes') ?? String(MINUTES);
  if (!/^\d{1,5}$/.test(minutes)) {
    throw new StartError('--minutes is a whole number from 1 to 10080.');
  }
  const made = await withAdminApi(loaded, (api) =>
    api.ask<AdminFreeze>('POST', 'freeze', {
      userId: flags.get('user'),
      spaceId: flags.get('space'),
      actor: flags.get('actor'),
      keyId: flags.get('key'),
      all: flags.has('all') ? true : undefined,
      reason: flags.get('reason') ?? 'stopped on the command line',
      minutes: Number(minutes),
    }),
  );
  writeOutput(
    flags.has('json')
      ? `${JSON.stringify(made, null, 2)}\n`
      : `${toFreezeLine(made)}\nAllow them again with: memory-service thaw ${made.id}\n`,
  );
}
