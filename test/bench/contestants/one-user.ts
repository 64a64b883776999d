// The service in process, with one user's thousand documents among those of many others.

import { constants } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import { pickQuery } from '../support/notes.ts';
import {
  DOCUMENTS_OF_A_USER,
  ensureSearchFixture,
  type SearchFixture,
  toDocument,
  toPath,
} from '../support/search-fixture.ts';
import { importService } from '../support/service.ts';

const USER = 'u0';
/** Seeds of notes that are in no document yet. */
const NEW_SEEDS = 10_000_000;

/** On a copy of the fixture, with the defaults. */
export const open: OpenContestant<{ fixture: SearchFixture }> = async ({ fixture, directory }) => {
  const filename = path.join(directory, 'memory.db');
  await copyFile(await ensureSearchFixture(fixture), filename, constants.COPYFILE_FICLONE);
  const { createMemoryService, sqlite } = await importService();
  const service = createMemoryService({ storage: sqlite({ filename }) });
  await service.start();
  async function execute<Result>(tool: string, args: object): Promise<Result> {
    const answer = await service.tools.execute(tool, {
      context: { userId: USER },
      arguments: args,
    });
    return answer.result as Result;
  }
  const pick = (n: number): number => (Math.imul(n + 1, 0x9e3779b1) >>> 0) % DOCUMENTS_OF_A_USER;
  async function search(n: number): Promise<void> {
    const args = { query: pickQuery(n), limit: 10 };
    const { results } = await execute<{ results: unknown[] }>('memory_find', args);
    if (results.length === 0) throw new Error('Nothing was found.');
  }
  /** Every call changes a document, so that the user's memory stays as large as it is. */
  const write = (n: number) =>
    execute('memory_write', {
      path: `user/${toPath(pick(n))}`,
      content: toDocument(NEW_SEEDS + n, fixture),
    });
  return {
    operations: {
      search,
      async read(n) {
        const args = { path: `user/${toPath(pick(n))}` };
        const { content } = await execute<{ content: string }>('memory_read', args);
        if (content === '') throw new Error('The file is empty.');
      },
      write,
      async 'write, then search'(n) {
        await write(n);
        await search(n);
      },
    },
    close: () => service.close(),
  };
};
