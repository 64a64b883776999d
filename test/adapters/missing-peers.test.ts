import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { packPackage, unpackPackage } from '../support/packed-package.ts';
import { temporaryDirectory } from '../support/service.ts';

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  name: string;
  version: string;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: object;
};

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
  await unpackPackage(await packPackage(), project);
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

/** A package of somebody else with this version and these exports. */
async function plant(project: string, name: string, version: string, exports: object) {
  const folder = join(project, 'node_modules', name);
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name, version, type: 'module', exports: './index.js' }),
  );
  const lines = Object.entries(exports).map(
    ([key, value]) => `export const ${key} = ${String(value)};`,
  );
  await writeFile(join(folder, 'index.js'), lines.join('\n'));
}

it('the packed adapters refuse a version that is too old, or lacks a part, and say what to install', async () => {
  const project = await temporaryDirectory();
  await unpackPackage(await packPackage(), project);
  const noop = '() => undefined';
  await plant(project, 'ai', '5.0.93', { tool: noop, jsonSchema: noop });
  await plant(project, '@openai/agents', '2.0.0', { tool: noop });
  await plant(project, '@anthropic-ai/sdk', '1.40.0', {});
  await plant(project, '@langchain/core', '0.3.78', {});
  await writeFile(join(project, 'try.mjs'), SCRIPT);
  const { stdout } = await promisify(execFile)(process.execPath, ['try.mjs'], { cwd: project });
  expect(stdout.trim().split('\n')).toEqual([
    'toLangChainTools: toLangChainTools needs @langchain/core 1.2.0 or newer, and 0.3.78 is installed: npm install @langchain/core@1',
    'toVercelAiTools: toVercelAiTools needs ai 6.0.0 or newer, and 5.0.93 is installed: npm install ai@7',
    'toOpenAiRunnableTools: made',
    'toOpenAiResponsesTools: made',
    "toOpenAiAgentTools: toOpenAiAgentTools can't work with @openai/agents 2.0.0, which lacks a part that it needs: npm install @openai/agents@0.12",
    "toAnthropicRunnableTools: toAnthropicRunnableTools can't work with @anthropic-ai/sdk 1.40.0, which lacks a part that it needs: npm install @anthropic-ai/sdk@1",
    'toAnthropicTools: made',
    "toAnthropicMemoryTool: toAnthropicMemoryTool can't work with @anthropic-ai/sdk 1.40.0, which lacks a part that it needs: npm install @anthropic-ai/sdk@1",
    'function',
  ]);
});

it('an adapter takes a newer version that has the parts it needs', async () => {
  const project = await temporaryDirectory();
  await unpackPackage(await packPackage(), project);
  await plant(project, 'ai', '9.0.0-beta.1', {
    tool: '(made) => made',
    jsonSchema: '(schema) => schema',
  });
  await writeFile(join(project, 'try.mjs'), SCRIPT);
  const { stdout } = await promisify(execFile)(process.execPath, ['try.mjs'], { cwd: project });
  expect(stdout).toContain('toVercelAiTools: made\n');
});

describe.each(['0.0.1', '5.9.9', '99.0.0', '8.0.0-beta.3'])(
  'npm beside version %s of every peer',
  (version) => {
    it('installs, although no version of them was tried with it', async () => {
      const project = await temporaryDirectory();
      const { name, version: own, peerDependencies, peerDependenciesMeta } = manifest;
      const write = async (folder: string, content: object) => {
        await mkdir(join(project, folder), { recursive: true });
        await writeFile(join(project, folder, 'package.json'), JSON.stringify(content));
      };
      // Its other packages would have to be downloaded; what npm compares is here.
      await write('ours', { name, version: own, peerDependencies, peerDependenciesMeta });
      const dependencies: Record<string, string> = { [name]: 'file:./ours' };
      for (const [at, peer] of Object.keys(peerDependencies).entries()) {
        await write(`peer-${at}`, { name: peer, version });
        dependencies[peer] = `file:./peer-${at}`;
      }
      await writeFile(join(project, 'package.json'), JSON.stringify({ dependencies }));
      const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
      const args = ['install', '--offline', '--no-audit', '--install-links', '--ignore-scripts'];
      await promisify(execFile)(npm, args, { cwd: project });
      await access(join(project, 'node_modules/@langchain/core/package.json'));
    });
  },
);
