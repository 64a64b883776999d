import { expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../core/contracts/storage.ts';
import { type Core, createCore } from '../../core/service.ts';
import { type AcknowledgedWrite, findViolations, toLines } from '../support/invariants.ts';
import { freshDatabase, sharedMariadb } from '../support/mariadb.ts';
import { createDatabase } from '../support/mariadb-server.ts';
import { temporaryDatabase } from '../support/service.ts';
import { inProcess, patient } from '../support/targets.ts';
import { mysql, sqlite } from '../support/databases.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const WORKERS = 32;
const USERS = 4;

const DATABASES: readonly [
  string,
  number,
  () => Promise<{ database: string; open: () => Storage }>,
][] = [
  [
    'SQLite',
    isRelease ? 5_000 : 20,
    async () => {
      const filename = await temporaryDatabase();
      return { database: filename, open: () => sqlite({ filename }) };
    },
  ],
  [
    'MariaDB',
    isRelease ? 5_000 : 5,
    async () => {
      // So many rows are not to be deleted again: the server is removed as a whole.
      const url = isRelease ? await createDatabase(await sharedMariadb()) : await freshDatabase();
      return { database: url, open: () => mysql({ url }) };
    },
  ],
];

it.each(DATABASES)(
  'moves of two files each, there and back by 32 workers of two instances, end with all of them made, on %s (F7)',
  { timeout: 3_600_000 },
  async (name, moves, prepare) => {
    const { database, open } = await prepare();
    const cores = [0, 1].map(() => createCore({ storage: open(), tools: { move: true } }));
    onTestFinished(async () => {
      for (const core of cores) await core.close();
    });
    for (const core of cores) await core.ready();
    const acknowledged: AcknowledgedWrite[] = [];
    const work = async (worker: number) => {
      // Half of them begin at the other file: what one locks first, another one locks last.
      const files = [`${worker}-a.md`, `${worker}-b.md`];
      const [first, second] = worker % 2 === 0 ? files : files.toReversed();
      const userId = `user-${worker % USERS}`;
      const content = `moved by ${worker}\n`;
      const target = patient([inProcess(cores[worker % cores.length] as Core)]);
      const start = { path: `user/${first}`, content };
      await target.execute({ userId, tool: 'memory_write', args: start, key: `${worker}` });
      for (let move = 0; move < moves; move += 1) {
        const [from, to] = move % 2 === 0 ? [first, second] : [second, first];
        const args = { from: `user/${from}`, to: `user/${to}` };
        const key = `${worker}-${move}`;
        const answer = await target.execute({ userId, tool: 'memory_move', args, key });
        if (answer.status !== 'acknowledged') throw new Error(JSON.stringify(answer));
        const { version, revisionId } = answer.result as { version: number; revisionId: string };
        acknowledged.push({ userId, path: to as string, version, revisionId, content });
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
    const problems = toLines(await findViolations(database, { acknowledged }));
    console.log(`moves on ${name}: ${acknowledged.length} acknowledged, ${problems.length} lost`);
    expect(problems).toEqual([]);
    expect(acknowledged).toHaveLength(WORKERS * moves);
  },
);
