import { randomBytes } from 'node:crypto';
import type { MemoryServiceConfig } from '../contracts/config.ts';
import { type Core, createCore } from '../core.ts';
import { MemoryError } from '../errors.ts';
import { DEMO_SHARED, DEMO_USERS, type DemoUser } from './demo-memory.ts';

/** How far back the demo's history begins, in days. */
const DAYS = 24;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Fills a database that has no memory with a team's: weeks of reads, writes, searches, failures,
 * corrections and tidying, each through the tools and the admin's write path, with a clock that
 * walks from then to `until` (milliseconds since 1970). Gives the number of tool calls; 0, and
 * nothing is written, when there is memory already.
 *
 * `config` holds a storage of its own, which is closed again.
 */
export async function fillDemo(config: MemoryServiceConfig, until: number): Promise<number> {
  let at = until - DAYS * DAY_MS;
  const core = createCore({ ...config, now: () => at });
  try {
    await core.ready();
    if ((await core.fileLists.users({ limit: 1 })).items.length > 0) return 0;
    const story = new Story(core, (time) => (at = Math.max(at, Math.min(time, until))));
    await story.begin(at);
    for (let day = 0; day <= DAYS; day += 1) {
      const midnight = Math.floor((until - (DAYS - day) * DAY_MS) / DAY_MS) * DAY_MS;
      await story.day(day, midnight, until);
    }
    return story.calls;
  } finally {
    await core.close();
  }
}

/** What happened, in order. Its chance is a fixed one: every demo tells the same. */
class Story {
  calls = 0;
  readonly #core: Core;
  readonly #moveTo: (time: number) => void;
  #seed = 20_261;

  constructor(core: Core, moveTo: (time: number) => void) {
    this.#core = core;
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
  }

  /** One day: sessions from morning to evening, then the quiet hours. */
  async day(day: number, midnight: number, until: number): Promise<void> {
    const isWeekend = [0, 6].includes(new Date(midnight).getUTCDay());
    const moments: { time: number; play: () => Promise<void> }[] = [];
    for (const user of DEMO_USERS) {
      const sessions = isWeekend ? this.#chance(2) : 1 + this.#chance(user.sessions);
      for (let session = 0; session < sessions; session += 1) {
        const time = midnight + (7 + this.#chance(12)) * HOUR_MS + this.#chance(HOUR_MS);
        moments.push({ time, play: () => this.#session(user, day, time) });
      }
      const [night] = user.nights;
      if (night !== undefined && day > 3 && (day + user.userId.length) % 6 === 0) {
        const time = midnight + 3 * HOUR_MS + this.#chance(HOUR_MS);
        moments.push({ time, play: () => this.#night(user) });
      }
    }
    if (day === DAYS - 9) {
      const time = midnight + 13 * HOUR_MS;
      moments.push({ time, play: () => this.#correction() });
    }
    moments.sort((a, b) => a.time - b.time);
    for (const { time, play } of moments) {
      if (time > until) continue;
      this.#moveTo(time);
      await play();
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
    if (fact !== undefined) {
      await this.#run(user, 'memory_patch', {
        path: `user/${fact.path}`,
        append: { text: fact.text, ...(fact.under === null ? {} : { afterHeading: fact.under }) },
        reason: fact.reason,
      });
    }
    if (this.#chance(6) === 0) {
      await this.#run(user, 'memory_patch', {
        path: 'user/log.md',
        append: { text: `- ${new Date(time).toISOString().slice(0, 16)}: ${question}` },
        reason: 'The agent keeps a log of what was asked.',
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
    if (slip === 3) {
      await this.#run(user, 'memory_remember', { text: 'Prefers the train to the plane.' });
    }
    if (slip === 2) {
      await this.#run(user, 'memory_patch', {
        path: 'user/preferences.md',
        edits: [{ oldText: 'a line that was reworded since', newText: 'the new one' }],
      });
    }
  }

  /** Tidying in the quiet hours, as dreaming does it. */
  async #night(user: DemoUser): Promise<void> {
    const night = user.nights.shift();
    if (night === undefined) return;
    await this.#run(user, 'memory_read', { path: `user/${night.path}` }, 'dream-agent');
    await this.#run(
      user,
      'memory_patch',
      {
        path: `user/${night.path}`,
        edits: [{ oldText: night.before, newText: night.after }],
        reason: night.reason,
      },
      'dream-agent',
    );
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
    await this.#core.files.put(
      path,
      { content, reason },
      {
        address: '127.0.0.1',
        traceId: randomBytes(16).toString('hex'),
      },
    );
  }

  async #run(
    { userId, actor }: DemoUser,
    tool: string,
    args: object,
    reserved: 'dream-agent' | null = null,
  ): Promise<void> {
    this.calls += 1;
    const request = { context: { userId, actor }, arguments: args };
    try {
      await this.#core.tools.executeAs(tool, request, reserved);
    } catch (error) {
      // Refusals belong to the story: they are what the console helps to find.
      const isStory = error instanceof MemoryError && error.code === 'MODEL_NOT_CONFIGURED';
      if (isStory) return;
      if (!(error instanceof MemoryError) || error.status >= 500) throw error;
    }
  }

  /** What is learned comes bit by bit, over all of the weeks. */
  #dueFact(user: DemoUser, day: number): DemoUser['facts'][number] | undefined {
    const told = this.#told.get(user.userId) ?? 0;
    if (day < 1 + ((told + 0.5) * DAYS) / user.facts.length) return undefined;
    this.#told.set(user.userId, told + 1);
    return user.facts[told];
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
