/** A fact in the inbox, as it was said. */
export interface SaidFact {
  text: string;
  /** When it was said, as in `2026-01-31`. */
  day: string;
  /** `null` for the user. */
  speaker: string | null;
  /** Whether it still waits to be filed in the background. */
  isQueued: boolean;
}

/** What stands before a fact in its line: `- (said 2026-01-31 by "Anna", to be filed) `. */
const STAMP = /^[-*+] \(said (\d{4}-\d{2}-\d{2})(?: by "([^"]{1,300})")?(, to be filed)?\) /;

/** A part of each line that waits to be filed. */
export const QUEUED = ', to be filed) ';

/**
 * Writes a fact as one line of the inbox, as `- (said 2026-01-31) I am allergic to nuts.` The line is
 * plain text in Markdown, whatever the fact has: ` ⏎ ` stands for a line break, and a backslash parts
 * the marks of comments. {@link parseInboxLine} gives the fact back, without invisible characters.
 */
export function formatInboxLine({ text, day, speaker, isQueued }: SaidFact): string {
  const name = toSpeaker(speaker);
  const by = name === null ? '' : ` by "${name}"`;
  return `- (said ${day}${by}${isQueued ? QUEUED : ') '}${toOneLine(text)}`;
}

/** The fact of a line of the inbox; `null` for other lines. */
export function parseInboxLine(line: string): SaidFact | null {
  const [stamp, day, speaker, queued] = STAMP.exec(line) ?? [];
  if (stamp === undefined || day === undefined) return null;
  return {
    text: toManyLines(line.slice(stamp.length)),
    day,
    speaker: speaker === undefined ? null : toManyLines(speaker),
    isQueued: queued !== undefined,
  };
}

/** What a line says, without the stamp that a line of the inbox begins with. */
export function withoutStamp(line: string): string {
  return line.replace(STAMP, '- ');
}

/** A speaker as a line names them; `null` for the user, and for a name that has no visible character. */
export function toSpeaker(name: string | null): string | null {
  const shown = toOneLine(name ?? '').replaceAll('"', "'");
  return shown === '' ? null : shown;
}

/** Line ends of all kinds: what a reader or a model may take for one. */
const LINE_ENDS = /\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/g;

/**
 * Characters that nobody sees, and that hide or turn text. Joiners stay inside of emoji and of the
 * scripts that need them.
 */
const INVISIBLE =
  /(?<![\p{Extended_Pictographic}\p{M}\p{Lo}\uFE0F])[\u200c\u200d]|(?![\u200c\u200d])[\p{Cf}\u115f\u1160\u3164\uffa0]/gu;

/** A text in one line that Markdown takes for plain text. */
export function toOneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(INVISIBLE, '')
    .trim()
    .replace(/⏎/g, (sign, at: number, whole: string) => {
      return `${'\\'.repeat(countSlashes(whole, at) + 1)}${sign}`;
    })
    .replace(LINE_ENDS, ' ⏎ ')
    .replace(/(?!\t)\p{Cc}/gu, ' ')
    .replace(/<(\\*)!--/g, '<$1\\!--')
    .replace(/--(\\*)>/g, '--$1\\>')
    .trim();
}

function toManyLines(line: string): string {
  const parts = line
    .replace(/--(\\*)\\>/g, '--$1>')
    .replace(/<(\\*)\\!--/g, '<$1!--')
    .replaceAll(' ⏎ ', '\n')
    .split('⏎');
  return parts
    .map((part, at) => {
      // Of each sign that the fact has, one more than half of the backslashes before it are ours.
      const own = at === parts.length - 1 ? 0 : Math.ceil(countSlashes(part, part.length) / 2);
      return part.slice(0, part.length - own);
    })
    .join('⏎');
}

/** Backslashes right before a place. */
function countSlashes(text: string, at: number): number {
  let from = at;
  while (text.charAt(from - 1) === '\\') from -= 1;
  return at - from;
}
