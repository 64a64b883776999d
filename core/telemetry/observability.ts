import type {
  ActivitySeries,
  AdminFailure,
  AdminListedEvent,
  CountedQuery,
  EventListQuery,
  EventValuesQuery,
  FailureListQuery,
  HygieneQuery,
  HygieneReport,
  Influence,
  InfluenceQuery,
  LatencySeries,
  ListAnswer,
  ObservabilitySummary,
  RangeQuery,
  SeriesQuery,
  TopFiles,
  TopFilesQuery,
  Topology,
  Usage,
  UsageQuery,
  UserHygiene,
  UserHygieneQuery,
  ValueCounts,
} from '../contracts/admin.ts';
import type { Settings } from '../config/settings.ts';
import type { Storage } from '../contracts/storage.ts';
import { invalidField } from '../errors.ts';
import { answerList } from '../lists/page.ts';
import type { Revisions } from '../history/revisions.ts';
import type { AccessQueue } from './access-queue.ts';
import { readTopFiles, readTopology } from './rollups/accesses.ts';
import { countEventValues, listEvents, listFailures } from './events/event-lists.ts';
import type { Screening } from '../screening/screening.ts';
import { isTimeZone } from '../time/time-zone.ts';
import { createHygieneCheck } from './hygiene/check.ts';
import { checkOwners } from './hygiene/check-users.ts';
import { readInfluence } from './influence.ts';
import { observationsOf } from './events/observation-store.ts';
import { chooseBucket, parseRange, type Range } from './rollups/range.ts';
import { readActivity, readLatency, type SeriesOptions } from './rollups/series.ts';
import { readSummary } from './rollups/summary.ts';
import { readUsage } from './usage.ts';

/** The default length of the list of most accessed files. */
const TOP_FILES = 20;

/** The dashboard's data. Every answer includes what this instance has queued. */
export interface Observability {
  summary(query: RangeQuery): Promise<ObservabilitySummary>;
  activity(query: SeriesQuery): Promise<ActivitySeries>;
  latency(query: SeriesQuery): Promise<LatencySeries>;
  topology(query: CountedQuery): Promise<Topology>;
  topFiles(query: TopFilesQuery): Promise<TopFiles>;
  failures(query: FailureListQuery): Promise<ListAnswer<AdminFailure>>;
  events(query: EventListQuery): Promise<ListAnswer<AdminListedEvent>>;
  /** Counts the values that the filters of events could have. */
  eventValues(query: EventValuesQuery): Promise<ValueCounts>;
  influence(query: InfluenceQuery): Promise<Influence>;
  usage(query: UsageQuery): Promise<Usage>;
  hygiene(query: HygieneQuery): Promise<HygieneReport>;
  /** Counts the findings in the memory of each user, or of each space. */
  hygieneOf(owners: 'users' | 'spaces', query: UserHygieneQuery): Promise<ListAnswer<UserHygiene>>;
}

interface ObservabilityDependencies {
  storage: Storage;
  revisions: Pick<Revisions, 'contentAt' | 'contents' | 'textAt'>;
  queue: AccessQueue;
  sla: Settings['sla'];
  screening: Pick<Screening, 'find'>;
  timeZone: string;
  now: () => number;
}

/** Makes the reads of the dashboard. */
export function createObservability(deps: ObservabilityDependencies): Observability {
  const { storage, queue, sla, now } = deps;
  const store = observationsOf(storage);

  /** Parses first, so that a bad query costs no database access. */
  async function parsed(query: RangeQuery) {
    const range = parseRange(query, now());
    await queue.flush();
    return range;
  }

  const flushed =
    <Query, Answer>(read: (query: Query) => Promise<Answer>) =>
    async (query: Query) => {
      await queue.flush();
      return await read(query);
    };

  const checkHygiene = createHygieneCheck(deps);
  return {
    summary: async (query) => readSummary(store, await parsed(query), { sla }),
    async activity(query) {
      const range = await parsed(query);
      return readActivity(store, range, toBuckets(range, query));
    },
    async latency(query) {
      const range = await parsed(query);
      return readLatency(store, range, toBuckets(range, query));
    },
    async topology(query) {
      return readTopology(store, await parsed(query), { isComplete: query.complete });
    },
    async topFiles(query) {
      const { limit = TOP_FILES, complete } = query;
      return readTopFiles(store, await parsed(query), { limit, isComplete: complete });
    },
    failures: flushed((query) => listFailures(store, query, { slowCallMs: sla.slowCallMs })),
    events: flushed((query) => listEvents(store, query)),
    eventValues: flushed((query) => countEventValues(store, query)),
    async usage(query) {
      const { revisions, keys } = storage;
      const range = await parsed(query);
      return readUsage({ store, revisions, keys }, range, { isComplete: query.complete });
    },
    influence: flushed((query) => readInfluence(deps, query)),
    hygiene: flushed(checkHygiene),
    async hygieneOf(of, query) {
      await queue.flush();
      return await answerList(query, {
        list: `${of}-hygiene`,
        sort: of === 'users' ? 'userId' : 'spaceId',
        defaultOrder: 'asc',
        read: (page) =>
          checkOwners({ storage, checkHygiene }, { of, contains: query.q ?? null }, page),
        toItem: ({ at: _at, findings: _findings, omitted: _omitted, ...counted }) => counted,
      });
    },
  };
}

/** Throws `INVALID_REQUEST` for a time zone that is none, and for too many points. */
function toBuckets(range: Range, query: SeriesQuery): SeriesOptions {
  const { bucket, timeZone = null } = query;
  if (timeZone !== null && !isTimeZone(timeZone)) {
    throw invalidField('/timeZone', 'must be a time zone like Europe/Berlin', 'timeZone');
  }
  return { bucket: chooseBucket(range, bucket), timeZone };
}
