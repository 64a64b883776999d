import { isBlank } from './markdown.ts';

const SPEAKER =
  /^\W{0,4}(?:user|assistant|human|ai|bot|system|agent|customer|support|me|you|speaker \d+)\W{0,4}:/i;
const TIMESTAMP = /^\W{0,4}\d{1,2}:\d{2}(?::\d{2})?\W/;
/** Lines of a conversation before a file counts as one, and their share. */
const LEAST_LINES = 4;
const LEAST_SHARE = 0.4;

/** Whether a file reads like the log of a conversation: no durable memory, and no source of one. */
export function isTranscript(lines: readonly string[]): boolean {
  const written = lines.filter((line) => !isBlank(line));
  const spoken = written.filter((line) => SPEAKER.test(line) || TIMESTAMP.test(line)).length;
  return spoken >= LEAST_LINES && spoken >= LEAST_SHARE * written.length;
}
