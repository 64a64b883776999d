import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeDatabase, loadConfig, openConfig } from '../config/index.ts';
import type { MigrationPlan } from '../contracts/storage.ts';
import type { Command, CommandContext } from './command.ts';
import { toStorage } from '../storage/storage.ts';
import { withStorage, workOnMemory } from './open-memory.ts';
import { findServer } from './owner.ts';
import { writeOutput } from './streams.ts';

/**
 * `memory-service migrate`: migrates the database to this version's schema, as a start does, and
 * lists the steps; with `--dry-run` it only lists them. If a server has the database open, it has
 * migrated it already.
 */
export const migrate: Command = {
  summary: 'Bring the database to the schema of this version.',
  flags: { 'dry-run': { value: null, summary: 'List the steps, and run none of them.' } },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const database = describeDatabase(loaded);
  if (context.flags.has('dry-run')) {
    if ((await findServer(database)) === null) {
      const storage = toStorage((await openConfig(loaded)).service.storage);
      return print(toLines(await storage.planMigration(), 'Would bring'));
    }
  }
  process.umask(0o077);
  if (database.filename !== null) {
    await mkdir(dirname(database.filename), { recursive: true, mode: 0o700 });
  }
  const lines = await workOnMemory<string[]>(loaded, {
    mayCreate: true,
    async there(server, address) {
      const { storage } = await server.ask<{ storage: { schemaVersion: number } }>('GET', 'status');
      return [
        `The server at ${address} has the database open, with schema ${storage.schemaVersion}: nothing is to do.`,
      ];
    },
    async here(config) {
      const plan = await toStorage(config.storage).planMigration();
      return await withStorage(loaded, config, () => Promise.resolve(toLines(plan, 'Brought')));
    },
  });
  print(lines);
}

function toLines({ from, to, steps }: MigrationPlan, done: string): string[] {
  if (steps.length === 0) return [`The database has schema ${to}: nothing is to do.`];
  return [...steps, `${done} the database from schema ${from} to ${to}: ${steps.length} steps.`];
}

function print(lines: readonly string[]): void {
  writeOutput(`${lines.join('\n')}\n`);
}
