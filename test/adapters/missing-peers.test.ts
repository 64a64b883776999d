import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/service.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const execute = promisify(execFile);

const SCRIPT = `
import { MemoryClient } from 'memory-service/client';
const runner = { listTools: async () => [], execute: async () => ({}) };
const options = { userId: 'alice' };
const adapters = {
  langchain: ['toLangChainTools'],
  'vercel-ai': ['toVercelAiTools'],
  openai: ['toOpenAiRunnableTools', 'toOpenAiResponsesTools'],
  'openai-agents': ['toOpenAiAgentTools'],
  anthropic: ['toAnthropicRunnableTools', 'toAnthropicTools'],
  'anthropic-memory': ['toAnthropicMemoryTool'],
};
for (const [adapter, names] of Object.entries(adapters)) {
  const module = await import('memory-service/adapters/' + adapter);
  for (const name of names) {
    const made = await module[name](runner, options).then(() => 'made', (error) => error.message);
    console.log(name + ': ' + made);
  }
}
console.log(typeof MemoryClient);
`;

it('the packed adapters load without the packages of others, and say what to install', async () => {
  const project = await temporaryDirectory();
  const pack = ['pack', '--ignore-scripts', '--pack-destination', project];
  const { stdout: packed } = await execute('npm', pack, { cwd: root });
  // Alone in its node_modules, as in a project that has installed nothing else.
  const installed = join(project, 'node_modules/memory-service');
  await mkdir(installed, { recursive: true });
  const archive = join(project, packed.trim().split('\n').at(-1) ?? '');
  await execute('tar', ['-xzf', archive, '-C', installed, '--strip-components=1']);
  await writeFile(join(project, 'try.mjs'), SCRIPT);
  const { stdout } = await execute(process.execPath, ['try.mjs'], { cwd: project });
  const needs = 'needs a package that is not installed: npm install';
  expect(stdout.trim().split('\n')).toEqual([
    `toLangChainTools: toLangChainTools ${needs} @langchain/core`,
    `toVercelAiTools: toVercelAiTools ${needs} ai`,
    'toOpenAiRunnableTools: made',
    'toOpenAiResponsesTools: made',
    `toOpenAiAgentTools: toOpenAiAgentTools ${needs} @openai/agents`,
    `toAnthropicRunnableTools: toAnthropicRunnableTools ${needs} @anthropic-ai/sdk`,
    'toAnthropicTools: made',
    `toAnthropicMemoryTool: toAnthropicMemoryTool ${needs} @anthropic-ai/sdk`,
    'function',
  ]);
});
