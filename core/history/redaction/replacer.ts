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
  /** The paths, user ids and actors in the JSON of a record that have it. */
  namesIn(json: string): { kind: NamedKind; name: string }[];
  /** Whether a text or a name anywhere in a value has it. */
  isInJson(value: unknown): boolean;
}

/** The members of records that name something, and what: they are listed as left, and never changed. */
const NAMES: ReadonlyMap<string, NamedKind | null> = new Map([
  ...namesOf('paths', 'path paths from to target written virtualPath'),
  ...namesOf('userIds', 'userId userIds users'),
  ...namesOf('actors', 'actor actors'),
  ...namesOf(null, 'id'),
]);

/** What a record may name. */
export type NamedKind = 'paths' | 'userIds' | 'actors';

function namesOf(kind: NamedKind | null, members: string): [string, NamedKind | null][] {
  return members.split(' ').map((member) => [member, kind]);
}

/**
 * Finds a text in contents, as often as it stands there. Each line break of it stands for either kind, since
 * who types the text sees no difference.
 */
export function toTextPattern(text: string): RegExp {
  return toPattern(text, (part) => part);
}

/** Makes the replacer of a text. Throws `INVALID_REQUEST` if the replacement has the text. */
export function createReplacer(text: string, replacement: string): Replacer {
  const toEscaped = (given: string) => JSON.stringify(given).slice(1, -1);
  const content = toForm(text, { replacement, escape: (part) => part });
  const { isIn } = content;
  if (isIn(content.replaceIn(text))) throw cannotReplace('The replacement has the text.');
  /** Also escaped once and twice, as in JSON. */
  const forms = [
    content,
    toForm(text, { replacement, escape: toEscaped }),
    toForm(text, { replacement, escape: (part) => toEscaped(toEscaped(part)) }),
  ].filter(({ source }, at, all) => all.findIndex((one) => one.source === source) === at);
  const quoted = text.includes('\n') ? toQuotedLines(text) : null;
  // What no escape changes: a record without it is read no further.
  const probe = longest(text.split(/[^\p{L}\p{N} _.:/+=-]/u));

  function inContent(given: string): string {
    let found = given;
    for (let pass = 0; isIn(found); pass += 1) {
      if (pass === PASSES) throw cannotReplace('What stands beside it makes the text anew.');
      found = content.replaceIn(found);
    }
    return found;
  }

  function inRecord(given: string): string {
    if (!given.includes(probe)) return given;
    let found = given;
    for (const form of forms) {
      for (let pass = 0; pass < PASSES && form.isIn(found); pass += 1) {
        found = form.replaceIn(found);
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
    namesIn(json) {
      if (!json.includes(probe)) return [];
      // eslint-disable-next-line no-restricted-syntax -- this service wrote it
      return [...listNames(JSON.parse(json), null)].filter(({ name }) => inRecord(name) !== name);
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

function* listNames(
  value: unknown,
  kind: NamedKind | null,
): Generator<{ kind: NamedKind; name: string }> {
  if (typeof value === 'string' && kind !== null) yield { kind, name: value };
  if (typeof value !== 'object' || value === null) return;
  for (const [member, field] of Object.entries(value)) {
    const own = Array.isArray(value) ? kind : (NAMES.get(member) ?? null);
    yield* listNames(field, own);
  }
}

/** A text in one way of writing it. */
interface Form {
  source: string;
  isIn(given: string): boolean;
  /** Replaces each line of it; its line breaks stay. */
  replaceIn(given: string): string;
}

function toForm(
  text: string,
  { replacement, escape }: { replacement: string; escape(part: string): string },
): Form {
  const pattern = toPattern(text, escape);
  const breaks = toPattern('\n', escape);
  const instead = escape(replacement);
  const replaceMatch = (found: string) => {
    let replaced = '';
    let from = 0;
    for (const { 0: end, index } of found.matchAll(breaks)) {
      replaced += (index > from ? instead : '') + end;
      from = index + end.length;
    }
    return replaced + (from < found.length ? instead : '');
  };
  return {
    source: pattern.source,
    isIn: (given) => given.search(pattern) >= 0,
    replaceIn: (given) => given.replace(pattern, replaceMatch),
  };
}

function toPattern(text: string, escape: (part: string) => string): RegExp {
  const lineBreak = `(?:${toLiteral(escape('\r'))})?${toLiteral(escape('\n'))}`;
  const lines = text.split(/\r?\n/).map((line) => toLiteral(escape(line)));
  return new RegExp(lines.join(lineBreak), 'g');
}

/** A text as a regular expression that matches it alone. */
function toLiteral(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** Lines of the text as a diff or a quotation has them: each behind a sign. */
function toQuotedLines(text: string): RegExp {
  return new RegExp(text.split(/\r?\n/).map(toLiteral).join('\\r?\\n[-+> ]{1,2}'), 'g');
}

function longest(parts: readonly string[]): string {
  return parts.reduce((best, part) => (part.length > best.length ? part : best), '');
}

function cannotReplace(why: string): MemoryError {
  return new MemoryError('INVALID_REQUEST', `${why} Choose another replacement.`, {
    details: { issues: [{ path: '/replacement', message: why }] },
  });
}
