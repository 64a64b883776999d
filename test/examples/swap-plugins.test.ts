import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freshDatabase } from '../support/mariadb.ts';
import { root, run, temporaryDirectory } from './run-example.ts';

const configs = join(root, 'examples/swap-plugins');
const fact = 'user/profile.md, version 1: - Prefers tea.';

it('keeps its memory in SQLite, beside a model of OpenAI', async () => {
  const cwd = await temporaryDirectory();
  const args = ['examples/swap-plugins/app.mjs', '--config', join(configs, 'sqlite.config.json')];
  const { code, stdout, stderr } = await run(args, { cwd });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(`database: sqlite, model: gpt-5-mini\n${fact}\n`);
});

it('keeps it in MySQL, beside a model of Anthropic, by another config file', async () => {
  const cwd = await temporaryDirectory();
  const args = ['examples/swap-plugins/app.mjs', '--config', join(configs, 'mysql.config.json')];
  const env = { SERVICE_DATABASE_URL: await freshDatabase() };
  const { code, stdout, stderr } = await run(args, { cwd, env });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(`database: mysql, model: claude-sonnet-4-5\n${fact}\n`);
});
