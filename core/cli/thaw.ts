import { loadConfig } from '../config/index.ts';
import type { AdminFreeze } from '../schemas/freezes.ts';
import { withAdminApi } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { FREEZE_TARGETS, listFreezes, toFreezeLine } from './freeze-lines.ts';
import { writeOutput } from './streams.ts';

/** `memory-service thaw`: ends a freeze by its id, or the freezes of a user, space, actor or key, or all. */
export const thaw: Command = {
  summary: 'Allow writes again that were stopped: by the id of the freeze, or by whom it stops.',
  flags: {
    user: { value: 'id', summary: 'End the freezes of this user.' },
    space: { value: 'id', summary: 'End the freezes of this space.' },
    actor: { value: 'name', summary: 'End the freezes of this actor.' },
    key: { value: 'id', summary: 'End the freezes of this API key.' },
    all: { value: null, summary: 'End all freezes, whosever they are.' },
  },
  argument: 'freezeId',
  isArgumentOptional: true,
  run,
};

async function run({ flags, argument, ...context }: CommandContext): Promise<void> {
  const named = FREEZE_TARGETS.filter((name) => flags.has(name));
  if (named.length + Number(argument !== null) !== 1) {
    throw new StartError(
      'thaw needs the id of a freeze, or one of --user, --space, --actor, --key and --all.',
    );
  }
  const loaded = await loadConfig(context);
  const ended = await withAdminApi(loaded, async (api) => {
    const end = (id: string) => api.ask<AdminFreeze>('DELETE', `freezes/${encodeURIComponent(id)}`);
    if (argument !== null) return [await end(argument)];
    const items = await listFreezes(api);
    const isMeant = ({ userId, spaceId, actor, keyId }: AdminFreeze) =>
      Object.entries({ user: userId, space: spaceId, actor, key: keyId }).some(
        ([flag, id]) => id !== null && flags.get(flag) === id,
      );
    const meant = items.filter((one) => flags.has('all') || isMeant(one));
    const all: AdminFreeze[] = [];
    for (const { id } of meant) all.push(await end(id));
    return all;
  });
  if (ended.length === 0) return writeOutput('No writes were stopped there.\n');
  writeOutput(ended.map((one) => `Ended: ${toFreezeLine(one)}\n`).join(''));
}
