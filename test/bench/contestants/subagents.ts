// The service in process with a model that answers at once: what the service's own part takes.

import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import { pickQuery, toNote } from '../support/notes.ts';
import { factAt, PROFILE, scriptedModel } from '../support/scripted-model.ts';
import { importService } from '../support/service.ts';

/** A user with a profile and `notes` notes. */
export const open: OpenContestant<{ notes: number }> = async ({ notes, directory }) => {
  const { createMemoryService, sqlite } = await importService();
  const model = scriptedModel();
  const service = createMemoryService({
    storage: sqlite({ filename: path.join(directory, 'memory.db') }),
    model,
  });
  await service.start();
  async function execute<Result>(tool: string, args: object): Promise<Result> {
    const context = { userId: 'u0' };
    return (await service.tools.execute(tool, { context, arguments: args })).result as Result;
  }
  await execute('memory_write', { path: 'user/profile.md', content: PROFILE });
  for (let seed = 0; seed < notes; seed += 1) {
    await execute('memory_write', { path: `user/notes/${seed}.md`, content: toNote(seed) });
  }
  let facts = 0;
  return {
    operations: {
      async remember() {
        const { writes } = await execute<{ writes: unknown[] }>('memory_remember', {
          text: factAt(facts++),
        });
        if (writes.length !== 1) throw new Error('The line was not corrected.');
      },
      async context(n) {
        const query = pickQuery(n % 100);
        const { mode } = await execute<{ mode: string }>('memory_context', {
          query,
          fill: false,
        });
        if (mode !== 'model') throw new Error('It was not what the model said.');
      },
    },
    close: () => service.close(),
  };
};
