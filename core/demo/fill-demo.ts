import { Readable } from 'node:stream';
import { randomBytes } from 'node:crypto';
import type { Plugin } from '../contracts/plugin.ts';
import type { RouteRequest } from '../contracts/route.ts';
import { type Core, type CoreConfig, createCore } from '../service.ts';
import { MemoryError } from '../errors.ts';
import { type Demo, type DemoAction, type DemoFact, type DemoUser, readDemo } from './demo-data.ts';
import { type DemoModel, demoModel, toSaid } from './demo-model.ts';
import { toUserPath } from '../files/paths.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Fills an empty database with the memory of a made-up team: weeks of reads, writes, searches,
 * failures, corrections and dreams. The story is data (`examples/demo/README.md`); everything in it
 * goes through the tools and the admin's write path, with a clock that ends at `until`
 * (milliseconds since 1970). Returns the number of tool calls: 0 if there is memory already.
 *
 * Closes the storage and plugins in `config`. Calls no model, embedder or exporter of `config`.
 */
export async function fillDemo(config: CoreConfig, until: number): Promise<number> {
  const demo = await readDemo();
  let at = until - demo.days * DAY_MS;
  const model = demoModel(demo.users);
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
    const canDream = core.pluginRoutes.some(({ path }) => path === RUNS);
    const plugin = config.plugins?.find(({ name }) => canDream && name === 'dreaming') ?? null;
    const dreaming = plugin as (Plugin & Dreaming) | null;
    const story = new Story({ demo, core, model, dreaming }, (time) => {
      at = Math.max(at, Math.min(time, until));
    });
    await story.play(until);
    return story.calls;
  } finally {
    await core.close();
  }
}

/** The parts of the dreaming plugin that the story needs beside its routes. */
interface Dreaming {
  /** Starts runs for the users who are due, and waits until they have ended. */
  tick(): Promise<unknown>;
  /** Waits until runs that were started by hand have ended. */
  settle(): Promise<void>;
}

interface DreamRun {
  id: string;
  userId: string;
  state: string;
  outcome: string | null;
  filesTouched: number;
  operations: { number: number; status: string }[];
}

const RUNS = '/v1/admin/dream/runs';

interface Parts {
  demo: Demo;
  core: Core;
  model: DemoModel;
  /** `null` if dreaming is not available. */
  dreaming: Dreaming | null;
}

class Story {
  calls = 0;
  readonly #parts: Parts;
  readonly #moveTo: (time: number) => void;
  /** How many of each user's undated facts were learned so far. */
  readonly #learned = new Map<DemoUser, number>();
  #seed: number;

  constructor(parts: Parts, moveTo: (time: number) => void) {
    this.#parts = parts;
    this.#moveTo = moveTo;
    this.#seed = parts.demo.seed;
  }

  async play(until: number): Promise<void> {
    const { demo, core } = this.#parts;
    const begin = core.now();
    for (const { path, content, reason } of demo.shared) {
      await core.files.put(`shared/${path}`, { content, reason }, byOperator());
    }
    for (const [index, user] of demo.users.entries()) {
      this.#moveTo(begin + (index + 1) * 11 * MINUTE_MS);
      for (const { path, content, reason } of user.files) {
        await this.#call(user, 'memory_write', { path: toUserPath(path), content, reason });
      }
      await this.#call(user, 'memory_write', { path: 'user/log.md', content: '# Log\n\n' });
    }
    await this.#ask('PUT /v1/admin/dream/config', { body: { dream_enabled: false } });
    for (let day = 0; day <= demo.days; day += 1) {
      const midnight = Math.floor((until - (demo.days - day) * DAY_MS) / DAY_MS) * DAY_MS;
      await this.#day(day, midnight, until);
    }
    for (const { minutesBefore, ...action } of demo.end) {
      this.#moveTo(until - minutesBefore * MINUTE_MS);
      await this.#act(action);
    }
  }

  async #day(day: number, midnight: number, until: number): Promise<void> {
    const { demo } = this.#parts;
    const moments: { time: number; play: () => Promise<void> }[] = [];
    const add = (hour: number, play: () => Promise<void>) =>
      moments.push({ time: midnight + hour * HOUR_MS, play });
    // Today and yesterday always count as working days, because visitors look at them first.
    const isWeekend = day < demo.days - 1 && [0, 6].includes(new Date(midnight).getUTCDay());
    for (const user of demo.users) {
      const sessions = isWeekend ? this.#chance(2) : 1 + this.#chance(user.sessions);
      for (let session = 0; session < sessions; session += 1) {
        const time = midnight + (7 + this.#chance(12)) * HOUR_MS + this.#chance(HOUR_MS);
        moments.push({ time, play: () => this.#session(user, day, time) });
      }
    }
    for (const user of demo.users) {
      const facts = user.facts.filter(({ onDay }) => onDay === day);
      for (const fact of facts) add(12, () => this.#learn(user, fact));
    }
    for (const { day: onDay, hour, ...action } of demo.events) {
      if (onDay === day) add(hour, () => this.#act(action));
    }
    if (day >= demo.firstNight) add(3.2, () => this.#night(day));
    moments.sort((a, b) => a.time - b.time);
    for (const { time, play } of moments.filter((moment) => moment.time <= until)) {
      this.#moveTo(time);
      await play();
    }
  }

  /** An agent searches, reads, and notes what it learned; sometimes it makes a mistake. */
  async #session(user: DemoUser, day: number, time: number): Promise<void> {
    const question = this.#pick(user.questions);
    if (this.#chance(3) === 0) {
      await this.#call(user, 'memory_context', { query: question, maxChars: 4_000 });
    } else {
      await this.#call(user, 'memory_find', { query: question, limit: 5 });
    }
    this.#moveTo(time + 4_000);
    if (this.#chance(4) === 0) await this.#call(user, 'memory_list', { path: 'user/' });
    for (let read = this.#chance(3); read >= 0; read -= 1) {
      await this.#call(user, 'memory_read', { path: toUserPath(this.#pick(user.files).path) });
    }
    this.#moveTo(time + 21_000);
    const fact = this.#nextFact(user, day);
    if (fact !== undefined) await this.#learn(user, fact);
    if (this.#chance(14) === 0) {
      const line = `- ${new Date(time).toISOString().slice(0, 16)}: ${question}`;
      await this.#call(user, 'memory_patch', {
        path: 'user/log.md',
        append: { text: line },
        reason: `Asked: ${question}`,
      });
    }
    const slip = this.#parts.demo.slips[this.#chance(22)];
    if (slip !== undefined) await this.#call(user, slip.tool, slip.arguments);
  }

  /** Undated facts come one by one, spread evenly over the weeks. */
  #nextFact(user: DemoUser, day: number): DemoFact | undefined {
    const facts = user.facts.filter(({ onDay }) => onDay === undefined);
    const learned = this.#learned.get(user) ?? 0;
    if (day < 1 + ((learned + 0.5) * this.#parts.demo.days) / facts.length) return undefined;
    this.#learned.set(user, learned + 1);
    return facts[learned];
  }

  /** Either the user tells the service, or the agent patches the file. */
  async #learn(user: DemoUser, fact: DemoFact): Promise<void> {
    const { path, under, text, reason, isTold = false } = fact;
    if (isTold && (await this.#call(user, 'memory_remember', { text: toSaid(fact), reason })))
      return;
    const append = { text, ...(under === undefined ? {} : { afterHeading: under }) };
    await this.#call(user, 'memory_patch', { path: toUserPath(path), append, reason });
  }

  /** Dreams run at night; in the morning an operator reviews all proposals but the latest. */
  async #night(day: number): Promise<void> {
    const { demo, core, dreaming } = this.#parts;
    await dreaming?.tick();
    if (day >= demo.days - 1) return;
    const waiting = (await this.#runs()).filter(({ outcome }) => outcome === 'waiting');
    for (const run of waiting) {
      const operations = run.operations
        .filter(({ status }) => status === 'waiting')
        .map(({ number }) => number);
      const applied = demo.rejects.includes(run.userId) ? [] : operations.slice(0, 1);
      const rejected = operations.slice(applied.length);
      this.#moveTo(core.now() + 40 * MINUTE_MS);
      if (applied.length > 0) await this.#decide(run, 'apply', { operations: applied });
      if (rejected.length > 0) await this.#decide(run, 'reject', { operations: rejected });
    }
  }

  async #act({ call, ask, edit, revert, ...action }: DemoAction): Promise<void> {
    const { demo, core, model, dreaming } = this.#parts;
    Object.assign(model, action.model);
    if (call !== undefined) {
      const user = demo.users.find(({ userId }) => userId === call.user);
      await this.#call(user ?? { userId: call.user, actor: 'agent' }, call.tool, call.arguments);
    }
    if (ask !== undefined) {
      await this.#ask(ask.route, ask);
      await dreaming?.settle();
    }
    if (edit !== undefined) {
      const { file } = await core.fileLists.file(edit.path, {});
      const content = file.content.replace(edit.oldText, edit.newText);
      await core.files.put(edit.path, { content, reason: edit.reason }, byOperator());
    }
    if (revert !== undefined) {
      const { items } = await core.revisions.list({ path: revert.path, limit: 5 });
      const wrong = items.find(({ reason }) => reason === revert.reason);
      if (wrong !== undefined) await core.revisions.revert(wrong.id, {}, byOperator());
    }
    if (action.revertDream === true) {
      const isApplied = (run: DreamRun) => run.outcome === 'applied' && run.filesTouched > 0;
      const run = (await this.#runs()).find(isApplied);
      if (run !== undefined) await this.#decide(run, 'revert');
    }
  }

  /** Calls a tool as a user's agent; returns whether it succeeded. */
  async #call(
    { userId, actor }: Pick<DemoUser, 'userId' | 'actor'>,
    tool: string,
    args: object,
  ): Promise<boolean> {
    this.calls += 1;
    const request = { context: { userId, actor }, arguments: args };
    const answer = await orRefused(this.#parts.core.tools.execute(tool, request));
    return answer !== null;
  }

  /**
   * Calls a plugin's route (`PUT /v1/admin/dream/config`) as an operator does, if the route exists.
   */
  async #ask(
    name: string,
    { params = {}, body = {} }: Partial<Pick<RouteRequest, 'params' | 'body'>> = {},
  ): Promise<unknown> {
    const { pluginRoutes } = this.#parts.core;
    const route = pluginRoutes.find(({ method, path }) => `${method} ${path}` === name);
    if (route === undefined) return null;
    const request: RouteRequest = {
      ...byOperator(),
      params,
      body,
      query: {},
      target: '/',
      stream: Readable.from([]),
      header: () => null,
      userId: null,
      apiKey: null,
      operator: null,
      caller: byOperator(),
      arrivedAt: performance.now(),
      signal: new AbortController().signal,
      setStatus: () => undefined,
      setHeader: () => undefined,
    };
    return orRefused(Promise.resolve(route.handle(request)));
  }

  async #decide({ id }: DreamRun, verb: 'apply' | 'reject' | 'revert', body = {}): Promise<void> {
    await this.#ask(`POST ${RUNS}/:id/${verb}`, { params: { id }, body });
  }

  /** Newest first. */
  async #runs(): Promise<DreamRun[]> {
    const list = (await this.#ask(`GET ${RUNS}`)) as { items: { id: string }[] } | null;
    const details = list?.items.map(({ id }) => this.#ask(`GET ${RUNS}/:id`, { params: { id } }));
    return (await Promise.all(details ?? [])) as DreamRun[];
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#chance(items.length)] as T;
  }

  /** A whole number from 0 to `below` - 1, from mulberry32, so that every demo is the same. */
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

/**
 * Returns `null` when the service refuses a call or the provider fails: both belong to the story.
 */
async function orRefused<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof MemoryError && (error.status < 500 || error.status === 502)) return null;
    throw error;
  }
}
