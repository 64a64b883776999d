// The loops of packages whose next major needs a newer Node than this one: run by that Node, with
// the new majors in the place of the old. One process for all of them; it prints a line for each.
//
//   npm exec --yes --package=node@24 -- node test/adapters/next-majors.ts

import * as nodeModule from 'node:module';

/** What a loop came to: a line of what this prints, after the one that says what it ran on. */
export interface Told {
  name: string;
  words: string;
  refusals: readonly string[];
  written: string;
  absent: string;
  wrong: string;
  unknown: string;
  found: string;
  remembered: string;
  context: string;
}

/** Installed under another name, since a package is installed in one version. */
const NEXT: Record<string, string> = {
  ai: import.meta.resolve('ai7'),
  '@ai-sdk/openai': import.meta.resolve('ai-sdk-openai-4'),
  openai: import.meta.resolve('openai7'),
};

type Resolve = (specifier: string, context: object) => object;
interface Hooks {
  resolve(specifier: string, context: object, nextResolve: Resolve): object;
}

// Newer than the types of the Node that the rest runs on.
const { registerHooks } = nodeModule as unknown as { registerHooks(hooks: Hooks): void };
registerHooks({
  resolve: (specifier, context, nextResolve) => nextResolve(NEXT[specifier] ?? specifier, context),
});

// After the hooks: these import the packages.
const { openModelServer } = await import('../support/model-server/model-server.ts');
const { LOOPS_OF_BOTH_MAJORS } = await import('./loops.ts');
const { PROFILE, startMemoryModel } = await import('./memory-model.ts');
const { openService } = await import('./service.ts');

const { model: memoryModel, provider } = await startMemoryModel();
const tools = { delete: true, move: true };
const service = await openService({ tools, model: memoryModel });
const client = service.client();
const described = await client.listTools();
const write = { path: 'user/profile.md', content: PROFILE };

const packages = Object.keys(NEXT).map((name) => import.meta.resolve(name));
console.log(JSON.stringify({ node: process.version, packages }));

for (const [index, loop] of LOOPS_OF_BOTH_MAJORS.entries()) {
  const model = await openModelServer([
    {
      calls: [
        { name: 'memory_write', arguments: write },
        { name: 'memory_read', arguments: { path: 'user/nothing.md' } },
        { name: 'memory_write', arguments: { path: 5 } },
        { name: 'memory_nothing', arguments: {} },
      ],
    },
    {
      calls: [
        { name: 'memory_find', arguments: { query: 'tea' } },
        { name: 'memory_context', arguments: { query: 'Does the user drink tea?' } },
      ],
    },
    { calls: [{ name: 'memory_remember', arguments: { text: 'The user now prefers coffee.' } }] },
  ]);
  const options = { userId: `user-${index}`, tools: described.map(({ name }) => name) };
  const runner = index % 2 === 0 ? client : service.tools;
  const words = await loop.run({ runner, options, url: model.url });
  const texts = new Map(
    model.requests.flatMap(({ answers }) => answers).map(({ callId, text }) => [callId, text]),
  );
  const textOf = (callId: string): string => texts.get(callId) ?? '';
  const unknown = textOf('call_0_3');
  const told: Told = {
    name: loop.name,
    words,
    refusals: model.refusals,
    written: textOf('call_0_0'),
    absent: textOf('call_0_1'),
    wrong: textOf('call_0_2'),
    unknown: loop.unknownTool.test(unknown) ? 'told' : unknown,
    found: textOf('call_1_0'),
    context: textOf('call_1_1'),
    remembered: textOf('call_2_0'),
  };
  console.log(JSON.stringify(told));
  await model.close();
}
await service.close();
await provider.close();
