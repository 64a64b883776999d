import type { FileKey, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { homeOf, parsePhysicalPath, SHARED, toOwner } from '../files/paths.ts';
import type { Revisions } from '../history/revisions.ts';
import type { AdminCheckBisect } from '../schemas/checks.ts';
import { toTime } from '../time/time.ts';
import { type Check, scopeOf } from './check.ts';
import type { CheckedMemory } from './checked-memory.ts';
import { runChecks } from './run-checks.ts';

/** Writes that are looked back at, the newest, of one memory. */
const MOST_WRITES = 2_000;
/** Writes that are read at once. */
const PAGE = 500;
/** Moments at which the check is tried. */
const MOST_TRIES = 40;
/** Time after which the search gives up. */
const LIMIT_MS = 60_000;
/** Writes of one moment that an answer lists. */
const LISTED = 50;

/** What looking for the write that made a check fail works with. */
export interface BisectDependencies {
  storage: Pick<Storage, 'revisions'>;
  revisions: Pick<Revisions, 'memoryAt' | 'fileAt' | 'list'>;
  find: CheckedMemory['find'];
  context: CheckedMemory['context'];
  timeZone: string;
  now: () => number;
}

/** How a check ended at a moment; `gone` where the history of that time is. */
type State = 'green' | 'red' | 'gone';

/**
 * Looks for the write that made a check fail: it tries the check on memory as it stood after earlier writes, by
 * words alone, first further and further back until it passed, then halfway between.
 *
 * @param places where it fails now: a check about several memories is followed in the first of them.
 */
export async function bisect(
  deps: BisectDependencies,
  check: Check,
  places: readonly { path: string }[],
): Promise<AdminCheckBisect> {
  const { name, rule } = check;
  const nothing = { name, path: null, revisions: [], before: null, at: null, tries: 0 };
  const home = scopeOf(check) ?? toFirstScope(places);
  if (home === null) {
    return { ...nothing, outcome: 'unknown', why: 'The check names no memory to look at.' };
  }
  if (rule.kind === 'hygiene') {
    const why = 'What hygiene finds is not known of earlier moments.';
    return { ...nothing, path: homeOf(home), outcome: 'unknown', why };
  }
  const scopes: ScopeKey[] = rule.kind === 'ask' && home !== SHARED ? [home, SHARED] : [home];
  const search = new Search(deps, check, home);
  const answer = await search.run(await listMoments(deps.storage, scopes));
  const found = answer.at === null ? [] : await listWrites(deps.revisions, scopes, answer.at);
  const { at, before, ...rest } = answer;
  return {
    ...nothing,
    ...rest,
    path: homeOf(home),
    at: at === null ? null : toTime(at),
    before: before === null ? null : toTime(before),
    revisions: found,
    tries: search.tries,
  };
}

/** The memory of the first place that a result names. */
function toFirstScope([first]: readonly { path: string }[]): ScopeKey | null {
  if (first === undefined) return null;
  const { path } = first;
  return parsePhysicalPath(path.endsWith('/') ? `${path}-` : path).scope;
}

interface Found extends Pick<AdminCheckBisect, 'outcome' | 'why'> {
  /** Of the write that made it fail, and of the one before, after which it passed. */
  at: number | null;
  before: number | null;
}

class Search {
  readonly #deps: BisectDependencies;
  readonly #check: Check;
  readonly #home: ScopeKey;
  readonly #until: number;
  tries = 0;

  constructor(deps: BisectDependencies, check: Check, home: ScopeKey) {
    this.#deps = deps;
    this.#check = check;
    this.#home = home;
    this.#until = performance.now() + LIMIT_MS;
  }

  /** `moments` are those of writes, newest first. */
  async run(moments: readonly number[]): Promise<Found> {
    const unknown = (why: string): Found => ({ outcome: 'unknown', why, at: null, before: null });
    try {
      if ((await this.#stateAt(this.#deps.now())) !== 'red') {
        return this.#check.rule.kind === 'ask'
          ? unknown('By words alone it passes now: earlier moments have no search by meaning.')
          : { ...unknown('It passes now in this memory.'), outcome: 'passes' };
      }
      const [newest] = moments;
      if (newest === undefined) return unknown('No write of this memory is kept.');
      if ((await this.#stateAt(newest)) === 'green') {
        const why = 'No write made it fail: what it looks for has expired since.';
        return { outcome: 'time', why, at: null, before: newest };
      }
      return await this.#narrow(moments);
    } catch (error) {
      if (error instanceof TooLong) {
        return unknown('The search took too long: the memory or its history is too large.');
      }
      if (error instanceof MemoryError && error.code === 'WORK_LIMIT_EXCEEDED') {
        return unknown(error.message);
      }
      throw error;
    }
  }

  async #narrow(moments: readonly number[]): Promise<Found> {
    // Doubles the distance at each step, until it finds a moment at which the check passed.
    let red = 0;
    let green: number;
    for (let step = 1; ; step *= 2) {
      green = Math.min(red + step, moments.length - 1);
      if (green === red) return this.#neverPassed(moments);
      const state = await this.#stateAt(moments[green] as number);
      if (state === 'gone') {
        return {
          outcome: 'unknown',
          why: `It failed already at ${toTime(moments[red] as number)}, and the history before is gone.`,
          at: null,
          before: null,
        };
      }
      if (state === 'green') break;
      red = green;
    }
    while (green - red > 1) {
      const middle = Math.floor((red + green) / 2);
      const state = await this.#stateAt(moments[middle] as number);
      if (state === 'gone') {
        const [passed, failed] = [green, red].map((place) => toTime(moments[place] as number));
        const why = `It passed at ${passed} and failed at ${failed}: the history between is gone.`;
        return { outcome: 'unknown', why, at: null, before: null };
      }
      if (state === 'green') green = middle;
      else red = middle;
    }
    const [at, before] = [moments[red] as number, moments[green] as number];
    return {
      outcome: 'found',
      why: 'It passed before this write, and failed after it.',
      at,
      before,
    };
  }

  /** Before the first write there was nothing, which may be what it asks for. */
  async #neverPassed(moments: readonly number[]): Promise<Found> {
    const oldest = moments.at(-1) as number;
    if (moments.length < MOST_WRITES && (await this.#stateAt(oldest - 1)) === 'green') {
      const why = 'It passed before this write, and failed after it.';
      return { outcome: 'found', why, at: oldest, before: oldest - 1 };
    }
    const why = `It has failed as far back as the history goes, to ${toTime(oldest)}.`;
    return { outcome: 'unknown', why, at: null, before: null };
  }

  async #stateAt(at: number): Promise<State> {
    this.tries += 1;
    if (this.tries > MOST_TRIES || performance.now() > this.#until) throw new TooLong();
    const memory = pastMemory(this.#deps, at);
    const { timeZone } = this.#deps;
    const { results } = await runChecks({ memory, timeZone, now: () => at }, [this.#check], {
      scopes: [this.#home],
    });
    if (memory.isPartial()) return 'gone';
    return results[0]?.passed === true ? 'green' : 'red';
  }
}

/** Thrown where the search needs too many tries or too much time. */
class TooLong extends Error {}

/** Memory as it stood at a moment. */
function pastMemory(
  { revisions, find, context }: BisectDependencies,
  at: number,
): CheckedMemory & { isPartial(): boolean } {
  let isPartial = false;
  const asOf = toTime(at);
  return {
    async *pages(scope) {
      if (scope === null) throw new MemoryError('INTERNAL', 'Earlier memory is read by scope.');
      let after: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof revisions.memoryAt>> = await revisions.memoryAt(
          scope,
          { at, prefix: '', after },
        );
        if (page.files.some(({ state }) => state === 'pruned')) isPartial = true;
        const present = page.files.filter(({ state }) => state === 'present');
        yield present.map(({ file }): FileKey => ({ scope, path: file.path }));
        after = page.next;
      } while (after !== null);
    },
    async read(key) {
      try {
        const { content } = await revisions.fileAt(key, { at });
        return { content, size: Buffer.byteLength(content) };
      } catch (error) {
        if (!(error instanceof MemoryError) || error.code !== 'REVISION_NOT_FOUND') throw error;
        isPartial = true;
        return null;
      }
    },
    async find(args, call) {
      const answer = await find({ ...args, asOf }, call);
      if (answer.degraded !== undefined) isPartial = true;
      return answer;
    },
    context: (args, call) => context({ ...args, asOf }, call),
    hygiene: null,
    isPartial: () => isPartial,
  };
}

/** The moments of writes of some memories, newest first. */
async function listMoments(
  { revisions }: Pick<Storage, 'revisions'>,
  scopes: readonly ScopeKey[],
): Promise<number[]> {
  const moments = new Set<number>();
  for (const scope of scopes) {
    let after: readonly (string | number)[] | null = null;
    let read = 0;
    do {
      const page = { limit: PAGE, order: 'desc' as const, after };
      const { items, next }: Awaited<ReturnType<typeof revisions.list>> = await revisions.list(
        { scope },
        page,
      );
      for (const { at } of items) moments.add(at);
      read += items.length;
      after = read < MOST_WRITES ? next : null;
    } while (after !== null);
  }
  return [...moments].sort((one, other) => other - one).slice(0, MOST_WRITES);
}

/** The writes of a moment. */
async function listWrites(
  revisions: Pick<Revisions, 'list'>,
  scopes: readonly ScopeKey[],
  at: number,
): Promise<AdminCheckBisect['revisions']> {
  const range = { since: toTime(at), until: toTime(at + 1), limit: LISTED };
  const lists = scopes.map((scope) => {
    const { userId, spaceId } = toOwner(scope);
    if (userId !== null) return revisions.list({ userId, ...range });
    return revisions.list(spaceId === null ? { shared: true, ...range } : { spaceId, ...range });
  });
  return (await Promise.all(lists)).flatMap(({ items }) => items);
}
