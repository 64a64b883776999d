import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { MemoryService } from '../../core/index.ts';
import { scriptedDreamer } from '../support/scripted-dreamer.mjs';
import type { Bench, Suite } from './support/bench.ts';
import { toNote } from './support/notes.ts';
import { importService } from './support/service.ts';
import { type Spread, toSpread } from './support/statistics.ts';

const USERS = 10_000;
const TICKS = 20;
const MINUTE = 60_000;
/** Lines of a person's file: what fits into the tokens that a run shows. */
const LINES = 400;

/** What a dream run takes beside the model, and what a look for users takes when there is none. */
export const suite: Suite = {
  about: 'dream runs with a scripted model: time, calls, tokens; ticks with nobody to dream of',
  options: {
    data: 'JSON lines, gzipped or not: doc rows (user, path, text) of conversations; default: notes',
  },
  async run(bench) {
    await measureRuns(bench);
    for (const why of ['grace', 'excluded_only'] as const) await measureTicks(bench, why);
  },
};

/** A service that dreams when it is told to, on a clock of its own. */
async function openDreamer(bench: Bench, name: string) {
  const { createMemoryService, sqlite, dreaming } = await importService();
  const model = scriptedDreamer();
  const plugin = dreaming();
  const clock = { now: Date.UTC(2026, 0, 1) };
  const service = createMemoryService({
    storage: sqlite({ filename: path.join(await bench.makeDirectory(name), 'memory.db') }),
    model,
    plugins: [plugin],
    now: () => clock.now,
  });
  await service.start();
  return { service, plugin, model, clock };
}

/** Every user's memory is dreamed once a round, one user after the other has changed a line. */
async function measureRuns(bench: Bench): Promise<void> {
  const { service, plugin, model, clock } = await openDreamer(bench, 'runs');
  const memory = readMemory(bench.options['data']);
  try {
    for (const { userId, path: file, content } of memory) {
      await write(service, userId, file, content);
    }
    const users = [...new Set(memory.map(({ userId }) => userId))];
    const characters = memory.reduce((sum, { content }) => sum + content.length, 0);
    bench.report.row(
      `Dream run, a model that answers at once: ${users.length} users, ${memory.length} files, ` +
        `${Math.round(characters / users.length / 1_000)}k characters each`,
      [],
    );
    clock.now += 31 * MINUTE;
    // The first look finds all of them; then one at a time.
    await measure(bench, 'first run', async () => (await plugin.tick()).runs, model);
    const times: number[] = [];
    const before = { ...model.usage };
    let runs = 0;
    for (let round = 0; round < bench.rounds; round += 1) {
      for (const userId of users) {
        await write(service, userId, 'user/round.md', `# Round\n\n- Round ${round} has begun.\n`);
        clock.now += 31 * MINUTE;
        const started = performance.now();
        runs += (await plugin.tick()).runs;
        times.push(performance.now() - started);
      }
    }
    bench.report.note(`later run: ${describe(toSpread(times))}, ${toUse(model, before, runs)}`);
  } finally {
    await service.close();
  }
}

async function measureTicks(bench: Bench, why: 'grace' | 'excluded_only'): Promise<void> {
  const { service, plugin, model, clock } = await openDreamer(bench, why);
  const users = bench.isQuick ? 500 : USERS;
  const file = why === 'grace' ? 'user/a.md' : 'user/log.md';
  try {
    for (let first = 0; first < users; first += 100) {
      const some = Array.from({ length: 100 }, (_, n) => `user${first + n}`);
      await Promise.all(some.map((userId) => write(service, userId, file, '- Likes tea.\n')));
    }
    clock.now += MINUTE;
    const times: number[] = [];
    for (let tick = 0; tick < TICKS; tick += 1) {
      const started = performance.now();
      const report = await plugin.tick();
      times.push(performance.now() - started);
      if (report.runs > 0) throw new Error('Somebody was dreamed of.');
    }
    bench.report.row(
      `Tick, ${users.toLocaleString('en-US')} users, all of them skipped: ${why}`,
      [],
    );
    bench.report.note(`${describe(toSpread(times))}, ${model.usage.calls} calls of the model`);
  } finally {
    await service.close();
  }
}

async function measure(
  bench: Bench,
  name: string,
  work: () => Promise<number>,
  model: ReturnType<typeof scriptedDreamer>,
): Promise<void> {
  const before = { ...model.usage };
  const started = performance.now();
  const runs = await work();
  const ms = (performance.now() - started) / Math.max(1, runs);
  bench.report.note(`${name}: ${ms.toFixed(1)} ms each, ${toUse(model, before, runs)}`);
}

function describe({ median, min, max }: Spread): string {
  return `${median.toFixed(1)} ms (${min.toFixed(1)}–${max.toFixed(1)})`;
}

function toUse(
  { usage }: ReturnType<typeof scriptedDreamer>,
  before: ReturnType<typeof scriptedDreamer>['usage'],
  runs: number,
): string {
  const mean = (key: keyof typeof usage) => (usage[key] - before[key]) / Math.max(1, runs);
  return (
    `${mean('calls').toFixed(2)} calls of the model and ${Math.round(mean('inputTokens'))} tokens in, ` +
    `${Math.round(mean('outputTokens'))} out for each of ${runs} runs, at four characters a token`
  );
}

async function write(service: MemoryService, userId: string, file: string, content: string) {
  const request = { context: { userId }, arguments: { path: file, content } };
  await service.tools.execute('memory_write', request);
}

interface MemoryFile {
  userId: string;
  path: string;
  content: string;
}

/** The conversations as they are, and what people say in them as lines of memory; else notes. */
function readMemory(data: string | undefined): MemoryFile[] {
  if (data === undefined || !existsSync(data)) {
    return Array.from({ length: 5 }, (_, user) => `user${user}`).flatMap((userId, user) =>
      Array.from({ length: 100 }, (_, n) => ({
        userId,
        path: `user/notes/${n}.md`,
        content: toNote(user * 100 + n),
      })),
    );
  }
  const bytes = readFileSync(data);
  const text = bytes[0] === 0x1f ? gunzipSync(bytes).toString() : bytes.toString();
  const docs = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { type: string; user: string; path: string; text: string })
    .filter(({ type }) => type === 'doc');
  const said = new Map<string, MemoryFile>();
  for (const { user: userId, text: conversation } of docs) {
    for (const [, who = '', words = ''] of conversation.matchAll(/^\*\*(\w+):\*\* (.*)$/gm)) {
      const file = `user/people/${who}.md`;
      const kept = said.get(`${userId} ${file}`) ?? { userId, path: file, content: `# ${who}\n\n` };
      said.set(`${userId} ${file}`, kept);
      for (const sentence of words.split(/(?<=[.!])\s+/)) {
        const isFact = sentence.length > 24 && sentence.length < 160 && !sentence.endsWith('?');
        if (isFact && kept.content.split('\n').length < LINES) kept.content += `- ${sentence}\n`;
      }
    }
  }
  const spoken = docs.map((doc) => ({
    userId: doc.user,
    path: `user/${doc.path}`,
    content: doc.text,
  }));
  return [...spoken, ...said.values()];
}
