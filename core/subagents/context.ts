import type { ContextService, ToolCall } from '../contracts/tool.ts';
import { createFence } from '../edits/fence.ts';
import { toVirtualPath } from '../files/paths.ts';
import { type FindDependencies, logShown, type ShownLines } from '../search/find.ts';
import type { Hit } from '../search/search.ts';
import { newestOf } from '../search/time/line-times.ts';
import { toLineRanges } from '../telemetry/shown-lines.ts';
import { parseAsOf } from '../search/time/memory-at.ts';
import { toTime } from '../time.ts';
import { gather, search } from './context/gather.ts';
import { findAlways, withoutAlways } from './context/always.ts';
import { assemble, isSameFile, measureRanges, printRanges, type Range } from './context/print.ts';
import { type SelectDependencies, selectLines } from './context/select-lines.ts';
import type { Model } from './model.ts';

/** What gathering context works with. */
export interface ContextDependencies extends SelectDependencies {
  search: FindDependencies;
  /** `null` when no model is configured. */
  model: Model | null;
}

const DEFAULT_CHARS = 8_000;

/**
 * `memory_context`: lines of memory as they stand, each with its source. With a model, these are the
 * lines that it selects of what the question and the searches that it plans find; without one, or when
 * it fails (`degraded` says why), the passages that find gathers. Before them stand the files that are in
 * each context.
 */
export function createContext(deps: ContextDependencies): ContextService {
  return {
    async context({ query, maxChars = DEFAULT_CHARS, asOf, model: asksModel = true }, call) {
      const at = asOf === undefined ? null : parseAsOf(asOf, deps.now());
      const always = await withTimes(
        await findAlways(deps.search, { maxChars, at }, call),
        deps.lineTimes,
      );
      const room = always.length === 0 ? maxChars : maxChars - measureRanges(always);
      const { hits: found, degraded } = await gather(deps.search, query, { call, at });
      const hits = withoutAlways(found, always);
      const selection =
        deps.model === null || !asksModel || at !== null
          ? null
          : await selectLines(
              deps,
              {
                ...{ model: deps.model, query, maxChars: room, own: hits },
                search: async (text) =>
                  withoutAlways(await search(deps.search, text, call), always),
              },
              call,
            );
      const isSelected = selection !== null && 'ranges' in selection;
      const chosen = isSelected
        ? selection.ranges
        : await withTimes(assemble(hits, room), deps.lineTimes);
      const ranges = [...always, ...chosen];
      // What a model was shown has been read, whether or not it selected it.
      const read = [
        ...toShown(always, always),
        ...toShown(hits, chosen),
        ...(selection?.shown ?? []),
      ];
      await logShown(deps.search, { shown: read, action: 'context' }, call);
      const failure = selection !== null && 'degraded' in selection ? [selection.degraded] : [];
      const why = [...failure, ...(degraded === null ? [] : [degraded])];
      return {
        context: await print(deps, ranges, call),
        stableChars: 0,
        sources: ranges.map(({ file, startLine, endLine, at }, index) => ({
          path: toVirtualPath(file),
          startLine,
          endLine,
          version: file.version,
          updatedAt: toTime(at),
          why: index < always.length ? 'always' : 'matched',
        })),
        mode: isSelected ? 'model' : 'find',
        ...(why.length === 0 ? {} : { degraded: why.join(' ') }),
      };
    },
  };
}

function withTimes(
  ranges: readonly Range[],
  lineTimes: ContextDependencies['lineTimes'],
): Promise<Range[]> {
  return Promise.all(
    ranges.map(async (range) => {
      const times = await lineTimes(range.file);
      return { ...range, at: newestOf(times, range.startLine, range.endLine) };
    }),
  );
}

/** The ranges with the lines of their headings, in the order of these files. */
function toShown(hits: readonly Pick<Hit, 'file'>[], ranges: readonly Range[]): ShownLines[] {
  return hits.flatMap(({ file }) =>
    ranges
      .filter((range) => isSameFile(range.file, file))
      .map(({ startLine, endLine, heading, headingLines }) => ({
        file,
        lines: [{ startLine, endLine }, ...(heading === null ? [] : toLineRanges(headingLines))],
      })),
  );
}

async function print(
  { fenceKey }: ContextDependencies,
  ranges: readonly Range[],
  call: ToolCall,
): Promise<string> {
  if (ranges.length === 0) return '';
  const texts = ranges.flatMap(({ file, start, end, heading }) => [
    toVirtualPath(file),
    heading ?? '',
    file.content.slice(start, end),
  ]);
  const { userId } = call;
  return printRanges(ranges, createFence(await fenceKey(), { userId, purpose: 'context' }, texts));
}
