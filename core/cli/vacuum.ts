import { describeDatabase, loadConfig } from '../config/index.ts';
import type { RewriteAnswer } from '../contracts/admin.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { createProgress } from './running-server.ts';
import { NOBODY } from '../telemetry/audit.ts';
import { writeOutput } from './streams.ts';

/**
 * `memory-service vacuum`: writes all pages of the database file anew, with or without a running
 * server. Free pages go, and so does what was removed and stayed in a page.
 */
export const vacuum: Command = {
  summary: 'Rewrite the database file, so that nothing removed is left in it. Writes wait.',
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const { name } = describeDatabase(loaded);
  const progress = createProgress('bytes');
  await workOnMemory<RewriteAnswer>(loaded, {
    there: (server) => server.runJob('vacuum', { progress }),
    here: ({ storage }) => {
      if (storage.file === undefined) {
        throw new StartError(
          `A ${name} database is not a file: use its own tools, as in OPTIMIZE TABLE.`,
        );
      }
      return onCore(loaded, { storage }, (core) => core.rewriter.rewrite(NOBODY, progress));
    },
  });
  writeOutput('The database file has no free pages.\n');
}
