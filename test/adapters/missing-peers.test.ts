import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { packPackage, unpackPackage } from '../support/packed-package.ts';
import { temporaryDirectory } from '../support/service.ts';

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
  // Alone in its node_modules, as in a project that has installed nothing else.
  await unpackPackage(await packPackage(project), project);
  await writeFile(join(project, 'try.mjs'), SCRIPT);
  const { stdout } = await promisify(execFile)(process.execPath, ['try.mjs'], { cwd: project });
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
