// The service in process with an embedder: a user's thousand passages, each with its vector.

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { embedWords } from '../../support/provider-server/embed.ts';
import type { OpenContestant } from '../support/contestant.ts';
import { pickQuery, toNote } from '../support/notes.ts';
import { ADMIN_SECRET, fetchEmbedding, importService } from '../support/service.ts';
import { DIMENSIONS } from '../support/stub-embedder.ts';

const FILLERS = 32;

/** Users with files of as many passages, each with its vector. */
export interface PassageSet {
  users: number;
  files: number;
  passages: number;
}

/** The questions' vectors come from memory, as it is asked: what is left is the service's part. */
export const open: OpenContestant<{ set: PassageSet }> = async ({ set, directory }) => {
  const { createMemoryService, sqlite } = await importService();
  const service = createMemoryService({
    storage: sqlite({ filename: path.join(directory, 'memory.db'), synchronous: 'normal' }),
    adminSecret: ADMIN_SECRET,
    embedder: {
      name: 'words',
      model: 'words',
      dimensions: DIMENSIONS,
      embed: async (texts) =>
        await Promise.resolve(texts.map((text) => Float32Array.from(embedWords(text, DIMENSIONS)))),
    },
  });
  await service.start();
  async function execute<Result>(user: number, tool: string, args: object): Promise<Result> {
    const context = { userId: `u${user}` };
    return (await service.tools.execute(tool, { context, arguments: args })).result as Result;
  }
  let next = 0;
  const total = set.users * set.files;
  await Promise.all(
    Array.from({ length: FILLERS }, async () => {
      for (let seed = next++; seed < total; seed = next++) {
        const content = toPassages(seed, set.passages);
        await execute(seed % set.users, 'memory_write', { path: `user/${seed}.md`, content });
      }
    }),
  );
  await untilEmbedded(service.app);

  const find = async (mode: 'text' | 'hybrid', n: number): Promise<void> => {
    const args = { query: pickQuery(n % 100), limit: 10, mode };
    const answer = await execute<{ mode: string; results: unknown[] }>(
      n % set.users,
      'memory_find',
      args,
    );
    if (answer.mode !== mode) throw new Error(`It was a search by ${answer.mode}.`);
    if (answer.results.length === 0) throw new Error('Nothing was found.');
  };
  return {
    operations: { text: (n) => find('text', n), hybrid: (n) => find('hybrid', n) },
    close: () => service.close(),
  };
};

/** Paragraphs of a note's words: the shorter, the more of them there are. */
function toPassages(seed: number, count: number): string {
  const length = count === 1 ? 500 : 120;
  const texts = Array.from({ length: count }, (_, at) =>
    toNote(seed * count + at)
      .replaceAll(/\n+|# /g, ' ')
      .slice(0, length)
      .trim(),
  );
  return `${texts.join('\n\n')}\n`;
}

async function untilEmbedded(app: { callback(): unknown }): Promise<void> {
  const { createServer } = await import('node:http');
  const server = createServer(app.callback() as () => void).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  try {
    while ((await fetchEmbedding(port)) !== 'idle') await sleep(100);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
