import { MemoryError } from '../../errors.ts';

/** How often a text may come about anew, out of a replacement and what stands beside it. */
const PASSES = 100;

/** Replaces one text everywhere. */
export interface Replacer {
  /** In a content, exactly. Keeps its line breaks, so that line numbers stay true. */
  inContent(content: string): string;
  /** In a text that may quote lines: also as lines of a diff, and escaped as in JSON. */
  inRecord(text: string): string;
  /** In the JSON of a record: in all of its strings, but not in paths, user ids and actors. */
  inJson(json: string): string;
  /** Whether a text has it. */
  isIn(text: string): boolean;
  /** Whether a text or a name anywhere in a value has it. */
  isInJson(value: unknown): boolean;
}

/** The members of records that name something: they are listed as left, and never changed. */
const NAMES = new Set(
  'path paths from to userId users userIds actor actors target written virtualPath id'.split(' '),
);

/** Makes the replacer of a text. Throws `INVALID_REQUEST` if the replacement has the text. */
export function createReplacer(text: string, replacement: string): Replacer {
  const parts = text
    .split(/(\r?\n)/)
    .map((part, index) => (index % 2 === 1 || part === '' ? part : replacement));
  const replaced = parts.join('');
  if (replaced.includes(text)) throw cannotReplace('The replacement has the text.');
  const escaped = JSON.stringify(text).slice(1, -1);
  const twice = JSON.stringify(escaped).slice(1, -1);
  const variants = [...new Set([text, escaped, twice])];
  const quoted = text.includes('\n') ? toQuotedLines(text) : null;
  // What no escape changes: a record without it is read no further.
  const probe = longest(text.split(/[^\p{L}\p{N} _.:/+=-]/u));

  function inContent(content: string): string {
    let found = content;
    for (let pass = 0; found.includes(text); pass += 1) {
      if (pass === PASSES) throw cannotReplace('What stands beside it makes the text anew.');
      found = found.replaceAll(text, () => replaced);
    }
    return found;
  }

  function inRecord(given: string): string {
    if (!given.includes(probe)) return given;
    let found = given;
    for (const variant of variants) {
      const instead = variant === text ? replaced : JSON.stringify(replaced).slice(1, -1);
      for (let pass = 0; pass < PASSES && found.includes(variant); pass += 1) {
        found = found.replaceAll(variant, () => instead);
      }
    }
    return quoted === null ? found : found.replace(quoted, () => replacement);
  }

  return {
    inContent,
    inRecord,
    isIn: (given) => given.includes(text),
    isInJson(value) {
      const json = JSON.stringify(value ?? null);
      return inRecord(json) !== json;
    },
    inJson(json) {
      if (!json.includes(probe)) return json;
      // eslint-disable-next-line no-restricted-syntax -- this service wrote it
      const value = JSON.parse(json) as unknown;
      const next = mapTexts(value, inRecord);
      return next === value ? json : JSON.stringify(next);
    },
  };
}

/** The value with other texts; the same value where none changes. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    const next = items.map((item) => mapTexts(item, change));
    return next.some((item, index) => item !== items[index]) ? next : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value);
  const next = fields.map(
    ([name, field]) => [name, NAMES.has(name) ? field : mapTexts(field, change)] as const,
  );
  const isSame = next.every(([, field], index) => field === fields[index]?.[1]);
  return isSame ? value : Object.fromEntries(next);
}

/** Lines of the text as a diff or a quotation has them: each behind a sign. */
function toQuotedLines(text: string): RegExp {
  const lines = text.split(/\r?\n/).map((line) => line.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return new RegExp(lines.join('\\r?\\n[-+> ]{1,2}'), 'g');
}

function longest(parts: readonly string[]): string {
  return parts.reduce((best, part) => (part.length > best.length ? part : best), '');
}

function cannotReplace(why: string): MemoryError {
  return new MemoryError('INVALID_REQUEST', `${why} Choose another replacement.`, {
    details: { issues: [{ path: '/replacement', message: why }] },
  });
}
