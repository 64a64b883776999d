import type { Usage } from '../contracts/admin.ts';
import type { EventRecord, RevisionRecord, ScopeKey, SpanRecord } from '../contracts/records.ts';
import type { ObservationStore, PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { toOwner } from '../files/paths.ts';
import { PAGE_LIMITS } from '../lists/page.ts';
import { createPause } from '../time/pause.ts';
import { toTime } from '../time/time.ts';
import { activityOf, outcomeOf } from './events/outcome.ts';
import type { Range } from './rollups/range.ts';

/** The most events, and the most writes, of one answer, unless all are asked for. */
const MOST_COUNTED = 10_000;
const OWNERS_TOLD = 200;

type Figures = Usage['totals'];

/** Where usage is counted from. */
interface Sources {
  store: ObservationStore;
  revisions: Pick<Storage['revisions'], 'list'>;
  keys: Storage['keys'];
}

/**
 * Counts calls, tokens and writes by owner, key, actor and model, from the newest on. It counts the writes in the
 * history: dreams, operators and imports write without a tool call.
 */
export async function readUsage(
  { store, revisions, keys: known }: Sources,
  { since, until, countUntil }: Range,
  {
    isComplete = false,
    most = MOST_COUNTED,
  }: { isComplete?: boolean | undefined; most?: number } = {},
): Promise<Usage> {
  const totals = noFigures();
  const owners = new Map<string, Usage['owners'][number]>();
  const keys = new Map<string, Usage['keys'][number]>();
  const actors = new Map<string, Usage['actors'][number]>();
  const models = new Map<string, Usage['models'][number]>();
  const figuresOf = ({
    scope,
    key,
    actor,
  }: {
    scope: ScopeKey;
    key: string | null;
    actor: string;
  }) => [
    totals,
    entryOf(owners, scope, () => ({ ...toOwner(scope), ...noFigures() })),
    entryOf(keys, key ?? '', () => ({ key, ...noFigures() })),
    entryOf(actors, actor, () => ({ actor, ...noFigures() })),
  ];
  const countEvent = (event: EventRecord): void => {
    const activity = outcomeOf(event) === 'ok' ? activityOf(event.tool) : null;
    const tokens = { input: 0, output: 0 };
    for (const span of event.spans) {
      const used = countSpan(models, span);
      tokens.input += used.input;
      tokens.output += used.output;
    }
    for (const figures of figuresOf(event)) {
      figures.calls += 1;
      if (activity === 'reads' || activity === 'finds') figures[activity] += 1;
      figures.inputTokens += tokens.input;
      figures.outputTokens += tokens.output;
    }
  };
  const names = new Map((await known.look(null)).keys?.map(({ id, name }) => [id, name]));
  const countRevision = ({ scope, actor, keyId }: RevisionRecord): void => {
    const key = keyId === null ? null : (names.get(keyId) ?? keyId);
    for (const figures of figuresOf({ scope, actor, key })) figures.writes += 1;
  };

  const range = { since, until: countUntil };
  const limit = isComplete ? Infinity : most;
  const ends = [
    await countAll((page) => store.listEvents(range, page), countEvent, limit),
    await countAll((page) => revisions.list(range, page), countRevision, limit),
  ].flatMap((last) => (last === null ? [] : 'at' in last ? last.at : last.startedAt));
  const countedFrom = ends.length === 0 ? null : Math.max(...ends);
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

/** Counts the newest rows; gives the last one that was counted where older ones are left. */
async function countAll<Row>(
  list: (page: PageRequest) => Promise<PageResult<Row>>,
  count: (row: Row) => void,
  most: number,
): Promise<Row | null> {
  const pause = createPause();
  let page: PageRequest = { limit: PAGE_LIMITS.max, order: 'desc', after: null };
  for (let counted = 0; ;) {
    const { items, next } = await list(page);
    for (const row of items) {
      count(row);
      await pause();
    }
    counted += items.length;
    if (next === null) return null;
    if (counted >= most) return items.at(-1) ?? null;
    page = { ...page, after: next };
  }
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
