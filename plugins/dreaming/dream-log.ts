import type { Host } from '../../core/contracts/plugin.ts';
import { ACTOR, isRefusal, toolOf, type Writing } from './apply.ts';

/** The user's log of dreaming, by its path in the user's scope. */
export const DREAM_LOG = 'dream-log.md';
/**
 * Bytes of the log: the oldest entries go when it would be larger. Hundreds of entries, and a quarter
 * of what a file may have by default.
 */
const LOG_BYTES = 65_536;
/** Times that the log is tried when others write it at the same moment. */
export const LOG_TRIES = 3;
const TITLE = '# Dream log\n';
/** Entries begin with the time of their run, as `toISOString` has it. */
const ENTRY = /^## (?=\d{4}-\d\d-\d\dT[\d:.]{8,12}Z$)/m;

/**
 * Writes the entry of a run into the user's log: what was done to which file, in words of this code
 * alone. The oldest entries make room for it. Whether it was written: a log that others keep
 * writing, or that cannot grow, goes without, with a warning.
 */
export async function writeLogEntry(
  host: Pick<Host, 'write' | 'memory' | 'now' | 'log'>,
  { userId, runId, trace, guards }: Writing,
  files: readonly { path: string; what: string }[],
): Promise<boolean> {
  const time = new Date(host.now()).toISOString();
  const entry = `## ${time}\n\n${files.map(({ path, what }) => `- ${path}: ${what}\n`).join('')}${runLine(runId)}`;
  let room = LOG_BYTES;
  for (let tries = 1; ; tries += 1) {
    const log = await host.memory.read(`u:${userId}`, DREAM_LOG);
    const content = withEntry(log?.content ?? TITLE, entry, room);
    const ifVersion = log?.version ?? 0;
    try {
      await host.write(
        {
          userId,
          path: `user/${DREAM_LOG}`,
          content,
          reason: 'Entry of a dream run.',
          ifVersion,
        },
        { runId, trace, guards, actor: ACTOR, tool: toolOf(ifVersion) },
      );
      return true;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { code } = error;
      if (code === 'VERSION_CONFLICT' && tries < LOG_TRIES) continue;
      if (code === 'PAYLOAD_TOO_LARGE' && room > 0) {
        // Files may be smaller here than the log: then the new entry is what it has.
        room = 0;
        continue;
      }
      host.log.warn({ runId, code }, 'the entry of a dream run was not written');
      return false;
    }
  }
}

/**
 * The log without the entry that a run has written, whatever was written to the log since: the log
 * itself where that entry is in it no more, `changed` where it is there in other words, and `null`
 * for a log of which the title alone is left.
 *
 * @param written the log as the run left it: its entry is the last one.
 */
export function withoutEntry(
  log: string,
  written: string,
  runId: string,
): string | 'changed' | null {
  const entry = splitEntries(written).at(-1) ?? '';
  const at = entry.endsWith(runLine(runId)) ? log.indexOf(entry) : -1;
  if (at === -1) return log.includes(runLine(runId).trimEnd()) ? 'changed' : log;
  const head = log.slice(0, at);
  const rest = log.slice(at + entry.length);
  // The blank line between two entries goes with one of them.
  const left = rest === '' ? head.replace(/\n\n$/, '\n') : head + rest.replace(/^\n/, '');
  return left === TITLE ? null : left;
}

/** The log with one more entry, and as many of the newest others as fit. What stands above them stays. */
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
  const gap =
    before === '' ? '' : before.endsWith('\n\n') ? '' : before.endsWith('\n') ? '\n' : '\n\n';
  return `${before}${gap}${entry}`;
}

/** What an entry ends with. */
function runLine(runId: string): string {
  return `- run ${runId}\n`;
}

function splitEntries(text: string): string[] {
  return text
    .split(new RegExp(ENTRY, 'gm'))
    .slice(1)
    .map((rest) => `## ${rest}`);
}
