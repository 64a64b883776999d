import { loadConfig } from '../config/index.ts';
import { withAdminApi } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { listFreezes, toFreezeLine } from './freeze-lines.ts';
import type { AdminFreeze } from '../schemas/freezes.ts';
import { writeOutput } from './streams.ts';

const MINUTES = 60;

/**
 * `memory-service freeze`: stops the writes of a user, of an actor, or all, for some minutes; without a
 * target it lists what is stopped.
 */
export const freeze: Command = {
  summary: 'Stop writes for a while: of a user, of an actor, or all. Without a target: list them.',
  flags: {
    user: { value: 'id', summary: 'Writes to the memory of this user, and in calls for the user.' },
    actor: { value: 'name', summary: 'Writes by this actor, for any user.' },
    all: { value: null, summary: 'All writes.' },
    minutes: { value: 'n', summary: `How long, 1 to 10080; default ${MINUTES}.` },
    reason: { value: 'text', summary: 'Why, for operators and the audit.' },
    json: { value: null, summary: 'Print the answer as JSON.' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const { flags } = context;
  const named = ['user', 'actor', 'all'].filter((name) => flags.has(name));
  if (named.length > 1) throw new StartError('Name one of --user, --actor and --all.');
  const loaded = await loadConfig(context);
  if (named.length === 0) {
    if (flags.has('minutes') || flags.has('reason')) {
      throw new StartError('Name one of --user, --actor and --all.');
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
  const [userId, actor] = [flags.get('user'), flags.get('actor')];
  const made = await withAdminApi(loaded, (api) =>
    api.ask<AdminFreeze>('POST', 'freeze', {
      ...(userId === undefined ? {} : { userId }),
      ...(actor === undefined ? {} : { actor }),
      ...(flags.has('all') ? { all: true } : {}),
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
