/**
 * The memory that is written and read: users with notes of about 500 bytes, the same for everyone
 * who is measured, and the same in each run.
 */

export interface NoteSet {
  users: number;
  /** Of each user. */
  notes: number;
}

/** Where a note is kept: `u0007`, `notes/0042.md`. */
export interface NotePlace {
  userId: string;
  path: string;
}

/** Every place of a set: the first note of each user, then the second of each. */
export function listPlaces(set: NoteSet): NotePlace[] {
  return Array.from({ length: set.users * set.notes }, (_, index) => placeAt(set, index));
}

/** The place of that index in {@link listPlaces}. */
export function placeAt({ users }: NoteSet, index: number): NotePlace {
  return toPlace(index % users, Math.floor(index / users));
}

/** The place that the `n`th operation of a run works on: near every place, in no order. */
export function pickPlace({ users, notes }: NoteSet, n: number): NotePlace {
  const index = Math.imul(n + 1, 0x9e3779b1) >>> 0;
  return toPlace(index % users, Math.floor(index / users) % notes);
}

/** What the `n`th write of a run writes: every second makes a new file, the others an old one anew. */
export function pickWritten(set: NoteSet, n: number): NotePlace {
  const place = pickPlace(set, n);
  return n % 2 === 0 ? { ...place, path: `notes/new-${n}.md` } : place;
}

function toPlace(user: number, note: number): NotePlace {
  return { userId: `u${pad(user)}`, path: `notes/${pad(note)}.md` };
}

/** Markdown of about 500 bytes, another one for each seed. */
export function toNote(seed: number): string {
  const next = createRandom(seed);
  const sentence = (words: number): string => {
    const text = Array.from({ length: words }, () => pickWord(next())).join(' ');
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  };
  const items = Array.from({ length: 5 }, () => `- ${sentence(9)}`);
  return [`# ${sentence(4)}`, '', sentence(22), '', '## Details', '', ...items, ''].join('\n');
}

/** Mulberry32: small, and the same on every machine. */
function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Two words that many notes have: what a search asks for. */
export function pickQuery(n: number): string {
  const index = Math.imul(n + 1, 0x85ebca6b) >>> 0;
  const first = index % 40;
  return `${word(first)} ${word(40 + (Math.floor(index / 40) % 60))}`;
}

const WORDS = 2_000;
const SYLLABLES = ['ka', 'lor', 'mi', 'tes', 'ra', 'non', 'pel', 'su', 'vi', 'dam', 'ter', 'go'];

/** Few words come often and many come rarely, as in speech. */
function pickWord(random: number): string {
  return word(Math.floor(WORDS ** random) - 1);
}

function word(rank: number): string {
  const count = SYLLABLES.length;
  const syllable = (index: number): string => SYLLABLES[index % count] ?? '';
  return (
    syllable(rank) +
    syllable(Math.floor(rank / count) + rank) +
    syllable(Math.floor(rank / count ** 2) + 7 * rank + 3)
  );
}

function pad(value: number): string {
  return String(value).padStart(4, '0');
}
