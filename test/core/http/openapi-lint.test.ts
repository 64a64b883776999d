import { execFile, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { mcp } from '../../../plugins/mcp/index.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { serveCore } from './serve.ts';

const rules = fileURLToPath(new URL('../../openapi/', import.meta.url));
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

interface Linter {
  name: string;
  package: string;
  /** Prints its findings as JSON. */
  args: readonly string[];
  problemsOf(report: unknown): readonly unknown[];
}

/** They bring more than 500 packages, so npm fetches them for this test alone. */
const LINTERS: readonly Linter[] = [
  {
    name: 'redocly',
    package: '@redocly/cli@2.77.0',
    args: ['lint', `--config=${rules}redocly.yaml`, '--format=json'],
    problemsOf: (report) => (report as { problems: unknown[] }).problems,
  },
  {
    name: 'spectral',
    package: '@stoplight/spectral-cli@6.16.3',
    args: ['lint', `--ruleset=${rules}spectral.yaml`, '--format=json', '--quiet'],
    problemsOf: (report) => report as unknown[],
  },
];

const execute = promisify(execFile);

it.for(LINTERS)('$name finds nothing in the document that is served', async (linter, { skip }) => {
  if (process.env['MEMORY_TEST_RELEASE'] === undefined) skip('npm run test:release');
  const command = ['exec', '--yes', '--ignore-scripts', `--package=${linter.package}`, '--'];
  if (spawnSync('npm', [...command, linter.name, '--version'], { env }).status !== 0) {
    skip(`npm ${[...command, linter.name].join(' ')} --version`);
  }
  const { core, request } = await serveCore({ plugins: [dreaming(), mcp()] });
  await core.ready();
  const { json, text } = await request('GET', '/v1/openapi.json');
  expect(Object.keys(json.paths)).toContain('/v1/mcp');
  const file = join(await temporaryDirectory(), 'openapi.json');
  await writeFile(file, text);
  // It exits with 1 when it finds something; the report says what.
  const { stdout } = await execute('npm', [...command, linter.name, ...linter.args, file], {
    env,
    maxBuffer: 2 ** 26,
  }).catch((error: { stdout: string }) => error);
  expect(linter.problemsOf(JSON.parse(stdout))).toEqual([]);
});
