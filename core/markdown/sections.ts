import { type Heading, type MarkdownStructure, readStructure } from './structure.ts';

/** The longest title that a trail names, in UTF-16 units: each passage below repeats it. */
export const MAX_TITLE_LENGTH = 200;

const SEPARATOR = ' > ';

/** The headings that begin the sections of a text: those outside of quotations and list items. */
export function listSections({ headings }: Pick<MarkdownStructure, 'headings'>): Heading[] {
  return headings.filter(({ depth }) => depth === 0);
}

/**
 * For each section the titles above it and its own, as a find shows them; `null` where the trail does
 * not name it: without a title, or with one that is too long.
 */
export function listTrails(sections: readonly Heading[]): (string | null)[] {
  let above: readonly Heading[] = [];
  return sections.map((heading) => {
    above = nestHeading(above, heading);
    return isNamed(heading) ? toTrail(above) : null;
  });
}

/** The headings above what follows a heading: those of lower levels, and itself. */
export function nestHeading<T extends Pick<Heading, 'level'>>(
  above: readonly T[],
  heading: T,
): readonly T[] {
  return [...above.filter(({ level }) => level < heading.level), heading];
}

/** Whether trails name a heading: it has a title, and one that is not too long. */
export function isNamed({ title }: Pick<Heading, 'title'>): boolean {
  return title !== '' && title.length <= MAX_TITLE_LENGTH;
}

/** The titles of nested headings in one line; `null` if there are none. */
export function toTrail(headings: readonly Pick<Heading, 'title'>[]): string | null {
  const titles = headings.filter(isNamed).map(({ title }) => title);
  return titles.length === 0 ? null : titles.join(SEPARATOR);
}

/**
 * Finds the sections that a heading names, however it is spelled: the title alone, with its marks
 * (`## Tea`, which then has to be of that level), or with the titles above it as a find shows them
 * (`Food > Tea`). Where no title is the same, emphasis, links, entities and spaces do not count.
 */
export function findSections(sections: readonly Heading[], wanted: string): Heading[] {
  const asked = parseWanted(wanted);
  // A title may begin with marks itself: `# Tea` below a link's definition and above `===`.
  const given = wanted.trim();
  const isTrail = given.includes(SEPARATOR) || asked.title.includes(SEPARATOR);
  // A file may have 65,000 headings: their trails take several times as long as their titles.
  const trails = isTrail ? listTrails(sections) : [];
  const find = (isMeant: (title: string, trail: string | null) => boolean): Heading[] =>
    sections.filter(
      ({ level, title }, at) =>
        (asked.level ?? level) === level && isMeant(title, trails[at] ?? null),
    );
  const same = new Set([
    ...find((title, trail) => title === asked.title || trail === asked.title),
    ...sections.filter(({ title }, at) => title === given || trails[at] === given),
  ]);
  const whole = sections.filter((heading) => same.has(heading));
  if (whole.length > 0 || asked.title === '') return whole;
  const ending = find((_, trail) => trail?.endsWith(SEPARATOR + asked.title) === true);
  if (ending.length > 0) return ending;
  const plain = toPlain(asked.title);
  return find(
    (title, trail) =>
      toPlain(title) === plain ||
      (trail !== null && `${SEPARATOR}${toPlain(trail)}`.endsWith(SEPARATOR + plain)),
  );
}

/** A heading as it was asked for, in either form; without a level where it has no marks. */
function parseWanted(wanted: string): { level: number | null; title: string } {
  const text = wanted.trim();
  const { headings, lines } = readStructure(text);
  const [heading] = headings;
  const isWhole = heading?.depth === 0 && heading.first === 0 && heading.last === lines.length - 1;
  if (isWhole) return { level: heading.level, title: heading.title };
  const words = text.split(/[\n\r]+/).map((line) => line.trim());
  return { level: null, title: words.filter((line) => line !== '').join(' ') };
}

/** Words that look like what they are; most titles are such. */
const PLAIN = /^[A-Za-z0-9]+(?: [A-Za-z0-9]+)*$/;

const NAMED_ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  copy: '©',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
  agrave: 'à',
  ccedil: 'ç',
  ntilde: 'ñ',
};

/** A title without what its look is made of. */
function toPlain(title: string): string {
  if (PLAIN.test(title)) return title;
  return withoutLinks(title)
    .replace(/\\([!-/:-@[-`{-~])|[*`~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '$1')
    .replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, toCharacter)
    .replace(/\s+/g, ' ')
    .trim()
    .normalize('NFC');
}

/** `[words](target)`, `[[target|words]]` and `[[words]]` are their words. */
function withoutLinks(title: string): string {
  return title
    .replace(/!?\[\[(?:[^[\]|]{0,200}\|)?([^[\]|]{0,200})\]\]/g, '$1')
    .replace(/!?\[([^[\]]{0,200})\]\([^()]{0,200}\)/g, '$1');
}

function toCharacter(
  entity: string,
  decimal: string | undefined,
  hexadecimal: string | undefined,
  name: string | undefined,
): string {
  if (name !== undefined) return NAMED_ENTITIES[name] ?? entity;
  const code = hexadecimal === undefined ? Number(decimal) : parseInt(hexadecimal, 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : entity;
}
