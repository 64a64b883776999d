import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { manualClock } from '../../support/clock.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { scriptedDreamer } from '../../support/scripted-dreamer.mjs';
import { temporaryDirectory } from '../../support/service.ts';
import { MINUTE, openDreams } from './dream-service.ts';
import { expireLeases, readBudget, startDreamer } from './dreamer.ts';
import { POINTS } from './points.mjs';
import { mysql, sqlite } from '../../support/databases.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
/** The long samples take minutes. */
const LONG = isRelease ? { timeout: 3_600_000 } : {};

const FILES = ['user/inbox.md', 'user/projects.md', 'user/c.md'];
const contentOf = (file: string) =>
  `- Likes tea of ${file}.\n- Likes tea of ${file}.\n- Has a cat called Tom.\n`;
const mergedOf = (file: string) => `- Likes tea of ${file}.\n- Has a cat called Tom.\n`;

const onSqlite = async () => path.join(await temporaryDirectory(), 'memory.db');
const storageOf = (database: string): Storage =>
  database.includes('://')
    ? mysql({ url: database })
    : sqlite({ filename: database, lockTimeoutMs: 60_000 });

const DATABASES = { SQLite: onSqlite, MariaDB: freshDatabase };
const bothSides = (points: readonly string[]) =>
  points.flatMap((point) => [`before ${point}`, `after ${point}`]);
/** Points of a run, or of its applying, at which nothing of it is left to be written. */
const WHOLE = new Set(['after files']);

/** The service of whoever comes after a process that is gone, or stands still. */
async function openSurvivor(database: string) {
  const model = scriptedDreamer();
  const clock = manualClock(Date.UTC(2026, 0, 1) + 31 * MINUTE);
  const service = await openDreams({ storage: storageOf(database), clock, config: { model } });
  return { ...service, model };
}

describe('a process that is killed in a run', () => {
  const all = ['model', ...bothSides(POINTS.run)];
  const some = ['model', 'before files', 'after files'];
  const cases = isRelease
    ? all.flatMap((point) => [['SQLite', point] as const, ['MariaDB', point] as const])
    : [...some.map((point) => ['SQLite', point] as const), ['MariaDB', 'after files'] as const];

  it.each(cases)(
    'on %s, %s: no fact is lost, its writes and its budget are the same number, and another ends the work',
    async (name, point) => {
      const database = await DATABASES[name]();
      const dreamer = await startDreamer(database);
      for (const file of FILES) {
        const content = contentOf(file);
        await dreamer.send({ do: 'write', userId: 'alice', path: file, content });
      }
      await dreamer.send({ do: 'advance', ms: 31 * MINUTE });
      await dreamer.send({ do: 'arm', point, signal: 'SIGKILL' });
      dreamer.send({ do: 'tick' }).catch(() => undefined);
      expect(await dreamer.ended).toBe('SIGKILL');
      await expireLeases(database);

      const survivor = await openSurvivor(database);
      const { items } = (await survivor.admin('GET', 'dream/runs')).json;
      const memory = await Promise.all(FILES.map((file) => survivor.read('alice', file)));
      memory.forEach((content, index) => {
        const file = FILES[index] ?? '';
        expect([contentOf(file), mergedOf(file)]).toContain(content);
      });
      for (const run of items) {
        expect(run.state).toBe(WHOLE.has(point) ? 'completed' : 'failed');
        const { json } = await survivor.admin('GET', `revisions?runId=${run.id}`);
        expect(json.items).toHaveLength(run.writes);
        expect(await readBudget(database, `dream:${run.id}`)).toBe(run.writes);
      }
      survivor.clock.advance(25 * 60 * MINUTE);
      await survivor.plugin.tick();
      for (const file of FILES) expect(await survivor.read('alice', file)).toBe(mergedOf(file));
      const asked = survivor.model.usage.calls;
      await survivor.plugin.tick();
      expect(survivor.model.usage.calls).toBe(asked);
    },
  );
});

describe.each([
  [
    'applies a proposal',
    'apply',
    isRelease ? bothSides(POINTS.apply) : ['before files', 'after files'],
  ],
  [
    'undoes a run',
    'revert',
    isRelease ? bothSides(POINTS.revert) : ['before undone', 'after undone'],
  ],
] as const)('a process that is killed while it %s', (_, work, points) => {
  const names = isRelease ? (['SQLite', 'MariaDB'] as const) : (['SQLite'] as const);
  const cases = names.flatMap((name) => points.map((point) => [name, point] as const));

  it.each(cases)(
    'on %s, %s: what is recorded is what was written, and another one ends it',
    async (name, point) => {
      const database = await DATABASES[name]();
      const dreamer = await startDreamer(database);
      const admin = (method: string, path: string, body: object) =>
        dreamer.send({ do: 'admin', method, path, body });
      for (const file of FILES) {
        const content = contentOf(file);
        await dreamer.send({ do: 'write', userId: 'alice', path: file, content });
      }
      await admin('PUT', 'dream/config', { dream_mode: work === 'apply' ? 'review' : 'auto' });
      await dreamer.send({ do: 'advance', ms: 31 * MINUTE });
      await dreamer.send({ do: 'tick' });
      const survivor = await openSurvivor(database);
      const [{ id }] = (await survivor.admin('GET', 'dream/runs')).json.items;
      await dreamer.send({ do: 'arm', work, point, signal: 'SIGKILL' });
      admin('POST', `dream/runs/${id}/${work}`, {}).catch(() => undefined);
      expect(await dreamer.ended).toBe('SIGKILL');
      await expireLeases(database);

      const readAll = () => Promise.all(FILES.map((file) => survivor.read('alice', file)));
      const { json: found } = await survivor.admin('GET', `dream/runs/${id}`);
      const writes = found.revisions.filter(
        ({ action }: { action: string }) => action !== 'revert',
      );
      expect(writes).toHaveLength(found.writes);
      // What a person applies spends no budget.
      const spent = work === 'apply' ? 0 : found.writes;
      expect(await readBudget(database, `dream:${id}`)).toBe(spent);
      if (work === 'apply') {
        // Each second merge of the same lines is stale.
        expect(found.outcome).toBe(WHOLE.has(point) ? 'partial' : 'waiting');
        if (!WHOLE.has(point)) {
          const { json } = await survivor.admin('POST', `dream/runs/${id}/apply`, {});
          expect(json).toMatchObject({ state: 'completed', outcome: 'partial', writes: 4 });
        }
        expect(await readAll()).toEqual(FILES.map(mergedOf));
      }
      // A revert that was cut off is asked for again.
      if (work === 'apply' || point !== 'after undone') {
        const { json } = await survivor.admin('POST', `dream/runs/${id}/revert`, {});
        expect(json).toMatchObject({ outcome: 'reverted', left: [] });
      }
      expect(await readAll()).toEqual(FILES.map(contentOf));
      const log = await survivor.read('alice', 'user/dream-log.md');
      expect(log).toContain(`\n- run ${id}\n`);
      // The entry of a revert follows its last files: a process that dies between them leaves none.
      if (point !== 'after undone') expect(log).toContain(`\n- revert of run ${id}\n`);
    },
  );
});

describe('a process that stands still in a run while another takes its user (F10)', LONG, () => {
  it('writes nothing once it goes on, and overwrites nothing of what came meanwhile', async () => {
    const database = await freshDatabase();
    const zombie = await startDreamer(database, { indexes: false });
    const survivor = await openSurvivor(database);
    const points = ['model', 'after proposed', 'before files', 'after files'];
    const rounds = isRelease ? 100 : points.length;
    for (let round = 0; round < rounds; round += 1) {
      const userId = `user${round}`;
      for (const file of FILES) {
        await zombie.send({ do: 'write', userId, path: file, content: contentOf(file) });
      }
      await zombie.send({ do: 'advance', ms: 31 * MINUTE });
      const point = points[round % points.length] ?? '';
      await zombie.send({ do: 'arm', point, signal: 'SIGSTOP' });
      const reached = zombie.atPoint();
      const ticking = zombie.send({ do: 'tick' });
      await reached;
      await expireLeases(database);

      survivor.clock.advance(31 * MINUTE);
      await survivor.write(userId, 'user/c.md', '- Mine, and newer.\n');
      const [run] = (await survivor.admin('GET', `dream/runs?userId=${userId}`)).json.items;
      expect(run).toMatchObject({ state: WHOLE.has(point) ? 'completed' : 'failed' });
      await survivor.admin('PUT', `dream/users/${userId}/paused`, { paused: true });
      const before = await survivor.admin('GET', `revisions?userId=${userId}&limit=500`);
      zombie.kill('SIGCONT');
      await ticking;
      expect(await survivor.admin('GET', `revisions?userId=${userId}&limit=500`)).toMatchObject({
        json: before.json,
      });
      expect((await survivor.admin('GET', `dream/runs/${run.id}`)).json).toMatchObject(run);
      expect(await survivor.read(userId, 'user/c.md')).toBe('- Mine, and newer.\n');
      expect(await readBudget(database, `dream:${run.id}`)).toBe(run.writes);
    }
  });
});

describe('two processes with a scheduler each (F10)', LONG, () => {
  it('dream of each user once a round, and of nobody twice', async () => {
    const [rounds, count] = isRelease ? [200, 50] : [6, 10];
    const database = await freshDatabase();
    const [first, second] = await Promise.all([startDreamer(database), startDreamer(database)]);
    const dreamers = [first, second];
    const users = Array.from({ length: count }, (_, n) => `user${n}`);
    for (let round = 0; round < rounds; round += 1) {
      const content = `- Round ${round}.\n`;
      await Promise.all(
        users.map((userId, n) =>
          (n % 2 === 0 ? first : second).send({
            do: 'write',
            userId,
            path: 'user/inbox.md',
            content,
          }),
        ),
      );
      await Promise.all(dreamers.map((it) => it.send({ do: 'advance', ms: 31 * MINUTE })));
      const together = await Promise.all(dreamers.map((it) => it.send({ do: 'tick' })));
      const after = await (round % 2 === 0 ? first : second).send({ do: 'tick' });
      const asked = [...together, after].map((report) => report.asked as number);
      expect(asked.reduce((sum, calls) => sum + calls, 0)).toBe(count);
      expect(after.changed).toBe(0);
    }
  });
});

describe('a budget of three writes (T26)', () => {
  const filesOf = async (database: string) => {
    const { core } = await openDreams({ storage: storageOf(database) });
    const page = { prefix: '', after: null, limit: 500 };
    return await core.storage.files.list('u:spender', page);
  };

  it.each([
    ['SQLite', onSqlite],
    ['MariaDB', freshDatabase],
  ] as const)(
    'on %s lets three of many through that two processes try at once',
    async (_, open) => {
      const database = await open();
      const dreamers = await Promise.all([startDreamer(database), startDreamer(database)]);
      const spend = { do: 'spend', name: 'three', max: 3, writes: isRelease ? 500 : 100 };
      const through = await Promise.all(dreamers.map((it) => it.send(spend)));
      expect(through[0] + through[1]).toBe(3);
      expect(await filesOf(database)).toHaveLength(3);
      expect(await readBudget(database, 'three')).toBe(3);
    },
  );

  it('lets three through in each of many runs, whichever process tries', LONG, async () => {
    const database = await freshDatabase();
    const dreamers = await Promise.all([
      startDreamer(database, { indexes: false }),
      startDreamer(database, { indexes: false }),
    ]);
    for (let run = 0; run < (isRelease ? 1_000 : 5); run += 1) {
      const spend = { do: 'spend', name: `run-${run}`, max: 3, writes: 4 };
      const through = await Promise.all(dreamers.map((it) => it.send(spend)));
      expect(through[0] + through[1]).toBe(3);
      expect(through.every((count) => count <= 3)).toBe(true);
    }
    expect(await readBudget(database, 'run-3')).toBe(3);
  });

  it('lets three through although the process was killed on the way and another went on', async () => {
    const database = await onSqlite();
    const first = await startDreamer(database);
    // The second write that it tries.
    await first.send({ do: 'arm', point: 'after running', signal: 'SIGKILL' });
    const spend = { do: 'spend', name: 'three', max: 3, writes: 2 };
    first.send(spend).catch(() => undefined);
    expect(await first.ended).toBe('SIGKILL');
    const second = await startDreamer(database);
    const through = await second.send({ ...spend, writes: isRelease ? 500 : 100 });
    expect(through).toBeLessThan(3);
    expect(await filesOf(database)).toHaveLength(3);
    expect(await readBudget(database, 'three')).toBe(3);
  });
});
