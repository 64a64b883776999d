import { describeDatabase, loadConfig } from '../config/index.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { workOnMemory, withStorage } from './open-memory.ts';

/** `memory-service vacuum`: rewrites the database file without free pages, while no server runs. */
export const vacuum: Command = {
  summary: 'Rewrite the database file without free pages, while the service is stopped.',
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const { name } = describeDatabase(loaded);
  await workOnMemory<void>(loaded, {
    there(_server, address) {
      throw new StartError(`Stop the server at ${address} first: vacuum rewrites the whole file.`);
    },
    here: (config) =>
      withStorage(loaded, config, async ({ erasure }) => {
        if (erasure?.vacuum === undefined) {
          throw new StartError(
            `A ${name} database is not a file: use its own tools, as in OPTIMIZE TABLE.`,
          );
        }
        await erasure.vacuum();
      }),
  });
  process.stdout.write('The database file has no free pages.\n');
}
