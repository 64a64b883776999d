import { loadConfig } from '../config/index.ts';
import type { AdminFreeze } from '../schemas/freezes.ts';
import { withAdminApi } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { listFreezes, toFreezeLine } from './freeze-lines.ts';
import { writeOutput } from './streams.ts';

/** `memory-service thaw`: ends a freeze by its id, or the freezes of a user, of an actor, or all of them. */
export const thaw: Command = {
  summary: 'Allow writes again that were stopped: by the id of the freeze, or by whom it stops.',
  flags: {
    user: { value: 'id', summary: 'End the freezes of this user.' },
    actor: { value: 'name', summary: 'End the freezes of this actor.' },
    all: { value: null, summary: 'End all freezes, also those of users and actors.' },
  },
  argument: 'freezeId',
  isArgumentOptional: true,
  run,
};

async function run({ flags, argument, ...context }: CommandContext): Promise<void> {
  const named = ['user', 'actor', 'all'].filter((name) => flags.has(name));
  if (named.length + Number(argument !== null) !== 1) {
    throw new StartError('thaw needs the id of a freeze, or one of --user, --actor and --all.');
  }
  const loaded = await loadConfig(context);
  const [userId, actor] = [flags.get('user'), flags.get('actor')];
  const ended = await withAdminApi(loaded, async (api) => {
    const end = (id: string) => api.ask<AdminFreeze>('DELETE', `freezes/${encodeURIComponent(id)}`);
    if (argument !== null) return [await end(argument)];
    const items = await listFreezes(api);
    const meant = items.filter(
      (one) =>
        flags.has('all') ||
        (userId !== undefined && one.userId === userId) ||
        (actor !== undefined && one.actor === actor),
    );
    const all: AdminFreeze[] = [];
    for (const { id } of meant) all.push(await end(id));
    return all;
  });
  if (ended.length === 0) return writeOutput('No writes were stopped there.\n');
  writeOutput(ended.map((one) => `Ended: ${toFreezeLine(one)}\n`).join(''));
}
