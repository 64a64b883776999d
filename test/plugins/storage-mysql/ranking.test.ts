import { randomInt } from 'node:crypto';
import path from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { type Core, createCore } from '../../../core/service.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { freshPostgres } from '../../support/postgres.ts';
import { call, temporaryDirectory } from '../../support/service.ts';
import { mysql, postgres, sqlite } from '../../support/databases.ts';

const WORDS =
  'tea coffee deploy deployment deploying budget naïve Ångström ÅNGSTRÖM 東京 東京都 駅 ünïcode C++ multi-agent e-mail 2026-11 half%off under_score emoji😀 Straße STRASSE москва Москва'.split(
    ' ',
  );

async function openOn(storage: Storage): Promise<Core> {
  const core = createCore({ storage, sharedWrites: true, tools: { delete: true, move: true } });
  onTestFinished(() => core.close());
  await core.ready();
  return core;
}

interface Found {
  results: { path: string; score: number }[];
}

it.each([
  ['MariaDB', async () => mysql({ url: await freshDatabase() })],
  ['PostgreSQL', async () => postgres({ url: await freshPostgres() })],
])(
  'memory_find ranks the same memory the same on SQLite and on %s, to the last digit',
  async (_, open) => {
    const filename = path.join(await temporaryDirectory(), 'memory.db');
    const cores = [await openOn(sqlite({ filename })), await openOn(await open())] as const;
    const onBoth = async (tool: string, args: object) => {
      const answers = [];
      for (const core of cores) answers.push((await call<Found>(core, 'alice', tool, args)).result);
      return answers as [Found, Found];
    };

    // Made by chance, from a seed that a failure shows.
    const seed = randomInt(2 ** 31);
    const text = fc
      .array(fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 12 }), {
        minLength: 1,
        maxLength: 8,
      })
      .map((lines) => lines.map((line) => line.join(' ')).join('\n'));
    const contents = fc.sample(text, { numRuns: 90, seed });
    for (const [at, content] of contents.entries()) {
      const folder = at % 3 === 0 ? 'shared' : `user/${at % 2 === 0 ? 'a' : 'é'}`;
      await onBoth('memory_write', {
        path: `${folder}/${at}.md`,
        content: `# ${at}\n${content}\n`,
      });
      // Some are indexed, some are written again or removed after that, and the rest is behind.
      if (at === 60) for (const core of cores) await core.indexer.drain();
      if (at > 60 && at % 5 === 0) {
        await onBoth('memory_write', { path: `shared/${at % 60}.md`, content });
      }
      if (at > 60 && at % 7 === 0) await onBoth('memory_delete', { path: `${folder}/${at}.md` });
    }

    const query = fc
      .array(fc.constantFrom(...WORDS, 'deploi', 'cofee', 'nowhere'), {
        minLength: 1,
        maxLength: 4,
      })
      .map((words) => words.join(' '));
    const ranking = ({ results }: Found) => results.map(({ path, score }) => [path, score]);
    const compare = async () => {
      let found = 0;
      for (const words of fc.sample(query, { numRuns: 60, seed })) {
        const [lite, maria] = await onBoth('memory_find', { query: words, limit: 20 });
        expect(ranking(maria), `${words}, seed ${seed}`).toStrictEqual(ranking(lite));
        for (const [at, { score }] of lite.results.entries()) {
          expect(maria.results[at]?.score === score, `${words}, seed ${seed}`).toBe(true);
        }
        found += lite.results.length;
      }
      expect(found).toBeGreaterThan(100);
    };
    await compare();
    for (const core of cores) await core.indexer.drain();
    await compare();
  },
);
