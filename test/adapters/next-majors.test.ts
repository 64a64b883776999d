import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { OpenAI as OpenAI7 } from 'openai7';
import { expect, expectTypeOf, it } from 'vitest';
import type { OpenAiFunctionTool, OpenAiRunnableTool } from '../../adapters/openai.ts';
import { LOOPS_OF_BOTH_MAJORS } from './loops.ts';
import type { Told } from './next-majors.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const NODE = ['exec', '--yes', '--package=node@24', '--', 'node'];

it('works with the next major of each package, on a Node that runs it', async ({ skip }) => {
  const command = `npm ${NODE.join(' ')} test/adapters/next-majors.ts`;
  if (spawnSync('npm', [...NODE, '--version'], { cwd: root }).status !== 0) skip(command);
  const script = [...NODE, 'test/adapters/next-majors.ts'];
  const { stdout } = await promisify(execFile)('npm', script, { cwd: root });
  const [begun = '', ...lines] = stdout.trim().split('\n');
  const { node, packages } = JSON.parse(begun) as { node: string; packages: string[] };
  expect(node).toMatch(/^v24\./);
  for (const name of ['ai7', 'ai-sdk-openai-4', 'openai7']) {
    expect(
      packages.some((url) => url.includes(`/node_modules/${name}/`)),
      name,
    ).toBe(true);
  }
  const told = lines.map((line) => JSON.parse(line) as Told);
  expect(told.map(({ name }) => name)).toEqual(LOOPS_OF_BOTH_MAJORS.map(({ name }) => name));
  for (const { name, ...loop } of told) {
    expect([name, loop]).toMatchObject([
      name,
      {
        words: 'Done.',
        refusals: [],
        written: expect.stringMatching(/"version":1,.*"created":true/),
        absent: expect.stringContaining('Error FILE_NOT_FOUND: user/nothing.md does not exist.'),
        wrong: expect.stringContaining('Error INVALID_REQUEST: /content is required.'),
        unknown: 'told',
        found: expect.stringContaining('"snippet":"- Prefers tea.'),
        context: expect.stringMatching(/The user prefers tea\..*"mode":"model"/),
        remembered: expect.stringMatching(/"path":"user\/profile\.md","version":2,/),
      },
    ]);
  }
});

it('has types that fit the next major of openai', () => {
  type RunTools = OpenAI7['chat']['completions']['runTools'];
  expectTypeOf<OpenAiRunnableTool[]>().toExtend<Parameters<RunTools>[0]['tools']>();
  expectTypeOf<OpenAiFunctionTool>().toExtend<OpenAI7.Responses.FunctionTool>();
});
