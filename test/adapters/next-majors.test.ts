import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { OpenAI as OpenAI7 } from 'openai7';
import { expect, expectTypeOf, it } from 'vitest';
import { findNode, nodeCommand } from '../support/packed-package.ts';
import type { OpenAiFunctionTool, OpenAiRunnableTool } from '../../adapters/openai.ts';
import { LOOPS_OF_BOTH_MAJORS } from './loops.ts';
import type { Told } from './next-majors.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The first time, npm downloads a Node. */
const LIMIT_MS = 600_000;

it(
  'passes every test of the tools with the next majors, on a Node that runs them',
  async ({ skip }) => {
    const script = 'test/adapters/next-majors.ts';
    if (process.env['MEMORY_TEST_RELEASE'] === undefined) return skip('npm run test:release');
    const node = await findNode('24');
    const { command, args } = nodeCommand('24');
    if (node === null) return skip([command, ...args, script].join(' '));
    const { stdout } = await promisify(execFile)(node, [script], { cwd: root });
    const [begun = '', ...lines] = stdout.trim().split('\n');
    expect((JSON.parse(begun) as { node: string }).node).toMatch(/^v24\./);
    const told = lines.map((line) => JSON.parse(line) as Told);
    expect(told.filter(({ state }) => state !== 'passed')).toEqual([]);
    for (const { name } of LOOPS_OF_BOTH_MAJORS) {
      const tools = told.filter(({ test }) => test.startsWith(`${name} > runs memory_`));
      expect([name, tools.length]).toEqual([name, 9]);
    }
    const count = (title: RegExp) => told.filter(({ test }) => title.test(test)).length;
    expect(count(/^'?Vercel AI generateText'? > has memory before the model at each/)).toBe(1);
    expect(count(/^'?Vercel AI .* > gives what the user said to memory, once a turn/)).toBe(4);
  },
  LIMIT_MS,
);

it('has types that fit the next major of openai', () => {
  type RunTools = OpenAI7['chat']['completions']['runTools'];
  expectTypeOf<OpenAiRunnableTool[]>().toExtend<Parameters<RunTools>[0]['tools']>();
  expectTypeOf<OpenAiFunctionTool>().toExtend<OpenAI7.Responses.FunctionTool>();
});
