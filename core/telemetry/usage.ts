import type { Usage } from '../contracts/admin.ts';
import type { EventRecord, SpanRecord } from '../contracts/records.ts';
import type { ObservationStore, PageRequest } from '../contracts/storage.ts';
import { toOwner } from '../files/paths.ts';
import { PAGE_LIMITS } from '../lists/page.ts';
import { createPause } from '../time/pause.ts';
import { toTime } from '../time/time.ts';
import { activityOf, outcomeOf } from './events/outcome.ts';
import type { Range } from './rollups/range.ts';

/** The most events of one answer, unless all are asked for. */
const MOST_EVENTS = 10_000;
const OWNERS_TOLD = 200;

type Figures = Usage['totals'];

/** Counts calls and tokens by owner, key, actor and model, from the newest event on. */
export async function readUsage(
  store: ObservationStore,
  { since, until, countUntil }: Range,
  {
    isComplete = false,
    mostEvents = MOST_EVENTS,
  }: { isComplete?: boolean | undefined; mostEvents?: number } = {},
): Promise<Usage> {
  const totals = noFigures();
  const owners = new Map<string, Usage['owners'][number]>();
  const keys = new Map<string, Usage['keys'][number]>();
  const actors = new Map<string, Usage['actors'][number]>();
  const models = new Map<string, Usage['models'][number]>();
  const count = (event: EventRecord): void => {
    const { scope, key, actor } = event;
    const owner = entryOf(owners, scope, () => ({ ...toOwner(scope), ...noFigures() }));
    const ofKey = entryOf(keys, key ?? '', () => ({ key, ...noFigures() }));
    const ofActor = entryOf(actors, actor, () => ({ actor, ...noFigures() }));
    const activity = outcomeOf(event) === 'ok' ? activityOf(event.tool) : null;
    const tokens = { input: 0, output: 0 };
    for (const span of event.spans) {
      const used = countSpan(models, span);
      tokens.input += used.input;
      tokens.output += used.output;
    }
    for (const figures of [totals, owner, ofKey, ofActor]) {
      figures.calls += 1;
      if (activity !== null) figures[activity] += 1;
      figures.inputTokens += tokens.input;
      figures.outputTokens += tokens.output;
    }
  };

  const pause = createPause();
  let countedFrom: number | null = null;
  let page: PageRequest = { limit: PAGE_LIMITS.max, order: 'desc', after: null };
  for (let events = 0; ;) {
    const { items, next } = await store.listEvents({ since, until: countUntil }, page);
    for (const event of items) {
      count(event);
      await pause();
    }
    events += items.length;
    if (next === null) break;
    if (!isComplete && events >= mostEvents) {
      countedFrom = items.at(-1)?.startedAt ?? since;
      break;
    }
    page = { ...page, after: next };
  }
  const byWrites = [...owners.values()].sort(
    (one, other) => other.writes - one.writes || other.calls - one.calls,
  );
  const byCalls = <T extends { calls: number }>(map: ReadonlyMap<string, T>) =>
    [...map.values()].sort((one, other) => other.calls - one.calls);
  return {
    since: toTime(since),
    until: toTime(until),
    countedFrom: countedFrom === null ? null : toTime(countedFrom),
    totals,
    owners: byWrites.slice(0, OWNERS_TOLD),
    keys: byCalls(keys),
    actors: byCalls(actors),
    models: byCalls(models),
    others: Math.max(0, byWrites.length - OWNERS_TOLD),
  };
}

function countSpan(
  models: Map<string, Usage['models'][number]>,
  { kind, attributes }: SpanRecord,
): { input: number; output: number } {
  const { provider, model, inputTokens, outputTokens } = attributes;
  if ((kind !== 'llm' && kind !== 'embedding') || typeof model !== 'string')
    return { input: 0, output: 0 };
  const used = { input: toCount(inputTokens), output: toCount(outputTokens) };
  const name = typeof provider === 'string' ? provider : '';
  const entry = entryOf(models, `${kind} ${name} ${model}`, () => ({
    provider: name,
    model,
    kind,
    calls: 0,
    inputTokens: 0,
    outputTokens: 0,
  }));
  entry.calls += 1;
  entry.inputTokens += used.input;
  entry.outputTokens += used.output;
  return used;
}

function entryOf<T>(map: Map<string, T>, key: string, make: () => T): T {
  let entry = map.get(key);
  if (entry === undefined) map.set(key, (entry = make()));
  return entry;
}

function noFigures(): Figures {
  return { calls: 0, writes: 0, reads: 0, finds: 0, inputTokens: 0, outputTokens: 0 };
}

function toCount(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0;
}
