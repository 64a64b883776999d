import type { RedactTextAnswer } from '../../schemas/revisions.ts';

/** A kind of names that a redaction does not change. */
export type NameKind = keyof RedactTextAnswer['left'];

const KINDS: readonly NameKind[] = [
  'paths',
  'userIds',
  'spaces',
  'actors',
  'operators',
  'keys',
  'settings',
  'audit',
];
/** Names of a kind that an answer lists. */
const MOST_LEFT = 100;

/** The names that have the text, and stay. */
export interface LeftNames {
  /** Lists a name if it has the text. */
  note(kind: NameKind, name: string | null | undefined): void;
  /** Lists the name of something that has the text. */
  add(kind: NameKind, name: string): void;
  list(): RedactTextAnswer['left'];
}

/** Collects names; `isIn` says whether one has the text. */
export function createLeftNames(isIn: (name: string) => boolean): LeftNames {
  const found = new Map(KINDS.map((kind) => [kind, new Set<string>()]));
  const add = (kind: NameKind, name: string) => {
    const names = found.get(kind);
    if (names !== undefined && names.size < MOST_LEFT) names.add(name);
  };
  return {
    note(kind, name) {
      if (name !== null && name !== undefined && isIn(name)) add(kind, name);
    },
    add,
    list: () => mapLeft((kind) => [...(found.get(kind) ?? [])]),
  };
}

/** The names of two pages, each once. */
export function addLeft(
  one: RedactTextAnswer['left'],
  other: RedactTextAnswer['left'],
): RedactTextAnswer['left'] {
  return mapLeft((kind) => [...new Set([...one[kind], ...other[kind]])]);
}

/** All names, whatever they name. */
export function listLeft(left: RedactTextAnswer['left']): string[] {
  return [...new Set(KINDS.flatMap((kind) => left[kind]))];
}

function mapLeft(namesOf: (kind: NameKind) => string[]): RedactTextAnswer['left'] {
  return Object.fromEntries(KINDS.map((kind) => [kind, namesOf(kind)])) as RedactTextAnswer['left'];
}
