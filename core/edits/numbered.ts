import { toLocalDay } from '../time/time.ts';
import { toCountedLines } from './markdown.ts';
import { joinPrompt, promptText, type PromptText, toPromptLine } from './prompt-text.ts';
import type { EditedFile } from './workspace.ts';

const OMITTED = promptText`…`;

/**
 * A file as a model sees it: `12 2026-05-01| - text`, or `12| - text` if the date is unknown or there
 * is no time zone. `…` marks omitted lines.
 */
export function toNumbered(file: EditedFile, timeZone: string | null): PromptText {
  return joinPrompt([...listNumbered(file, timeZone)], '\n');
}

/** The lines of {@link toNumbered}, one after the other: there may be 262,144. */
export function* listNumbered(
  { content, shown, times }: EditedFile,
  timeZone: string | null,
): Generator<PromptText> {
  const days = new Map<number, PromptText>();
  const dayOf = (at: number | undefined) => {
    if (at === undefined || timeZone === null) return promptText``;
    const day = days.get(at) ?? promptText` ${toPromptLine(toLocalDay(at, timeZone))}`;
    days.set(at, day);
    return day;
  };
  const lines = toCountedLines(content).split('\n');
  if (lines.at(-1) === '') lines.pop();
  const numbers = shown === undefined ? null : [...shown].sort((a, b) => a - b);
  const count = numbers?.length ?? lines.length;
  let last = 0;
  for (let at = 0; at < count; at += 1) {
    const number = numbers?.[at] ?? at + 1;
    if (number > last + 1) yield OMITTED;
    const text = toPromptLine(lines[number - 1]?.trimEnd() ?? '');
    yield promptText`${number}${dayOf(times?.[number - 1])}| ${text}`;
    last = number;
  }
  if (last < lines.length) yield OMITTED;
}
