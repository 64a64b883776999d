import { createPause } from '../../time/pause.ts';
import { toVirtualPath } from '../../files/paths.ts';
import { toLocalDay } from '../../time/time.ts';
import { cutMiddle } from '../rank/query.ts';
import type { Hit, SearchRequest } from '../search.ts';
import { type LineTimes, newestOf } from './line-times.ts';
import { isOfTime, type QuestionTime, readQuestionTime } from './question-time.ts';

/** What a find asks of time. */
export interface TimeRequest {
  /** In milliseconds; `since` is inclusive, `until` exclusive. */
  since: number | null;
  until: number | null;
  isNewestFirst: boolean;
  /** The expressions of time in the question. */
  question: QuestionTime | null;
  timeZone: string;
}

/** A hit with the time of the newest line of its passage, in milliseconds. */
export type TimedHit = Hit & { at: number };

/** Passages that a range of time is looked for in, the best ones. */
const FILTERED = 500;
/** Hits that the newest are taken from, the best ones, and those that an expression of time sorts. */
const SORTED = 100;
/** A passage of the time that is asked for scores this much more. */
const BOOST = 0.3;

/** What a find asks of time; `null` for nothing, and then it is the same find as ever. */
export function toTimeRequest(
  args: { query: string; since: number | null; until: number | null; sort: string | undefined },
  { now, timeZone }: { now: number; timeZone: string },
): TimeRequest | null {
  const { query, since, until, sort } = args;
  const isNewestFirst = sort === 'newest';
  const question = readQuestionTime(cutMiddle(query), toLocalDay(now, timeZone));
  if (since === null && until === null && !isNewestFirst && question === null) return null;
  return { since, until, isNewestFirst, question, timeZone };
}

/** The request that has enough hits for {@link orderByTime} to choose from. */
export function widenRequest(request: SearchRequest, time: TimeRequest): SearchRequest {
  const isFiltered = time.since !== null || time.until !== null;
  // Of a file, another passage than the best one may be of that time.
  if (isFiltered) return { ...request, group: 'passage', limit: FILTERED };
  return { ...request, limit: Math.max(request.limit, SORTED) };
}

/** The hits of the time that is asked for, in its order; at most as many as were asked for. */
export async function orderByTime(
  hits: readonly Hit[],
  { limit, group }: Pick<SearchRequest, 'limit' | 'group'>,
  { time, lineTimes }: { time: TimeRequest; lineTimes: LineTimes },
): Promise<TimedHit[]> {
  const { since, until, isNewestFirst, question } = time;
  let timed: TimedHit[] = [];
  const pause = createPause();
  for (const hit of hits) {
    await pause();
    // No line is newer than its file.
    if (since !== null && hit.file.updatedAt < since) continue;
    const { startLine = 1, endLine = 1 } = hit.passages[hit.passage] ?? {};
    const times = await lineTimes(hit.file);
    const own = times.slice(startLine - 1, endLine);
    const isWithin = (at: number) =>
      (since === null || at >= since) && (until === null || at < until);
    if ((since !== null || until !== null) && !own.some(isWithin)) continue;
    timed.push({ ...hit, at: newestOf(times, startLine, endLine) });
  }
  if (question !== null && !isNewestFirst) timed = boost(timed, question, time.timeZone);
  if (isNewestFirst) timed.sort((a, b) => b.at - a.at);
  const seen = new Set<string>();
  const isFirst = ({ file }: Hit) => {
    const path = toVirtualPath(file);
    return !seen.has(path) && seen.add(path) !== undefined;
  };
  return (group === 'file' ? timed.filter(isFirst) : timed).slice(0, limit);
}

/** Raises passages of the question's time. The order of equal scores stays. */
function boost(hits: readonly TimedHit[], question: QuestionTime, timeZone: string): TimedHit[] {
  const ages = [...new Set(hits.map(({ at }) => at))].sort((a, b) => a - b);
  const boosted = hits.map((hit) => {
    const { file, passages, passage, at, score, explain } = hit;
    const { start = 0, end = 0, heading = null } = passages[passage] ?? {};
    const text = `${file.path}\n${heading ?? ''}\n${file.content.slice(start, end)}`;
    const recency = question.isLatest && ages.length > 1 ? ages.indexOf(at) / (ages.length - 1) : 0;
    const isMeant = question.dates.size > 0 && isOfTime(question, { text, at, timeZone });
    const factor = 1 + BOOST * Math.max(recency, isMeant ? 1 : 0);
    return {
      ...hit,
      score: score * factor,
      explain: async () => ({ ...(await explain()), time: factor }),
    };
  });
  return boosted.sort((a, b) => b.score - a.score);
}
