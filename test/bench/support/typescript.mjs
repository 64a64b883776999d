// Lets Node read the suites, which are TypeScript. Node 22.18 and later do so by themselves; for an
// older one TypeScript's own compiler takes the types out. Imported by each process of the bench.

import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const isNative = 'typescript' in process.features && Boolean(process.features.typescript);
if (!isNative && isMainThread) register(import.meta.url);

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const { default: typescript } = await import('typescript');
  const { outputText } = typescript.transpileModule(await readFile(new URL(url), 'utf8'), {
    fileName: url,
    compilerOptions: {
      target: typescript.ScriptTarget.ES2022,
      module: typescript.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      inlineSourceMap: true,
    },
  });
  return { format: 'module', shortCircuit: true, source: outputText };
}
