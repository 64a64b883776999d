import type { HygieneFinding } from '../../contracts/admin.ts';
import { createPause } from '../../time/pause.ts';
import { toPlaces } from './finding.ts';
import type { Line } from './line.ts';

/** A line of the form `key: value`. */
interface Fact {
  line: Line;
  key: string;
  value: string;
}

const KEY_LENGTH = 40;
const KEY = /^\p{L}[\p{L}\p{N} ./'’()-]*$/u;

/** Keys that every document, entry or step has its own value for, so different values are normal. */
const OWN_KEYS = new Set([
  'action',
  'answer',
  'author',
  'created',
  'date',
  'description',
  'done',
  'due',
  'e.g',
  'example',
  'goal',
  'http',
  'https',
  'id',
  'link',
  'next',
  'note',
  'notes',
  'owner',
  'priority',
  'question',
  'result',
  'see',
  'source',
  'status',
  'step',
  'summary',
  'tags',
  'time',
  'title',
  'todo',
  'topic',
  'type',
  'updated',
  'url',
  'user',
  'version',
]);

/**
 * Finds keys with several values under one heading of a file, or under the same heading in several
 * files. Only a reader can tell a contradiction from a list.
 */
export async function findContradictions(lines: readonly Line[]): Promise<HygieneFinding[]> {
  const pause = createPause();
  const groups = new Map<string, Fact[]>();
  for (const line of lines) {
    const turn = pause();
    if (turn !== undefined) await turn;
    const fact = parseFact(line);
    if (fact === null) continue;
    const name = JSON.stringify([line.heading.toLowerCase(), fact.key]);
    const group = groups.get(name) ?? [];
    group.push(fact);
    groups.set(name, group);
  }
  return [...groups.values()].flatMap((group) => {
    if (new Set(group.map(({ value }) => value)).size < 2) return [];
    const isOneFile = new Set(group.map(({ line }) => line.path)).size === 1;
    return [
      {
        kind: 'contradiction' as const,
        severity: isOneFile ? ('high' as const) : ('medium' as const),
        message: `“${group[0]?.key ?? ''}” has several values.`,
        places: toPlaces(group.map(({ line }) => line)),
        mend: 'Keep the value that holds now; the revisions keep the others.',
      },
    ];
  });
}

function parseFact(line: Line): Fact | null {
  const colon = line.text.indexOf(':');
  if (colon < 1 || colon > KEY_LENGTH) return null;
  const key = line.text.slice(0, colon).trim().toLowerCase();
  const value = line.text
    .slice(colon + 1)
    .trim()
    .toLowerCase();
  if (value === '' || value.startsWith('//') || !KEY.test(key) || OWN_KEYS.has(key)) return null;
  // `Oslo 10:30` is a time, and a sentence before a colon is not a key.
  if (/\d$/.test(key) || key.split(' ').length > 4) return null;
  return { line, key, value: value.replace(/[.;,]$/, '') };
}
