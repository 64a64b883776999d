import { isStopWord } from '../search/text/english.ts';
import { isEnglish } from '../search/text/language.ts';
import { readLanguageHints } from '../search/text/tokenise.ts';
import { readWords } from '../search/text/words.ts';
import { isOpener } from '../values/sentence-starters.ts';
import { isTopic, relationOf } from '../values/words.ts';
import { parseInboxLine } from './inbox-line.ts';
import type { Row, Workspace } from './workspace.ts';
import { toBare } from './loose-text.ts';
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
  /** Whom a fact is about by its first words: somebody with a relation, or whom memory knows. Else `null`. */
  ofFact(text: string): Subject | null;
  differ(subjects: readonly (Subject | null)[]): boolean;
  /** Whether a word is a name of the user. */
  isUser(word: string): boolean;
  /** Whether memory has a word in small letters too, so that it names nobody. */
  isCommon(word: string): boolean;
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
  const people = new People();
  for (const path of paths) {
    const folders = path
      .replace(/\.\w+$/, '')
      .split('/')
      .slice(1);
    people.readTitles(folders);
    for (const [at, row] of workspace.live(path).entries()) {
      if (at % LINES === 0) yield null;
      people.read(row.text);
      if (row.heading !== null) people.readTitles([...folders, ...workspace.headingsOf(row, true)]);
      const match = NAME_LINE.exec(toBare(row.text).replace(/[*_]/g, ''));
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
      const leading = readLeading(withoutDate(one), { people, isEnglish: isEnglishLine });
      if (leading !== null) return withoutUser(leading);
    }
    if (said !== null) {
      return said.speaker === null
        ? null
        : withoutUser(readTitle(said.speaker, { people, isOfPeople: true }));
    }
    const titles = [
      ...path
        .replace(/\.\w+$/, '')
        .split('/')
        .slice(1),
      ...headings,
    ];
    for (let at = titles.length - 1; at >= 0; at -= 1) {
      const isOfPeople = titles.slice(0, at).some(isAboutPeople);
      const named = readTitle(titles[at] ?? '', { people, isOfPeople });
      if (named !== null) return withoutUser(named);
    }
    return null;
  }

  function ofFact(text: string): Subject | null {
    const leading = readLeading(toBare(text), { people, isEnglish: isEnglishLine });
    const isPerson =
      leading !== null &&
      (leading.relation !== null || (leading.name !== null && people.isKnown(leading.name)));
    return isPerson ? withoutUser(leading) : null;
  }

  return {
    ofLine,
    ofFact,
    isUser: (word) => own.has(toWord(word)),
    isCommon: (word) => people.isCommon(toWord(word)),
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

/** The words of memory that are names of people, and those that name nobody. */
class People {
  /** Words that stand somewhere in small letters. */
  readonly #small = new Set<string>();
  readonly #known = new Set<string>();
  /** Names of files and headings that stand below one of people. */
  readonly #titled = new Set<string>();

  /** The last of some titles, from the outermost, names people where one above it says so. */
  readTitles(titles: readonly string[]): void {
    const last = titles.at(-1) ?? '';
    if (!titles.slice(0, -1).some(isAboutPeople) || isAboutPeople(last)) return;
    for (const word of last.match(/[\p{L}\p{M}]{2,}/gu) ?? []) {
      if (isTopic(word) || isStopWord(toWord(word)) || relationOf(word) !== null) continue;
      this.#titled.add(toWord(word));
    }
  }

  /** Whether a file or a heading of people has the name. */
  isTitled(name: string): boolean {
    return this.#titled.has(name);
  }

  read(text: string): void {
    const words = [...text.matchAll(/[\p{L}\p{M}]+(?:['’]s)?/gu)];
    for (const [at, { 0: word }] of words.entries()) {
      const isCapital = /^[\p{Lu}\p{Lt}]/u.test(word);
      if (!isCapital) {
        this.#small.add(toWord(word));
        continue;
      }
      const [before, next] = [words[at - 1]?.[0] ?? '', words[at + 1]?.[0] ?? ''];
      const isAdjacent = between(text, words[at], words[at + 1]) === ' ';
      const isRelated =
        (relationOf(before) !== null && relationOf(word) === null) ||
        (relationOf(next) !== null && /[(（,]\s?$/u.test(between(text, words[at], words[at + 1])));
      if (isRelated || /['’]s$/u.test(word) || (isAdjacent && PERSON_VERB.test(fold(next)))) {
        this.#known.add(toWord(word));
      }
    }
    for (const [, name = ''] of text.matchAll(HONORIFIC)) this.#known.add(fold(name));
  }

  isCommon(name: string): boolean {
    return this.#small.has(name) && !this.isKnown(name);
  }

  isKnown(name: string): boolean {
    return this.#known.has(name) || this.#titled.has(name);
  }
}

function between(text: string, one?: RegExpExecArray, next?: RegExpExecArray): string {
  return one === undefined || next === undefined
    ? ''
    : text.slice(one.index + one[0].length, next.index);
}

/** What only people do, behind a name. */
const PERSON_VERB =
  /^(?:lives?|works?|likes?|loves|hates|prefers|wants|needs|moved|speaks|drinks|eats|said|says|thinks|wohnt|arbeitet|mag|liebt|trinkt|isst|spricht|zog|habite|travaille|aime|prefere|veut|boit|mange|vive|trabaja|prefiere|quiere|le gusta|bebe|come|vive|lavora|ama|beve|mangia|vuole|mora|trabalha|gosta|quer|woont|werkt|houdt|drinkt|eet|bor|arbetar|gillar|ater|jobber|liker|arbejder|mieszka|pracuje|lubi|woli|pije|bydli|asuu|lakik|живет|работает|любит|пьет|ест)$/u;
/** A name of scripts without capitals, before what is said to people. */
const HONORIFIC =
  /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{1,6}?)(?:さん|ちゃん|くん|君|様|先生|씨|님)/gu;

/** Headings and folders under which each name is somebody. */
const PEOPLE = new RegExp(
  `^(?:${[
    'people|persons?|contacts?|famil(?:y|ie|le|ia|iglia|j)|friends|relatives|colleagues|teammates|team|kids|children|neighbou?rs',
    'personen|leute|menschen|kontakte|freunde|kolleg(?:en|innen)|kinder|nachbarn|verwandte',
    'personnes|gens|famille|amis|collegues|equipe|enfants|voisins|personas|gente|amigos|companeros|equipo|hijos|vecinos|contactos',
    'persone|famiglia|amici|colleghi|figli|vicini|pessoas|filhos|equipa|equipe|vizinhos|mensen|vrienden|collega|kinderen|buren|gezin',
    'familj|vanner|kollegor|barn|grannar|manniskor|familie|venner|kolleger|naboer|ludzie|rodzina|przyjaciele|znajomi|dzieci|koledzy',
    'lide|rodina|pratele|deti|aile|arkadaslar|kisiler|cocuklar|perhe|ystavat|lapset|csalad|baratok|gyerekek|prieteni|copii',
    'люди|семья|семья|друзья|дети|коллеги|родня',
  ].join(
    '|',
  )})$|家族|友人|友達|人物|同僚|家庭|朋友|家人|同事|孩子|子供|가족|친구|동료|사람|아이|عائلة|العائلة|اصدقاء|أصدقاء|الأصدقاء|משפחה|חברים`,
  'u',
);

function isAboutPeople(title: string): boolean {
  const words = fold(title).match(/[\p{L}\p{M}]+/gu) ?? [];
  return words.some((word) => PEOPLE.test(word) || relationOf(word) !== null);
}

/** A line of a dated note without its date. */
function withoutDate(text: string): string {
  return text.replace(/^\d{4}-\d{2}-\d{2}(?: \d{1,2}:\d{2})?\s{0,2}[:,–—-]?\s{0,2}/u, '');
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
  { people, isEnglish: isEnglishLine }: { people: People; isEnglish: (line: string) => boolean },
): Subject | null {
  const addressed =
    /^[*_"“「『]{0,3}(?:[\p{L}]{1,4}の)?([^\p{P}\s]{1,6}?)(?:さん|ちゃん|くん|君|様|先生|씨|님)/u.exec(
      text,
    );
  if (addressed?.[1] !== undefined) return { name: fold(addressed[1]), relation: null };
  const [whole = '', words = '', bracketed = ''] = LEADING.exec(text) ?? [];
  const bracket = /\p{L}{2}/u.test(bracketed) ? bracketed : '';
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
  // "Children: Mia and Paul" says who they are, and is about the user.
  if (relation !== null && /^[:：]\s?\p{Lu}/u.test(text.slice(whole.length))) return null;
  if (relation !== null) at += 1;
  const name = toWord(all[at]);
  const rest = text.slice(whole.length);
  const isName =
    /^\p{Lu}/u.test(all[at] ?? '') &&
    !isTopic(name) &&
    !isOpener(name) &&
    !isStopWord(name) &&
    !people.isCommon(name) &&
    (relation !== null ||
      bracket !== '' ||
      people.isTitled(name) ||
      /['’]s$/u.test(all[at] ?? '') ||
      isFollowed(all.slice(at + 1), rest, {
        isKnown: people.isKnown(name),
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

/** Whom a heading or file name names: somebody whom memory knows; `null` for topics, dates and sentences. */
function readTitle(
  title: string,
  { people, isOfPeople }: { people: People; isOfPeople: boolean },
): Subject | null {
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
  if (relation === null && PEOPLE.test(fold(title))) return null;
  const name = names.find(
    (one) => relation !== null || isOfPeople || (people.isKnown(one) && !people.isCommon(one)),
  );
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
