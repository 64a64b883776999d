import { parseIdPrefix } from '../access/prefix.ts';
import { loadConfig } from '../config/index.ts';
import { createIdSource } from '../ids/ids.ts';
import { toSettings } from '../config/service.ts';
import type { RetentionCounts } from '../contracts/admin.ts';
import { createRetention } from '../maintenance/retention.ts';
import { StartError } from './failure.ts';
import { createCommandLog } from './log.ts';
import type { Command, CommandContext } from './command.ts';
import { withStorage, workOnMemory } from './open-memory.ts';
import { toQuery } from './running-server.ts';
import { writeOutput } from './streams.ts';

/**
 * `memory-service prune`: removes everything older than its configured retention, as a server does
 * once an hour; with `--dry-run` it only counts it.
 */
export const prune: Command = {
  summary: 'Remove what is past its retention, as a server does once an hour.',
  flags: {
    'dry-run': { value: null, summary: 'Count it, and remove nothing.' },
    prefix: { value: 'prefix', summary: 'Only users and spaces whose ids start so: acme:*' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const dryRun = context.flags.has('dry-run');
  const prefix = context.flags.get('prefix') ?? null;
  if (prefix !== null) parseIdPrefix(prefix);
  const counts = await workOnMemory<RetentionCounts | null>(loaded, {
    async there(server) {
      const round = await server.runJob<{ counts: RetentionCounts | null }>(
        `retention?${toQuery({ prefix })}`,
        {
          body: { dryRun },
        },
      );
      return round.counts;
    },
    here: (config) =>
      withStorage(loaded, config, async (storage) => {
        const retention = createRetention({
          storage,
          settings: toSettings(config).retention,
          now: Date.now,
          ids: createIdSource(Date.now),
          log: createCommandLog(loaded.values.logLevel),
        });
        return await retention.run({ dryRun, prefix });
      }),
  });
  if (counts === null) {
    throw new StartError('Another process is at it: nothing was left to do here.');
  }
  const { events, access, idempotency, revisions, bytes, dreams } = counts;
  writeOutput(
    `${dryRun ? 'Would remove' : 'Removed'} ${revisions} revisions (${bytes} bytes),` +
      ` ${events} events, ${access} access rows, ${idempotency} idempotency keys,` +
      ` ${dreams} dream runs.\n`,
  );
}
