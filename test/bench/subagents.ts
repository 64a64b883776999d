import path from 'node:path';
import type { Bench, Suite } from './support/bench.ts';
import { pickQuery, toNote } from './support/notes.ts';
import { factAt, PROFILE, type ScriptedModel, scriptedModel } from './support/scripted-model.ts';
import { importService } from './support/service.ts';

const NOTES = 100;
const COUNTED_CALLS = 20;

/** What memory_remember and memory_context take beside the model: time, calls of it, and tokens. */
export const suite: Suite = {
  about: 'memory_remember and memory_context with a scripted model: time, calls, tokens',
  async run(bench) {
    const opened = await bench.open('memory-service', 'contestants/subagents.ts', { notes: NOTES });
    for (const operation of ['remember', 'context'] as const) {
      await bench.compare({
        title: `memory_${operation}, a model that answers at once, ${NOTES} notes of the user`,
        entrants: [bench.called('service', opened, operation, 1)],
      });
    }
    await countTokens(bench);
  },
};

/** The calls of a model and its tokens, at four characters a token, for one call of each tool. */
async function countTokens(bench: Bench): Promise<void> {
  const { createMemoryService, sqlite } = await importService();
  const model = scriptedModel();
  const directory = await bench.makeDirectory('tokens');
  const service = createMemoryService({
    storage: sqlite({ filename: path.join(directory, 'memory.db') }),
    model,
  });
  const execute = (tool: string, args: object) =>
    service.tools.execute(tool, { context: { userId: 'u0' }, arguments: args });
  try {
    await service.start();
    await execute('memory_write', { path: 'user/profile.md', content: PROFILE });
    for (let seed = 0; seed < NOTES; seed += 1) {
      await execute('memory_write', { path: `user/notes/${seed}.md`, content: toNote(seed) });
    }
    const tools = {
      memory_remember: (n: number) => ({ text: factAt(n) }),
      memory_context: (n: number) => ({ query: pickQuery(n) }),
    };
    for (const [tool, toArguments] of Object.entries(tools)) {
      const before = { ...model.usage };
      for (let n = 0; n < COUNTED_CALLS; n += 1) await execute(tool, toArguments(n));
      bench.report.note(`${tool}: ${describe(model, before)}`);
    }
  } finally {
    await service.close();
  }
}

function describe({ usage }: ScriptedModel, before: ScriptedModel['usage']): string {
  const mean = (key: keyof typeof usage) => (usage[key] - before[key]) / COUNTED_CALLS;
  const tokens = `${Math.round(mean('inputTokens'))} tokens in, ${Math.round(mean('outputTokens'))} out`;
  return `${mean('calls').toFixed(2)} calls of the model and ${tokens} for each call, at four characters a token`;
}
