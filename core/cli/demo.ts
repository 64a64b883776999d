import { randomBytes } from 'node:crypto';
import type { MemoryServiceConfig } from '../contracts/config.ts';
import { type Core, createCore } from '../core.ts';
import { MemoryError } from '../errors.ts';
import { type DemoDreams, demoDreams, type DemoRun } from './demo-dreams.ts';
import type { DemoFact, DemoUser } from './demo-memory.ts';
import { type DemoModel, demoModel, toSaid } from './demo-model.ts';
import { DEMO_SHARED } from './demo-shared.ts';
import { DEMO_USERS } from './demo-users.ts';

/** How far back the demo's history begins, in days. */
const DAYS = 24;
/** Slower than a slow call, in milliseconds. */
const SLOW_MS = 1_100;
/** The night of the first dreams, in days after the beginning. */
const FIRST_NIGHT = 5;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Fills a database that has no memory with a team's: weeks of reads, writes, searches, failures,
 * corrections and dreams, each through the tools and the admin's write path, with a clock that
 * walks from then to `until` (milliseconds since 1970). Gives the number of tool calls; 0, and
 * nothing is written, when there is memory already.
 *
 * `config` holds a storage and plugins of its own, which are closed again. Of a model, embedder or
 * exporter in it nothing is asked: what is made up costs nobody tokens.
 */
export async function fillDemo(config: MemoryServiceConfig, until: number): Promise<number> {
  let at = until - DAYS * DAY_MS;
  const model = demoModel();
  const core = createCore({
    ...config,
    model,
    embedder: null,
    exporters: [],
    dream: { enabled: false },
    now: () => at,
  });
  try {
    await core.ready();
    if ((await core.fileLists.users({ limit: 1 })).items.length > 0) return 0;
    const dreams = demoDreams(core, config.plugins ?? []);
    const story = new Story({ core, model, dreams }, (time) => {
      at = Math.max(at, Math.min(time, until));
    });
    await story.begin(at);
    for (let day = 0; day <= DAYS; day += 1) {
      const midnight = Math.floor((until - (DAYS - day) * DAY_MS) / DAY_MS) * DAY_MS;
      await story.day(day, midnight, until);
    }
    await story.end(until);
    return story.calls;
  } finally {
    await core.close();
  }
}

/** What happened, in order. Its chance is a fixed one: every demo tells the same. */
class Story {
  calls = 0;
  readonly #core: Core;
  readonly #model: DemoModel;
  readonly #dreams: DemoDreams | null;
  readonly #moveTo: (time: number) => void;
  #seed = 20_261;

  constructor(
    parts: { core: Core; model: DemoModel; dreams: DemoDreams | null },
    moveTo: (time: number) => void,
  ) {
    this.#core = parts.core;
    this.#model = parts.model;
    this.#dreams = parts.dreams;
    this.#moveTo = moveTo;
  }

  async begin(at: number): Promise<void> {
    for (const { path, content, reason } of DEMO_SHARED) {
      await this.#put(`shared/${path}`, content, reason);
    }
    for (const [index, user] of DEMO_USERS.entries()) {
      this.#moveTo(at + (index + 1) * 11 * 60_000);
      for (const { path, content, reason } of user.files) {
        await this.#run(user, 'memory_write', { path: `user/${path}`, content, reason });
      }
      await this.#run(user, 'memory_write', { path: 'user/log.md', content: '# Log\n\n' });
    }
    await this.#dreams?.configure({ dream_enabled: false });
  }

  /** One day: sessions from morning to evening, then the quiet hours. */
  async day(day: number, midnight: number, until: number): Promise<void> {
    // Today is a working day in any case: it is what is looked at first.
    const isWeekend = day < DAYS - 1 && [0, 6].includes(new Date(midnight).getUTCDay());
    const moments: { time: number; play: () => Promise<void> }[] = [];
    for (const user of DEMO_USERS) {
      const sessions = isWeekend ? this.#chance(2) : 1 + this.#chance(user.sessions);
      for (let session = 0; session < sessions; session += 1) {
        const time = midnight + (7 + this.#chance(12)) * HOUR_MS + this.#chance(HOUR_MS);
        moments.push({ time, play: () => this.#session(user, day, time) });
      }
    }
    for (const user of DEMO_USERS) {
      for (const fact of user.facts.filter(({ onDay }) => onDay === day)) {
        moments.push({ time: midnight + 12 * HOUR_MS, play: () => this.#learn(user, fact) });
      }
    }
    for (const [onDay, hour, play] of this.#plan) {
      if (onDay === day) moments.push({ time: midnight + hour * HOUR_MS, play });
    }
    if (this.#dreams !== null && day >= FIRST_NIGHT) {
      moments.push({ time: midnight + 3.2 * HOUR_MS, play: () => this.#night(day) });
    }
    moments.sort((a, b) => a.time - b.time);
    for (const { time, play } of moments) {
      if (time > until) continue;
      this.#moveTo(time);
      await play();
    }
  }

  /** What people and providers do: the day, the hour in UTC, and what happens. */
  readonly #plan: readonly (readonly [day: number, hour: number, play: () => Promise<void>])[] = [
    [FIRST_NIGHT - 1, 14, () => this.#configure({ dream_enabled: true, dream_mode: 'review' })],
    [FIRST_NIGHT - 1, 14.1, () => this.#configure({ dream_max_writes: 6 })],
    [FIRST_NIGHT, 9, async () => this.#dreams?.pause('sam.okafor@example.com')],
    [DAYS - 11, 15, () => this.#configure({ dream_mode: 'auto', dream_interval_minutes: 180 })],
    [DAYS - 9, 13, () => this.#correction()],
    [DAYS - 7, 2, async () => void (this.#model.isDown = true)],
    [DAYS - 7, 9.7, () => this.#failToRemember()],
    [DAYS - 7, 11, async () => void (this.#model.isDown = false)],
    [DAYS - 5, 12.5, () => this.#misunderstanding()],
    [DAYS - 4, 9.5, () => this.#undoMisunderstanding()],
    [DAYS - 3, 9.4, () => this.#undoDream()],
    [DAYS - 2, 10, () => this.#configure({ dream_mode: 'review' })],
  ];

  /** The last hours: what waits for whoever opens the console. */
  async end(until: number): Promise<void> {
    this.#moveTo(until - 25 * 60_000);
    await this.#struggle();
    this.#moveTo(until);
    await this.#dreams?.run('jonas.weber', { dryRun: true });
    for (const userId of ['lena.fischer', 'diego.alvarez']) {
      const isWaiting = (await this.#waiting()).some((run) => run.userId === userId);
      if (!isWaiting) await this.#dreams?.run(userId, { dryRun: false });
    }
  }

  /** An agent at work: what does memory hold, read it, and note what was learned. */
  async #session(user: DemoUser, day: number, time: number): Promise<void> {
    const question = this.#pick(user.questions);
    if (this.#chance(3) === 0) {
      await this.#run(user, 'memory_context', { query: question, maxChars: 4_000 });
    } else {
      await this.#run(user, 'memory_find', { query: question, limit: 5 });
    }
    this.#moveTo(time + 4_000);
    if (this.#chance(4) === 0) await this.#run(user, 'memory_list', { path: 'user/' });
    for (let read = this.#chance(3); read >= 0; read -= 1) {
      const file = this.#pick(user.files);
      await this.#run(user, 'memory_read', { path: `user/${file.path}` });
    }
    this.#moveTo(time + 21_000);
    const fact = this.#dueFact(user, day);
    if (fact !== undefined) await this.#learn(user, fact);
    if (this.#chance(14) === 0) {
      await this.#run(user, 'memory_patch', {
        path: 'user/log.md',
        append: { text: `- ${new Date(time).toISOString().slice(0, 16)}: ${question}` },
        reason: `Asked: ${question}`,
      });
    }
    const slip = this.#chance(22);
    if (slip === 0) await this.#run(user, 'memory_read', { path: 'user/projects/roadmap-2025.md' });
    if (slip === 1) {
      await this.#run(user, 'memory_write', {
        path: 'shared/glossary.md',
        content: '# Glossary\n\nOverwritten by mistake.\n',
        reason: 'Keep the glossary short.',
      });
    }
    if (slip === 2) {
      await this.#run(user, 'memory_patch', {
        path: 'user/preferences.md',
        edits: [{ oldText: 'a line that was reworded since', newText: 'the new one' }],
      });
    }
  }

  /** A fact, told to the service or written by the agent itself. */
  async #learn(user: DemoUser, fact: DemoFact): Promise<void> {
    const { path, under, text, reason, isTold } = fact;
    const isKept =
      isTold === true && (await this.#run(user, 'memory_remember', { text: toSaid(fact), reason }));
    if (isKept) return;
    await this.#run(user, 'memory_patch', {
      path: `user/${path}`,
      append: { text, ...(under === null ? {} : { afterHeading: under }) },
      reason,
    });
  }

  /** Dreaming in the quiet hours; in review someone looks at the proposals in the morning. */
  async #night(day: number): Promise<void> {
    await this.#dreams?.tick();
    if (day >= DAYS - 1) return;
    for (const run of await this.#waiting()) {
      const [first, ...others] = run.files.map(({ path }) => path);
      this.#moveTo(this.#core.now() + 40 * 60_000);
      if (first !== undefined && others.length > 0) {
        await this.#dreams?.decide(run, 'apply', [first]);
        await this.#dreams?.decide(run, 'reject');
      } else await this.#dreams?.decide(run, run.userId.startsWith('jonas') ? 'reject' : 'apply');
    }
  }

  async #waiting(): Promise<DemoRun[]> {
    const runs = (await this.#dreams?.runs()) ?? [];
    return runs.filter(({ state }) => state === 'awaiting_review');
  }

  async #configure(settings: Record<string, unknown>): Promise<void> {
    await this.#dreams?.configure(settings);
  }

  /** An operator takes back what the last run did that wrote something. */
  async #undoDream(): Promise<void> {
    const runs = (await this.#dreams?.runs()) ?? [];
    const run = runs.find(({ filesTouched, outcome }) => filesTouched > 0 && outcome === 'applied');
    if (run !== undefined) await this.#dreams?.decide(run, 'revert');
  }

  /** The model is away, and what people say is not kept. */
  async #failToRemember(): Promise<void> {
    for (const user of DEMO_USERS) {
      const text = `Asked when the model is back (${user.userId}).`;
      await this.#run(user, 'memory_remember', { text });
    }
  }

  /** A call that takes long, and one that the model's provider refuses. */
  async #struggle(): Promise<void> {
    const [user] = DEMO_USERS;
    if (user === undefined) return;
    this.#model.thinkingMs = SLOW_MS;
    await this.#run(user, 'memory_context', { query: user.questions[0] ?? '' });
    this.#model.thinkingMs = 0;
    this.#model.isDown = true;
    await this.#run(user, 'memory_remember', { text: 'The launch party is on 29 May.' });
    this.#model.isDown = false;
  }

  /** An agent takes a joke at its word… */
  async #misunderstanding(): Promise<void> {
    const diego = DEMO_USERS.find(({ userId }) => userId === 'diego.alvarez') as DemoUser;
    await this.#run(diego, 'memory_find', { query: 'where does Diego live', limit: 5 });
    await this.#run(diego, 'memory_patch', {
      path: 'user/profile.md',
      edits: [{ oldText: '- Bogotá (UTC−5)', newText: '- Lives on a boat near Cartagena' }],
      reason: 'He said that he lives on a boat now.',
    });
  }

  /** …and an operator reverts it. */
  async #undoMisunderstanding(): Promise<void> {
    const path = 'users/diego.alvarez/profile.md';
    const { items } = await this.#core.revisions.list({ path, limit: 5 });
    const wrong = items.find(({ reason }) => reason?.includes('boat') === true);
    if (wrong !== undefined) await this.#core.revisions.revert(wrong.id, {}, byOperator());
  }

  /** An operator finds a fact that is wrong, and puts it right. */
  async #correction(): Promise<void> {
    const path = 'users/maya.chen/profile.md';
    const { file } = await this.#core.fileLists.file(path, {});
    await this.#put(
      path,
      file.content.replace('- Works from Lisbon', '- Works from Porto'),
      'Maya wrote to support: she moved in spring.',
    );
  }

  async #put(path: string, content: string, reason: string): Promise<void> {
    await this.#core.files.put(path, { content, reason }, byOperator());
  }

  /** Whether the call went well. */
  async #run({ userId, actor }: DemoUser, tool: string, args: object): Promise<boolean> {
    this.calls += 1;
    try {
      await this.#core.tools.executeAs(tool, { context: { userId, actor }, arguments: args }, null);
      return true;
    } catch (error) {
      // Refusals and a provider that fails belong to the story: the console helps to find them.
      const isStory = error instanceof MemoryError && (error.status < 500 || error.status === 502);
      if (!isStory) throw error;
      return false;
    }
  }

  /** What is learned comes bit by bit, over all of the weeks. */
  #dueFact(user: DemoUser, day: number): DemoFact | undefined {
    const facts = user.facts.filter(({ onDay }) => onDay === undefined);
    const told = this.#told.get(user.userId) ?? 0;
    if (day < 1 + ((told + 0.5) * DAYS) / facts.length) return undefined;
    this.#told.set(user.userId, told + 1);
    return facts[told];
  }
  readonly #told = new Map<string, number>();

  #pick<T>(items: readonly T[]): T {
    return items[this.#chance(items.length)] as T;
  }

  /** A whole number from 0 to below `below`: mulberry32, so that the demo is the same everywhere. */
  #chance(below: number): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  }
}

function byOperator(): { address: string; traceId: string } {
  return { address: '127.0.0.1', traceId: randomBytes(16).toString('hex') };
}
