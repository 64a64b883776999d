import { isBlank } from './markdown.ts';

const ROLE =
  /^\W{0,4}(?:user|assistant|human|ai|bot|system|agent|customer|support|me|you|speaker \d+)\W{0,4}:/i;
const TIMESTAMP = /^\W{0,4}\d{1,2}:\d{2}(?::\d{2})?\W/;
/** What stands before a colon at the beginning of a line: `**Anna:**` is `Anna`. */
const LABEL = /^[^\p{L}\p{N}]{0,6}([\p{L}][\p{L}\p{M}\p{N}.'’ -]{0,40}):/u;
/** Lines of a conversation before a file counts as one, and their share. */
const LEAST_LINES = 4;
const LEAST_SHARE = 0.4;
/** People who take turns: fewer are a list of one thing. */
const LEAST_SPEAKERS = 2;

/** Whether a file reads like the log of a conversation: no durable memory, and no source of one. */
export function isTranscript(lines: readonly string[]): boolean {
  const written = lines.filter((line) => !isBlank(line));
  const spoken = written.filter((line) => ROLE.test(line) || TIMESTAMP.test(line)).length;
  const most = Math.max(spoken, countTurns(written));
  return most >= LEAST_LINES && most >= LEAST_SHARE * written.length;
}

/** Lines of labels that come back: speakers, where there are two of them or more. */
function countTurns(lines: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const label = LABEL.exec(line)?.[1]?.trim().toLowerCase();
    if (label !== undefined) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const turns = [...counts.values()].filter((count) => count > 1);
  return turns.length < LEAST_SPEAKERS ? 0 : turns.reduce((sum, count) => sum + count, 0);
}
