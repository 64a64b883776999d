import { findLineEnd, withLineEnds } from '../../core/files/line-ends.ts';

/** The log of dreaming, inside the scope that it tells of. */
export const DREAM_LOG = 'dream-log.md';
/**
 * The most bytes of the log: the oldest entries are removed beyond that. It holds hundreds of entries,
 * and is a quarter of the default size limit of a file.
 */
const LOG_BYTES = 65_536;
const TITLE = '# Dream log\n';
/** Entries begin with the time of their run, as `toISOString` has it. */
const ENTRY = /^## (?=\d{4}-\d\d-\d\dT[\d:.]{8,12}Z$)/m;

/**
 * The log of a user with the entry of a run: what was done to which file. Nothing of it is a model's
 * words. The oldest entries are removed to make room. `null` where the entry alone is too large.
 */
export function toLogged(
  log: string | null,
  entry: {
    runId: string;
    /** Whether it tells of the revert of the run. */
    isRevert?: boolean;
    at: number;
    files: readonly { path: string; what: string }[];
  },
  maxFileBytes: number,
): string | null {
  const lineEnd = findLineEnd(log ?? TITLE) ?? '\n';
  const lines = entry.files.map(({ path, what }) => `- ${path}: ${what}\n`).join('');
  const text = `## ${new Date(entry.at).toISOString()}\n\n${lines}${runLine(entry)}`;
  const room = Math.min(LOG_BYTES, maxFileBytes);
  const content = withEntry(log ?? TITLE, withLineEnds(text, lineEnd), room);
  if (Buffer.byteLength(content) <= room) return content;
  const alone = withEntry(TITLE, text, 0);
  return Buffer.byteLength(alone) <= maxFileBytes ? alone : null;
}

/** The text above the entries, the new entry, and as many of the newest others as fit. */
function withEntry(log: string, entry: string, room: number): string {
  const start = log.search(ENTRY);
  const head = start === -1 ? log : log.slice(0, start);
  const entries = start === -1 ? [] : splitEntries(log.slice(start));
  const kept: string[] = [];
  let bytes = Buffer.byteLength(head) + Buffer.byteLength(entry) + 2;
  for (const older of entries.reverse()) {
    bytes += Buffer.byteLength(older);
    if (bytes > room) break;
    kept.unshift(older);
  }
  const before = `${head}${kept.join('')}`;
  const lineEnd = findLineEnd(entry) ?? '\n';
  const isSpaced = before === '' || /(?:\r\n|\n|\r(?!\n)){2}$/.test(before);
  const gap = isSpaced ? '' : /[\r\n]$/.test(before) ? lineEnd : lineEnd + lineEnd;
  return `${before}${gap}${entry}`;
}

/** Whether a log has an entry of the revert of a run. */
export function hasRevert(log: string, runId: string): boolean {
  return log.includes(runLine({ runId, isRevert: true }).trimEnd());
}

/** What an entry ends with. */
function runLine({ runId, isRevert = false }: { runId: string; isRevert?: boolean }): string {
  return `- ${isRevert ? 'revert of run' : 'run'} ${runId}\n`;
}

function splitEntries(text: string): string[] {
  return text
    .split(new RegExp(ENTRY, 'gm'))
    .slice(1)
    .map((rest) => `## ${rest}`);
}
