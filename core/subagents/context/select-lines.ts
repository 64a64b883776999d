import type { ModelStanding } from '../../contracts/plugin.ts';
import { takeEnd } from '../../encoding/take-text.ts';
import type { ToolCall } from '../../contracts/tool.ts';
import { createFence } from '../../edits/fence.ts';
import type { PromptText } from '../../edits/prompt-text.ts';
import { toVirtualPath, toUserPath } from '../../files/paths.ts';
import { createPause } from '../../time/pause.ts';
import { explainProviderError, isProviderError } from '../../providers/provider-failure.ts';
import type { FoundFile } from '../../search/search-caches.ts';
import type { ShownLines } from '../../search/find.ts';
import type { Hit } from '../../search/search.ts';
import { type LineTimes, newestOf } from '../../search/time/line-times.ts';
import { toLineRanges } from '../../telemetry/shown-lines.ts';
import { toLocalDay, toTime } from '../../time/time.ts';
import type { Model } from '../model.ts';
import { planPrompt } from '../../edits/prompt-budget.ts';
import { cutToFit, isSameFile, keepOneVersion, measureRanges, type Range } from './print.ts';
import {
  type ContextQuestion,
  LINES_PROMPT,
  LINES_SCHEMA,
  parseLines,
  parseSearches,
  QUESTION_CHARS,
  SEARCHES_PROMPT,
  SEARCHES_SCHEMA,
  type ShownFile,
  toLinesPrompt,
  toSearchesPrompt,
} from './prompt.ts';

/** What selecting works with. */
export interface SelectDependencies {
  lineTimes: LineTimes;
  /** The key of the marks around memory. */
  fenceKey(): Promise<Buffer>;
  /** Tokens of one reply. */
  replyTokens: number;
  /** How the model is asked. */
  standing(): Promise<Pick<ModelStanding, 'model'>>;
  /** Of a caller that names none. */
  timeZone: string;
  now: () => number;
}

/** What a model selected, or why it did not; `shown` is what it was shown of memory. */
export type Selection = { shown: ShownLines[] } & ({ ranges: Range[] } | { degraded: string });

/** How long a context waits for both answers of a model before it is what was found. */
const MODEL_MS = 40_000;
/** Characters of lines that a model selects from, and that it plans searches by. */
const SHOWN_CHARS = 24_000;
const SAMPLE_CHARS = 3_000;

/**
 * Has a model plan searches, and select lines of what the question and these searches find. A line
 * that it was not shown can't be selected. Never throws for what a model does.
 */
export async function selectLines(
  deps: SelectDependencies,
  request: {
    model: Model;
    query: string;
    maxChars: number;
    /** Of files that the model plans searches by. */
    paths: readonly string[];
    /** What the question itself finds. */
    own: readonly Hit[];
    search(text: string): Promise<readonly Hit[]>;
  },
  call: ToolCall,
): Promise<Selection> {
  const { model, query, paths, own, maxChars } = request;
  const until = performance.now() + MODEL_MS;
  if (paths.length === 0) return { shown: [], ranges: [] };
  const key = await deps.fenceKey();
  const { maxTokens, characters } = planPrompt((await deps.standing()).model, {
    replyTokens: deps.replyTokens,
    mostCharacters: SHOWN_CHARS,
    texts: [SEARCHES_PROMPT, takeEnd(query, QUESTION_CHARS)],
  });
  const timeZone = call.timeZone ?? deps.timeZone;
  const toQuestion = (shown: readonly ShownFile[]): ContextQuestion => ({
    query,
    day: toLocalDay(deps.now(), timeZone),
    timeZone,
    mark: createFence(key, { userId: call.userId, purpose: 'context' }, [
      query,
      ...paths,
      ...shown.flatMap(({ path, lines }) => [path, ...lines.map(({ text }) => text)]),
    ]),
  });
  const ask = (asked: { system: PromptText; prompt: PromptText; schema: object }) =>
    model.ask(
      { ...asked, maxTokens },
      { call, timeoutMs: Math.max(1, Math.round(until - performance.now())) },
    );
  let seen = await showHits(own, Math.min(SAMPLE_CHARS, characters), deps.lineTimes);
  try {
    const sample = seen.map(toShown);
    const planned = await ask({
      system: SEARCHES_PROMPT,
      prompt: toSearchesPrompt({ paths, files: sample }, toQuestion(sample)),
      schema: SEARCHES_SCHEMA,
    });
    const lists = [own];
    // Without a plan, what the question itself finds is still to be chosen from.
    for (const text of parseSearches(planned) ?? []) lists.push(await request.search(text));
    seen = await showHits(keepOneVersion(interleave(lists)), characters, deps.lineTimes);
    if (seen.length === 0) return { shown: [], ranges: [] };
    const shown = seen.map(toShown);
    const selected = parseLines(
      await ask({
        system: LINES_PROMPT,
        prompt: toLinesPrompt(shown, toQuestion(shown)),
        schema: LINES_SCHEMA,
      }),
    );
    return selected === null
      ? {
          shown: listShown(seen),
          degraded: 'The model’s answer is not of the form that it must be.',
        }
      : { shown: listShown(seen), ranges: toRanges(selected, seen, maxChars) };
  } catch (error) {
    if (!isProviderError(error)) throw error;
    const degraded = `The model failed: ${explainProviderError(error)}.`;
    return { shown: listShown(seen), degraded };
  }
}

/** A file of which the model is shown lines. */
interface SeenFile {
  file: FoundFile;
  hits: [Hit, ...Hit[]];
  /** Where each line of the content begins and ends. */
  places: readonly { start: number; end: number }[];
  numbers: Set<number>;
  times: readonly number[];
}

function listShown(seen: readonly SeenFile[]): ShownLines[] {
  return seen.map(({ file, numbers }) => ({ file, lines: toLineRanges(numbers) }));
}

/** The lines of passages, best first, with the headings above them, while there is room. */
async function showHits(
  hits: readonly Hit[],
  mostChars: number,
  lineTimes: LineTimes,
): Promise<SeenFile[]> {
  const seen: SeenFile[] = [];
  let room = mostChars;
  const pause = createPause();
  for (const hit of hits) {
    await pause();
    const known = seen.find(({ file }) => isSameFile(file, hit.file));
    const places = known?.places ?? toPlaces(hit.file.content);
    const text = (number: number) => {
      const { start = 0, end = 0 } = places[number - 1] ?? {};
      return hit.file.content.slice(start, end);
    };
    const added = numbersOf(hit, text).filter((number) => known?.numbers.has(number) !== true);
    const size = added.reduce((sum, number) => sum + text(number).length, 0);
    if (size > room) continue;
    room -= size;
    if (known !== undefined) {
      known.hits.push(hit);
      added.forEach((number) => known.numbers.add(number));
    } else {
      const times = await lineTimes(hit.file);
      seen.push({ file: hit.file, hits: [hit], places, numbers: new Set(added), times });
    }
  }
  return seen.filter(({ numbers }) => numbers.size > 0);
}

/** The lines of a passage that say something, and the headings above it. */
function numbersOf({ passages, passage }: Hit, text: (number: number) => string): number[] {
  const { startLine = 1, endLine = 0, headingLines = [] } = passages[passage] ?? {};
  // A heading without text below it is a passage itself.
  const numbers = headingLines.filter((number) => number < startLine);
  for (let number = startLine; number <= endLine; number += 1) {
    if (text(number).trim() !== '') numbers.push(number);
  }
  return numbers;
}

function toPlaces(content: string): { start: number; end: number }[] {
  let start = 0;
  return content.split('\n').map((line) => {
    const place = { start, end: start + line.replace(/\r$/, '').length };
    start += line.length + 1;
    return place;
  });
}

function toShown({ file, numbers, places, times }: SeenFile): ShownFile {
  const lines = [...numbers]
    .sort((a, b) => a - b)
    .map((number) => {
      const { start = 0, end = 0 } = places[number - 1] ?? {};
      const at = times[number - 1] ?? file.updatedAt;
      return { number, text: file.content.slice(start, end), at };
    });
  return { path: toVirtualPath(file), lines };
}

/** The first of each list, then the second of each. */
function interleave(lists: readonly (readonly Hit[])[]): Hit[] {
  const most = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: most }, (_, place) =>
    lists.flatMap((list) => list.slice(place, place + 1)),
  ).flat();
}

/** The selected lines that were shown, in the model's order, while they fit; neighbours become one. */
function toRanges(
  selected: readonly { path: string; line: number }[],
  seen: readonly SeenFile[],
  maxChars: number,
): Range[] {
  let ranges: Range[] = [];
  const taken = new Set<string>();
  for (const { path, line } of selected) {
    const found = seen.find(({ file }) => {
      const own = toVirtualPath(file);
      return own === path || own === toUserPath(path);
    });
    if (found?.numbers.has(line) !== true) continue;
    // A model may name one file by two paths.
    const key = `${toVirtualPath(found.file)} ${line}`;
    if (taken.has(key)) continue;
    taken.add(key);
    const range = toRange(found, line);
    const grown = extend(ranges, range, found.times);
    if (measureRanges(grown) <= maxChars) ranges = grown;
    else if (ranges.length === 0) {
      const cut = cutToFit([range], maxChars);
      if (cut !== null) return [cut];
    }
  }
  return ranges;
}

function toRange({ file, hits, places, times }: SeenFile, line: number): Range {
  const { start = 0, end = 0 } = places[line - 1] ?? {};
  const passage = hits[0].passages.find(
    ({ startLine, endLine }) => startLine <= line && line <= endLine,
  );
  const at = times[line - 1] ?? file.updatedAt;
  return {
    file,
    startLine: line,
    endLine: line,
    start,
    end,
    heading: passage?.heading ?? null,
    headingLines: passage?.headingLines ?? [],
    at,
  };
}

/** The ranges with one more: as a part of the last, where it is the line below that, of the same day. */
function extend(ranges: readonly Range[], range: Range, times: readonly number[]): Range[] {
  const last = ranges.at(-1);
  const isNext =
    last !== undefined &&
    isSameFile(last.file, range.file) &&
    last.endLine + 1 === range.startLine &&
    last.heading === range.heading &&
    toDay(last.at) === toDay(range.at);
  if (!isNext) return [...ranges, range];
  const { startLine } = last;
  const { endLine, end } = range;
  return [
    ...ranges.slice(0, -1),
    { ...last, endLine, end, at: newestOf(times, startLine, endLine) },
  ];
}

function toDay(at: number): string {
  return toTime(at).slice(0, 10);
}
