import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { MIGRATIONS } from '../../../core/storage/schema/migrations/list.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { filledDatabase } from './maintenance.ts';

const NEWEST = MIGRATIONS.length;
const steps = MIGRATIONS.reduce((sum, migration) => sum + migration.steps.length, 0);

it('lists the steps and runs none with --dry-run, then runs them, then has nothing to do', async () => {
  const cwd = await temporaryDirectory();
  const dry = await runCommand({ cwd, args: ['migrate', '--dry-run'] });
  expect([dry.code, dry.stderr]).toEqual([0, '']);
  const lines = dry.stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(steps + 1);
  expect(lines[0]).toBe('0001 memory: create table svc_meta');
  expect(lines.at(-1)).toBe(`Would bring the database from schema 0 to ${NEWEST}: ${steps} steps.`);
  expect(readdirSync(cwd)).toEqual([]);

  const run = await runCommand({ cwd, args: ['migrate'] });
  expect([run.code, run.stderr]).toEqual([0, '']);
  expect(run.stdout).toBe(dry.stdout.replace('Would bring', 'Brought'));
  expect(existsSync(path.join(cwd, 'data', 'memory.db'))).toBe(true);
  const nothing = `The database has schema ${NEWEST}: nothing is to do.\n`;
  for (const args of [['migrate'], ['migrate', '--dry-run']]) {
    const again = await runCommand({ cwd, args });
    expect([again.code, again.stdout]).toEqual([0, nothing]);
  }
});

it('leaves it to the server that runs, which has done it', async () => {
  const { cwd } = await filledDatabase({ files: 1 });
  const server = await startCommand({ cwd });
  for (const args of [['migrate'], ['migrate', '--dry-run']]) {
    const { code, stdout } = await runCommand({ cwd, args });
    expect([code, stdout]).toEqual([
      0,
      `The server at ${server.url} has the database open, with schema ${NEWEST}: nothing is to do.\n`,
    ]);
  }
  await server.stop();
});

it('refuses a newer schema, and says which', async () => {
  const { cwd, filename } = await filledDatabase({ files: 1 });
  await withRawSql(filename, 'sqlite3', (raw) =>
    raw.run(
      "update svc_meta set value = '99' where key in ('schema_version', 'oldest_schema')",
      [],
    ),
  );
  for (const args of [['migrate'], ['migrate', '--dry-run']]) {
    const { code, stdout, stderr } = await runCommand({ cwd, args });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(
      'The database has schema 99, which needs a version of memory-service that knows',
    );
  }
});
