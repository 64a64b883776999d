import { MemoryError } from '../../errors.ts';

/** How often a text may come about anew, out of a replacement and what stands beside it. */
const PASSES = 100;

/** Replaces one text everywhere. */
export interface Replacer {
  /** In a content. Keeps its line breaks, so that line numbers stay true. */
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

/**
 * The forms in which a content may have a text: a line break of it stands for either kind, since who types
 * the text sees no difference.
 */
export function formsOf(text: string): string[] {
  if (!text.includes('\n')) return [text];
  return [...new Set([text, ...['\n', '\r\n'].map((end) => text.replace(/\r?\n/g, end))])];
}

/** Makes the replacer of a text. Throws `INVALID_REQUEST` if the replacement has the text. */
export function createReplacer(text: string, replacement: string): Replacer {
  const forms = formsOf(text).map((form) => {
    const parts = form
      .split(/(\r?\n)/)
      .map((part, index) => (index % 2 === 1 || part === '' ? part : replacement));
    return { form, replaced: parts.join('') };
  });
  const isIn = (given: string) => forms.some(({ form }) => given.includes(form));
  if (forms.some(({ replaced }) => isIn(replaced))) {
    throw cannotReplace('The replacement has the text.');
  }
  const toEscaped = (given: string) => JSON.stringify(given).slice(1, -1);
  /** Also escaped once and twice, as in JSON. */
  const variants = forms.flatMap(({ form, replaced }) => {
    const escaped = toEscaped(form);
    const instead = toEscaped(replaced);
    return [
      { variant: form, instead: replaced },
      { variant: escaped, instead },
      { variant: toEscaped(escaped), instead },
    ].filter(({ variant }, at, all) => all.findIndex((one) => one.variant === variant) === at);
  });
  const quoted = text.includes('\n') ? toQuotedLines(text) : null;
  // What no escape changes: a record without it is read no further.
  const probe = longest(text.split(/[^\p{L}\p{N} _.:/+=-]/u));

  function inContent(content: string): string {
    let found = content;
    for (let pass = 0; isIn(found); pass += 1) {
      if (pass === PASSES) throw cannotReplace('What stands beside it makes the text anew.');
      for (const { form, replaced } of forms) found = found.replaceAll(form, () => replaced);
    }
    return found;
  }

  function inRecord(given: string): string {
    if (!given.includes(probe)) return given;
    let found = given;
    for (const { variant, instead } of variants) {
      for (let pass = 0; pass < PASSES && found.includes(variant); pass += 1) {
        found = found.replaceAll(variant, () => instead);
      }
    }
    return quoted === null ? found : found.replace(quoted, () => replacement);
  }

  return {
    inContent,
    inRecord,
    isIn,
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
