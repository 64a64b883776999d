import { isStopWord } from '../search/text/english.ts';
import { isEnglish } from '../search/text/language.ts';
import { readLanguageHints } from '../search/text/tokenise.ts';
import { readWords } from '../search/text/words.ts';
import { isOpener } from '../values/sentence-starters.ts';
import { isTopic, relationOf } from '../values/words.ts';
import { parseInboxLine } from './inbox-line.ts';
import { type Row, toBare, type Workspace } from './workspace.ts';
import { fold } from '../values/fold.ts';
import { takeStart } from '../encoding/take-text.ts';

/** Whom or what a line is about. */
export interface Subject {
  /** Folded; `null` where only a relation is said. */
  name: string | null;
  relation: string | null;
}

/** Where a line stands. */
interface Place {
  path: string;
  headings: readonly string[];
  parents: readonly string[];
}

/** Tells whom lines are about; `null` is the user. */
export interface Subjects {
  ofRow(row: Row): Subject | null;
  ofLine(text: string, place: Place): Subject | null;
  differ(subjects: readonly (Subject | null)[]): boolean;
  /** Whether a word is a name of the user. */
  isUser(word: string): boolean;
}

/** The first words of a line, up to a verb: a name, a relation, or both. */
const LEADING =
  /^(?:\[[ xX]\]\s*)?[*_"“„]{0,3}((?:[\p{L}\p{M}][\p{L}\p{M}'’-]*\s?){1,5})[*_]{0,3}(?:\s?[（(]([^()（）]{1,40})[）)])?/u;
const PRONOUN =
  /^(?:i|he|she|they|we|it|you|user|the user|ich|er|sie|es|wir|je|j|il|elle|nous|yo|ella|el|nosotros|io|lui|lei|eu|ele|ela|ik|hij|zij|nutzer|der nutzer|usuario|utilisateur)$/u;
const POSSESSIVE =
  /^(?:my|his|her|their|our|the|a|mein\p{L}*|sein\p{L}*|ihr\p{L}*|der|die|das|mon|ma|mes|son|sa|ses|le|la|les|l|mi|su|el|los|il|lo|meu|minha|seu|sua|o|de|het|mijn|zijn|haar)$/u;
const NAME_LINE =
  /^(?:full |nick)?(?:name|nom|nombre|nome|naam|namn|navn|imie|jmeno)\s*[:：]\s*(.{1,80})|^(?:姓名|名字|名前|이름)\s*[:：]\s*(.{1,40})/iu;

/** Characters of memory that tell its language. */
const SAMPLE_LENGTH = 5_000;

/** Lines between two steps. */
const LINES = 500;

/**
 * Reads the names of the user from memory (`- Name: …`), so that they are not somebody else. Yields
 * now and then.
 */
export function* readSubjects(
  workspace: Workspace,
  paths: readonly string[],
): Generator<null, Subjects> {
  const own = new Set<string>();
  /** Words in capitals, other than before a colon: a word there is a name only if it is one of these. */
  const named = new Set<string>();
  for (const path of paths) {
    for (const [at, { text }] of workspace.live(path).entries()) {
      if (at % LINES === 0) yield null;
      for (const [word] of text.matchAll(
        /(?<=\p{Ll},? )\p{Lu}\p{L}+|(?<=^#+ )\p{Lu}\p{L}+$|(?<=^\s*[-*] )\p{Lu}\p{L}+(?= \p{Ll}|['’]s)/gu,
      ))
        named.add(toWord(word));
      const match = NAME_LINE.exec(toBare(text).replace(/[*_]/g, ''));
      for (const name of fold(match?.[1] ?? match?.[2] ?? '').split(/[\s,()]+/u))
        if (name !== '') own.add(name);
    }
  }

  const hintsOf = (text: string) => readLanguageHints(readWords(text), text);
  yield null;
  const surrounding = hintsOf(takeSample(workspace, paths));
  yield null;
  const isEnglishLine = (line: string) => isEnglish(hintsOf(line), surrounding);

  const withoutUser = (subject: Subject | null): Subject | null =>
    subject?.name !== null && subject?.relation === null && own.has(subject.name) ? null : subject;

  function ofLine(text: string, { path, headings, parents }: Place): Subject | null {
    const said = parseInboxLine(text);
    // Wherever such a line stands, it is about the speaker, or whom it names.
    const places = said === null ? [toBare(text), ...[...parents].reverse()] : [said.text];
    for (const one of places) {
      const leading = readLeading(one, { named, isEnglish: isEnglishLine });
      if (leading !== null) return withoutUser(leading);
    }
    if (said !== null) return said.speaker === null ? null : withoutUser(readTitle(said.speaker));
    const file = path.slice(path.lastIndexOf('/') + 1).replace(/\.\w+$/, '');
    for (const title of [...[...headings].reverse(), file]) {
      const named = readTitle(title);
      if (named !== null) return withoutUser(named);
    }
    return null;
  }

  return {
    ofLine,
    isUser: (word) => own.has(toWord(word)),
    ofRow: (row) =>
      ofLine(row.text, {
        path: row.path,
        headings: workspace.headingsOf(row),
        parents: workspace.parentsOf(row).map(toBare),
      }),
    differ: (subjects) =>
      subjects.some((one, at) => subjects.slice(at + 1).some((other) => !isSame(one, other))),
  };
}

/** The beginning of memory. */
function takeSample(workspace: Workspace, paths: readonly string[]): string {
  const texts: string[] = [];
  let length = 0;
  for (const path of paths) {
    for (const { text } of workspace.live(path)) {
      if (length > SAMPLE_LENGTH) break;
      texts.push(text);
      length += text.length + 1;
    }
  }
  return takeStart(texts.join('\n'), SAMPLE_LENGTH);
}

function isSame(one: Subject | null, other: Subject | null): boolean {
  if (one === null || other === null) return one === other;
  const names = one.name === null || other.name === null || one.name === other.name;
  const relations =
    one.relation === null || other.relation === null || one.relation === other.relation;
  // `Tom` may be `Tom (brother)`; a relation alone is the one who has it.
  if (one.name === null || other.name === null) return names && one.relation === other.relation;
  return names && relations;
}

/** The name or relation that a line begins with; `null` where it begins with what it says. */
function readLeading(
  text: string,
  {
    named,
    isEnglish: isEnglishLine,
  }: { named: ReadonlySet<string>; isEnglish: (line: string) => boolean },
): Subject | null {
  const [whole = '', words = '', bracket = ''] = LEADING.exec(text) ?? [];
  const all = words.trim().split(/\s+/u);
  let at = 0;
  while (
    at < all.length &&
    (POSSESSIVE.test(fold(all[at] ?? '')) || /['’]s$/u.test(all[at] ?? ''))
  ) {
    if (
      /['’]s$/u.test(all[at] ?? '') &&
      relationOf((all[at + 1] ?? '').replace(/[,:]/g, '')) === null
    )
      break;
    at += 1;
  }
  if (at === 0 && (PRONOUN.test(fold(words.trim())) || PRONOUN.test(fold(all[0] ?? ''))))
    return null;
  const relation = relationOf(toWord(all[at]));
  if (relation !== null) at += 1;
  const name = toWord(all[at]);
  const rest = text.slice(whole.length);
  const isName =
    /^\p{Lu}/u.test(all[at] ?? '') &&
    !isTopic(name) &&
    !isOpener(name) &&
    !isStopWord(name) &&
    (relation !== null ||
      bracket !== '' ||
      /['’]s$/u.test(all[at] ?? '') ||
      isFollowed(all.slice(at + 1), rest, {
        isKnown: named.has(name),
        english: isEnglishLine(text),
      }));
  const said = [
    ...(bracket.match(/[\p{L}\p{M}]+/gu) ?? []),
    ...all.slice(at + 1),
    ...(rest.match(/[\p{L}\p{M}]+/gu) ?? []).slice(0, 2),
  ];
  const own =
    relation ??
    said
      .slice(0, 4)
      .map(relationOf)
      .find((one) => one !== null) ??
    null;
  if (isName) return { name, relation: own };
  return relation === null ? null : { name: null, relation };
}

/** Whether a leading word in capitals, and its surname, are followed as a subject is: by a verb, or a colon. */
function isFollowed(
  [next, ...more]: readonly string[],
  rest: string,
  { isKnown, english }: { isKnown: boolean; english: boolean },
): boolean {
  if (next === undefined) return isKnown && /^\s?[:：,–—-]/u.test(rest);
  if (/^\p{Lu}/u.test(next)) {
    // Of German nouns, too, the second may be in capitals.
    return (english && more.length > 0) || isFollowed(more, rest, { isKnown: true, english });
  }
  return (
    VERB.test(next) ||
    (english && /[a-z]{2}(?:s|ed)$/.test(next) && !/(?:ss|ness|ings)$/.test(next))
  );
}

const VERB =
  /^(?:is|was|has|had|and|lives|works|likes|loves|hates|prefers|wants|needs|moved|plays|speaks|drinks|eats|ist|war|hat|wohnt|arbeitet|mag|est|a|était|habite|travaille|aime|es|tiene|vive|trabaja|è|ha|lavora|é|tem|mora|trabalha|heeft|woont|werkt|är|har|bor|er|jest|ma|mieszka|je|má)$/u;

/** Whom a heading or file name names: `null` for topics, dates and sentences. */
function readTitle(title: string): Subject | null {
  const words = title.match(/[\p{L}\p{M}][\p{L}\p{M}'’]*/gu) ?? [];
  const relation = words.map(relationOf).find((one) => one !== null) ?? null;
  const names = words.map(toWord).filter(
    (word) =>
      // A letter names nobody.
      (word.length > 1 || /\p{Lo}/u.test(word)) &&
      !isTopic(word) &&
      !isStopWord(word) &&
      relationOf(word) === null &&
      !POSSESSIVE.test(word),
  );
  if (words.length === 0 || words.length > 5) return null;
  const [name] = names;
  // A title with a word for its topic is about that: `Food likes`, `Work history`.
  if (
    name === undefined ||
    (words.some((word) => isTopic(word)) && !/['’]s\b|^\p{Lu}/u.test(title))
  ) {
    return relation === null ? null : { name: null, relation };
  }
  return { name, relation };
}

function toWord(word: string | undefined): string {
  return fold((word ?? '').replace(/[,:.]$/u, '').replace(/['’]s?$/u, ''));
}
