import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  commandsIn,
  fillTranscripts,
  NEED_SERVICE,
  outputOf,
  TOLD,
} from '../../examples/scripted-model/fill-transcripts.mjs';
import { freshDatabase } from '../support/mariadb.ts';
import { root, serve, temporaryDirectory } from './run-example.ts';

/** Of the others, `npm run test:release` runs the commands. */
const PLAYED =
  process.env['MEMORY_TEST_RELEASE'] === undefined ? ['in-process', 'over-http'] : TOLD;
const COMMAND = 'dist/core/cli/bin.cjs';
/** They run nothing by themselves: a configuration, a proxy, a model, a story. */
const WITHOUT = [
  ...['config-file', 'console-behind-sign-in', 'scripted-model'],
  // The story of `--demo`: test/core/demo/fill-demo.test.ts plays it.
  'demo',
  // What `memory-service new` writes: test/examples/templates.test.ts uses it.
  ...['plugin-template', 'database-template'],
];

const readReadme = (folder: string) =>
  readFileSync(join(root, 'examples', folder, 'README.md'), 'utf8');

describe.each(PLAYED)('examples/%s', (folder) => {
  const readme = readReadme(folder);

  it.for(commandsIn(readme))('prints what its README shows: %s', async (command, { skip }) => {
    const [program = ''] = command.split(' ');
    if (program !== 'node' && spawnSync(program, ['--version']).error !== undefined) {
      skip(`install ${program}, then npx vitest run test/examples/transcripts`);
    }
    const cwd = await temporaryDirectory();
    const env: Record<string, string> = {};
    if (NEED_SERVICE.includes(folder)) {
      env['SERVICE_URL'] = (await serve([COMMAND, '--port', '0'], { cwd })).url;
    }
    if (command.includes('mysql')) env['SERVICE_DATABASE_URL'] = await freshDatabase();
    // Isolated, and without site: Python has nothing but its standard library.
    const output = await outputOf(command.replace(/^python3 /, 'python3 -I -S '), { cwd, env });
    const made = fillTranscripts(readme, (one) => (one === command ? output : null));
    expect(made).toBe(readme);
  });
});

it('each other example has a transcript, or tests of its own', () => {
  const entries = readdirSync(join(root, 'examples'), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  for (const folder of TOLD) expect(commandsIn(readReadme(folder)), folder).not.toEqual([]);
  const others = folders.filter((name) => !TOLD.includes(name) && !WITHOUT.includes(name));
  const tested = readdirSync(join(root, 'test/examples'));
  for (const name of others) expect(tested).toContain(`${name}.test.ts`);
});
