import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { type AcknowledgedWrite, findViolations, toLines } from '../support/invariants.ts';
import { type KillOptions, type KillReport, killRepeatedly, summarise } from '../support/kills.ts';
import { emptyDatabase, freshDatabase } from '../support/mariadb.ts';
import { temporaryDatabase } from '../support/service.ts';
import { startBareWriter } from '../support/targets.ts';
import type { Answer, Operation, Target } from '../support/workload.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
/** By hand: node test/faults/kill.mjs --kills 500 --bare. */
const BY_HAND = process.env['MEMORY_TEST_KILLS'];
const LONG = { timeout: 20_000_000 };

/** A transaction has fewer statements than this, whatever it does. */
const MOST_STATEMENTS = 40;
/** Points of a transaction, each on a database of its own, at which one process is killed at once. */
const AT_ONCE = 8;

let directory: string;
let filename: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'memory-kill-writer-'));
  filename = path.join(directory, 'memory.db');
});

afterEach(() => rm(directory, { recursive: true, force: true }));

/** What an acknowledged write is said to be that is not there. */
const LOST = /(?:is|are) lost$/;

interface Sample {
  /** 315 in all, or 10,000. */
  kills: number;
  /** Databases that one process writes: to start it is most of what a kill costs. */
  databases: number;
  /** Prepares as many empty databases as it is told. */
  prepare: (count: number) => Promise<KillOptions['makeDatabase']>;
}

/** How often the bare write path is killed, and on which empty database. */
const DATABASES: readonly [string, Sample][] = [
  [
    'SQLite',
    {
      kills: isRelease ? 9_000 : 300,
      databases: 30,
      async prepare() {
        const empty = await temporaryDatabase();
        return async (cwd, at) => {
          const filename = path.join(cwd, `memory-${at}.db`);
          await copyFile(empty, filename);
          return filename;
        };
      },
    },
  ],
  [
    'MariaDB',
    {
      kills: isRelease ? 1_000 : 15,
      databases: 5,
      async prepare(count) {
        const urls: string[] = [];
        for (let at = 0; at < count; at += 1) urls.push(await freshDatabase());
        return async (_, at) => {
          const url = urls[at] as string;
          await emptyDatabase(url);
          return url;
        };
      },
    },
  ],
];

describe.each(DATABASES)(
  'the bare write path on %s, killed with kill -9 (F1)',
  (name, { kills: sample, databases, prepare }) => {
    it(
      'loses nothing that it acknowledged, and leaves the rest whole or absent',
      LONG,
      async () => {
        const kills = Number(BY_HAND ?? sample);
        const report = await killRepeatedly({
          kills,
          makeDatabase: await prepare(databases),
          start: (_, database, beside) => startBareWriter([database, ...beside]),
          databases,
          checkEvery: 5,
          seed: 2,
          progress,
        });
        console.log(summarise(report, `the bare write path on ${name}, kill -9`));
        expect(report.problems).toEqual([]);
        expect(report.kills).toBeGreaterThanOrEqual(kills);
        expect(report.inFlight).toBeGreaterThanOrEqual(report.kills * 0.8);
      },
    );

    it('is caught when it acknowledges before the commit', LONG, async () => {
      const report = await killRepeatedly({
        kills: 20,
        makeDatabase: await prepare(1),
        start: (_, database) => startBareWriter(database, ['--acknowledge-early']),
        until: LOST,
      });
      expect(report.problems.filter((problem) => LOST.test(problem))).not.toEqual([]);
    });
  },
);

/** What is killed, on a user's file a.md: the first and the last stand for all in a sample. */
const VICTIMS: readonly [string, Omit<Operation, 'userId'>][] = [
  ['creates', { tool: 'memory_write', args: { path: 'user/new.md', content: 'new\n' } }],
  ['replaces', { tool: 'memory_write', args: { path: 'user/a.md', content: 'b\n' } }],
  ['appends', { tool: 'memory_patch', args: { path: 'user/a.md', append: { text: 'more' } } }],
  ['deletes', { tool: 'memory_delete', args: { path: 'user/a.md' } }],
  ['moves', { tool: 'memory_move', args: { from: 'user/a.md', to: 'user/b.md' } }],
];

describe('a write that is killed before each statement of its transaction, and after its commit (F1)', () => {
  const sample = VICTIMS.filter((_, at) => isRelease || at === 0 || at === VICTIMS.length - 1);

  it.each(sample)('%s all of it or nothing, and once when it is repeated', async (_, victim) => {
    const empty = await temporaryDatabase();
    const userId = 'alice';
    const repeated = { ...victim, userId, key: 'key' };
    const whole: boolean[] = [];
    let isOver = false;
    for (let before = 0; !isOver && before < MOST_STATEMENTS; before += AT_ONCE) {
      const points = Array.from({ length: AT_ONCE }, (_unset, at) => before + at + 1);
      const files = points.map((point) => path.join(directory, `${point}.db`));
      await Promise.all(files.map((file) => copyFile(empty, file)));
      const doomed = await startBareWriter(files, [`--kill-at=${points.join(',')}`]);
      const acknowledged = await Promise.all(
        [doomed, ...(doomed.beside ?? [])].map(async (target) => {
          const args = { path: 'user/a.md', content: 'a\n' };
          const first = await target.execute({ userId, tool: 'memory_write', args, key: 'first' });
          return [toAcknowledged(first, userId, 'a.md', 'a\n')];
        }),
      );
      const answers = await Promise.all(files.map((_file, at) => doomed.victim(repeated, at)));
      expect(await doomed.end('SIGTERM')).toBe(null);

      const writer = await startBareWriter(files);
      for (const [at, target] of [writer, ...(writer.beside ?? [])].entries()) {
        const [file = '', known = []] = [files[at], acknowledged[at]];
        // What the killed one left behind, and what the repeat made of it.
        expect(toLines(await findViolations(file, { acknowledged: known }))).toEqual([]);
        const repeat = await target.execute(repeated);
        if (repeat.status !== 'acknowledged') throw new Error(JSON.stringify(repeat));
        expect(toLines(await findViolations(file, { acknowledged: known }))).toEqual([]);
        // The transaction has no statement with this number, so it was answered.
        isOver ||= answers[at]?.status === 'acknowledged';
        if (!isOver) expect(answers[at]).toEqual({ status: 'lost' });
        if (!isOver) whole.push(repeat.isReplayed);
      }
      await writer.end('SIGTERM');
    }
    expect(isOver).toBe(true);
    // Behind the last point alone the commit had been made.
    expect(whole.length).toBeGreaterThan(8);
    expect(whole.length).toBeLessThan(MOST_STATEMENTS - 1);
    expect(whole).toEqual(whole.map((_, index) => index === whole.length - 1));
  });

  it('is lost when it was acknowledged before, and that is seen', async () => {
    const writer = await startBareWriter(filename, ['--acknowledge-early', '--kill-at=8']);
    const args = { path: 'user/new.md', content: 'new\n' };
    const answer = await writer.victim({ userId: 'alice', tool: 'memory_write', args });
    const acknowledged = [toAcknowledged(answer, 'alice', 'new.md', 'new\n')];
    expect(await writer.end('SIGTERM')).toBe(null);
    const violations = await findViolations(filename, { acknowledged });
    expect(toLines(violations)).toEqual(['I1: u:alice new.md version 1 is lost']);
  });
});

describe('a writer on MariaDB that is killed at each statement of its transaction (F1)', () => {
  // A process for each point: the one with the most statements stands for all.
  it.each(isRelease ? VICTIMS : VICTIMS.slice(-1))(
    '%s all of it or nothing, and once when it is repeated',
    LONG,
    async (_, victim) => {
      const url = await freshDatabase();
      const proxy = await startFaultProxy(Number(new URL(url).port));
      onTestFinished(() => proxy.close());
      const through = url.replace(/:\d+\//, `:${proxy.port}/`);
      const acknowledged: AcknowledgedWrite[] = [];
      const prepareUser = async (writer: Target, userId: string) => {
        const args = { path: 'user/a.md', content: 'a\n' };
        const first = await writer.execute({ userId, tool: 'memory_write', args, key: 'first' });
        acknowledged.push(toAcknowledged(first, userId, 'a.md', 'a\n'));
      };
      // The statements of this write, as a writer makes them that nobody kills.
      const calm = await startBareWriter(through);
      await prepareUser(calm, 'calm');
      const from = proxy.statements.length;
      await calm.execute({ ...victim, userId: 'calm', key: 'key' });
      const statements = proxy.statements.slice(from);
      expect(statements[0]).toBe('start transaction');
      expect(statements.at(-1)).toBe('commit');

      const all = statements.flatMap((sql, at) =>
        (at === statements.length - 1 ? (['before', 'after'] as const) : (['before'] as const)).map(
          (when) => ({ sql, when }),
        ),
      );
      // Whatever came before it, MariaDB undoes what has no commit: the first statement that writes, and
      // both sides of the commit, stand for all.
      const isWrite = ({ sql }: { sql: string }) => /^(?:insert|update|delete)/.test(sql);
      const points = isRelease ? all : [...all.filter(isWrite).slice(0, 1), ...all.slice(-2)];
      expect(points.length).toBeGreaterThan(2);
      const whole: boolean[] = [];
      for (const [point, { sql, when }] of points.entries()) {
        const userId = `user-${point}`;
        const writer = await startBareWriter(through);
        await prepareUser(writer, userId);
        const isMet = proxy.hold(
          when,
          (text) => text === sql,
          async () => void (await writer.end('SIGKILL')),
        );
        const answer = await writer.execute({ ...victim, userId, key: 'key' });
        await isMet;
        expect([sql, answer.status]).toEqual([sql, 'lost']);
        expect(toLines(await findViolations(url, { acknowledged }))).toEqual([]);
        const repeat = await calm.execute({ ...victim, userId, key: 'key' });
        if (repeat.status !== 'acknowledged') throw new Error(JSON.stringify(repeat));
        whole.push(repeat.isReplayed);
      }
      await calm.end('SIGTERM');
      expect(toLines(await findViolations(url, { acknowledged }))).toEqual([]);
      // Behind the commit alone it had been made.
      expect(whole).toEqual(points.map(({ when }) => when === 'after'));
    },
  );
});

function toAcknowledged(
  answer: Answer,
  userId: string,
  file: string,
  content: string,
): AcknowledgedWrite {
  if (answer.status !== 'acknowledged') throw new Error(JSON.stringify(answer));
  const { version, revisionId } = answer.result as { version: number; revisionId: string };
  return { userId, path: file, version, revisionId, content };
}

function progress(report: KillReport): void {
  if (report.kills % 1_500 === 0)
    console.log(`${report.kills} kills, ${report.problems.length} lost`);
}
