import { indentOf, isBlank, isItem, type MarkdownText } from '../../../core/edits/markdown.ts';
import { listWords, parseMark, toLightStem } from './statement.ts';

/** What says, around a line, who or what it is about. */
export interface Place {
  /** Headings from the outermost one. */
  headings: readonly string[];
  /** Lines that introduce it, as `Things to avoid:` does, and the items that it is part of. */
  leads: readonly string[];
}

type Lines = Pick<MarkdownText, 'lines' | 'headings' | 'levels'>;

/** The place of a line, by its index. */
export function placeOf(text: Lines, index: number): Place {
  return { headings: headingsOver(text, index), leads: leadsOver(text, index) };
}

/** Whether two places say the same about what stands in them. */
export function isSamePlace(one: Place, other: Place): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The lines below an item, or a line of text, that are part of it: indices in order. */
export function childrenOf({ lines }: Pick<Lines, 'lines'>, index: number): number[] {
  const indent = indentOf(lines[index] ?? '');
  const children: number[] = [];
  for (let at = index + 1; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (isBlank(line)) continue;
    if (indentOf(line) <= indent) break;
    children.push(at);
  }
  return children;
}

/** Whether a line goes on in the next one, or is itself what another goes on with. */
export function isWrapped(text: Lines, index: number): boolean {
  return continues(text, index) || continues(text, index + 1);
}

/** Headings, from the outermost one, that a section has from this line on. */
export function headingsOver({ headings, levels }: Lines, index: number): string[] {
  const over: string[] = [];
  let below = Infinity;
  for (let at = index; at >= 0; at -= 1) {
    const level = levels[at] ?? null;
    if (level === null || level >= below) continue;
    over.unshift(headings[at] ?? '');
    below = level;
  }
  return over;
}

/** The introductions of a line: what ends with a colon above its list, and its parents. */
export function leadsOver({ lines, headings }: Lines, index: number): string[] {
  const leads: string[] = [];
  let indent = indentOf(lines[index] ?? '');
  const isListed = isItem(lines[index]?.trim() ?? '');
  // A blank line ends what a line of text introduces, but not what a list is introduced by.
  let isNear = true;
  for (let at = index - 1; at >= 0; at -= 1) {
    const line = lines[at] ?? '';
    if (typeof headings[at] === 'string') break;
    if (isBlank(line)) {
      isNear = isListed && isNear;
      continue;
    }
    const text = line.trim();
    if (isItem(text)) {
      if (indentOf(line) < indent) {
        leads.unshift(text);
        indent = indentOf(line);
      }
      continue;
    }
    if (indentOf(line) < indent && indent > 0 && !/[:：]$/.test(text)) continue;
    if (/[:：]\**$/.test(text) && isNear) leads.unshift(text);
    break;
  }
  return leads;
}

/**
 * Headings and names of files that say nothing of who or what a line is about, nor whether it
 * holds: `Ideas`, `Done` and `People I met` are none of them.
 */
const NEUTRAL = new Set(
  (
    'about background contact contacts detail details facts fact general index info information life list ' +
    'me memory misc miscellaneous more my news note notes other others overview page people personal ' +
    'preference preferences profile project projects rest section summary team the topics update updates ' +
    'user work a an and for from in of on or to with notizen vorlieben profil projekte notas perfil'
  )
    .split(' ')
    .map(toLightStem),
);

/** Of these words those that a line may stand without, but that say something of what comes to them. */
const TOPICS = new Set(
  'contact life people personal preference project team work vorlieben projekte'
    .split(' ')
    .map(toLightStem),
);

const DECIDED = ['decided', 'agreed', 'chose', 'chosen'];
const PREFERRED = [
  'prefers',
  'likes',
  'loves',
  'enjoys',
  'favourite',
  'favorite',
  'dislikes',
  'hates',
];
/** Words of lines that a heading gathers: a decision is what was decided. */
const GATHERED: Readonly<Record<string, readonly string[]>> = {
  decision: DECIDED,
  project: DECIDED,
  preference: PREFERRED,
};

/** What a place says of a line that comes to it: its subjects, and its topics. */
export function topicsOf(place: Place, path: string): Set<string> {
  const topics = toStems(place.headings.join('\n')).filter((stem) => TOPICS.has(stem));
  return new Set([...subjectsOf(place, path), ...topics]);
}

/** Words of a place that say who or what is spoken of, in the form in which they are compared. */
export function subjectsOf(place: Place, path: string): Set<string> {
  const inside = path
    .slice(path.indexOf('/') + 1)
    .replace(/\.\w+$/, '')
    .replaceAll(/[/_.-]/g, ' ');
  const named = toStems([...place.headings, inside].join('\n'));
  const led = toStems(place.leads.join('\n'));
  // An introduction says of its list what it says: none of its words is neutral but the smallest.
  return new Set([
    ...named.filter((stem) => stem.length > 1 && !NEUTRAL.has(stem) && !isDate(stem)),
    ...led.filter((stem) => stem.length > 1),
  ]);
}

/** Subjects that neither a line nor another place of it speaks of. */
export function missingSubjects(
  subjects: ReadonlySet<string>,
  line: string,
  others: ReadonlySet<string>,
): string[] {
  const said = new Set(toStems(line));
  return [...subjects].filter(
    (subject) =>
      !others.has(subject) &&
      !said.has(subject) &&
      GATHERED[subject]?.some((word) => said.has(toLightStem(word))) !== true,
  );
}

/** Whether a heading that is new says no more than a line below it: its own words in a row. */
export function isHeadingOf(heading: string, line: string): boolean {
  const words = toStems(heading);
  const said = toStems(line);
  if (words.every((word) => NEUTRAL.has(word) || GATHERED[word] !== undefined)) return true;
  return said.some((_word, at) => words.every((word, index) => said[at + index] === word));
}

function toStems(text: string): string[] {
  return listWords(text).map(toLightStem);
}

function isDate(word: string): boolean {
  return /^\d[\d.:/-]*$/.test(word);
}

/** Whether a line goes on with what the one above it began. */
function continues({ lines, headings }: Lines, index: number): boolean {
  const line = lines[index] ?? '';
  const above = lines[index - 1] ?? '';
  if (index <= 0 || index >= lines.length || isBlank(line) || isBlank(above)) return false;
  if (typeof headings[index] === 'string' || typeof headings[index - 1] === 'string') return false;
  const text = line.trim();
  if (isItem(text) || /^[>|<#`~]/.test(text)) return false;
  // `Name: Anna` begins something of its own, as a new sentence does below one that has ended.
  if (parseMark(above).marker === '' && /^\**\p{Lu}[^:.!?]{0,30}:/u.test(text)) return false;
  const hasEnded = /[.!?:;。！？…][)"'”’*_]*$/u.test(above.trim());
  const isNew = /^[^\p{L}]*(?:[\p{Lu}\p{Lt}\p{Lo}]|\p{Nd}|$)/u.test(text);
  return !(hasEnded && isNew && parseMark(above).marker === '');
}
