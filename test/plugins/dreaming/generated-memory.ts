import fc from 'fast-check';
import type { Operation, OperationKind } from '../../../plugins/dreaming/operations.ts';
import { OPERATION_KINDS } from '../../../plugins/dreaming/operations.ts';

const name = fc.constantFrom(
  'Anna',
  'Ben Okafor',
  'Zoë',
  'Acme',
  'Postgres',
  'Madrid',
  'Łódź',
  '王小明',
);
const detail = fc.oneof(
  fc.integer({ min: 0, max: 9_999 }).map(String),
  fc.constantFrom('2024-03-01', '09:30', '$500', '12%', 'v2.1', 'anna@example.org', '+49 30 1234'),
  fc.constantFrom('https://example.org/a', '[notes](b.md)', '`npm test`', 'on Mondays', 'at home'),
);
const fact = fc
  .tuple(
    fc.constantFrom('Prefers', 'Works with', 'Decided on', 'Does not like', 'Now uses', 'Met'),
    name,
    detail,
    fc.constantFrom('tea', 'billing', 'the project', 'long walks', 'the team'),
  )
  .map(([verb, who, what, rest]) => `- ${verb} ${who} ${what} ${rest}.`);
/** What a run leaves as it is, to the byte. */
export const PINNED = [
  '- pinned. <!-- pin -->',
  '<!-- pin -->\n- Keeps 42 keys.\n- Keeps 42 keys.\n\n- Not below this.\n<!-- /pin -->',
] as const;
const OLD = '- Lives in Berlin.';
const CORRECTION = '- Correction: lives in Madrid now, moved from Berlin.';
const WORDY = '- It is important to note that he basically really prefers short answers.';
const TERSE = '- He prefers short answers.';
const part = fc.oneof(
  { weight: 8, arbitrary: fact },
  { weight: 1, arbitrary: fc.constantFrom('', '## Work', '## Teas', '```', ...PINNED) },
  { weight: 1, arbitrary: fc.constantFrom(`${OLD}\n${CORRECTION}`, WORDY) },
);
const frontMatter = fc.constantFrom(
  '---\ntitle: x\n---\n',
  '---\ntitle:  "1  of 2" \n\nsince: 2024-03-01\n---\n',
);
/** Facts stand in a file more than once: that is what there is to merge. */
const file = fc
  .array(part, { minLength: 2, maxLength: 10 })
  .chain((parts) =>
    fc
      .array(fc.nat({ max: parts.length - 1 }), { maxLength: 4 })
      .map((again) => [...parts, ...again.map((at) => parts[at] ?? '')]),
  )
  .chain((parts) => frontMatter.map((head) => `${head}${parts.join('\n')}\n`));

/** Two files with front matter, pinned lines, repetitions, corrections and words too many. */
export const memory: fc.Arbitrary<Record<string, string>> = fc.record({
  'user/a.md': file,
  'user/b.md': file,
});

/** The front matter of a generated file. */
export function frontMatterOf(content: string): string {
  return content.slice(0, content.indexOf('\n---\n') + '\n---\n'.length);
}

/** What {@link toOperation} makes a proposal of. */
export interface Draft {
  kind: OperationKind;
  from: string;
  lines: number[];
  to: string;
  heading: string | null;
  text: number;
  foreign: string;
  sources: number[];
}
export const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.constantFrom(...OPERATION_KINDS),
  from: fc.constantFrom('user/a.md', 'user/b.md'),
  lines: fc.uniqueArray(fc.integer({ min: 1, max: 18 }), { minLength: 1, maxLength: 3 }),
  to: fc.constantFrom('user/a.md', 'user/b.md'),
  heading: fc.constantFrom(null, 'Work', 'Teas', 'Decisions', 'Notes'),
  text: fc.nat({ max: 6 }),
  foreign: fact,
  sources: fc.array(fc.integer({ min: 1, max: 18 }), { maxLength: 2 }),
});

export const drafts = fc.array(draft, { minLength: 1, maxLength: 12 });

/** Good and bad proposals: the lines as they are, cut, joined, mixed, made up. */
export function toOperation(contents: Record<string, string>, it: Draft): Operation {
  const lineOf = (path: string, at: number) => contents[path]?.split('\n')[at - 1] ?? '';
  const removed = it.lines.map((at) => lineOf(it.from, at));
  const first = removed[0] ?? '';
  const texts = [
    [first],
    removed,
    [removed.join(' ')],
    [first.slice(0, Math.floor(first.length / 2))],
    [it.foreign],
    [first.replace(/\d+/, '7')],
    [removed.map((text) => text.split(' ').toReversed().join(' ')).join(' ')],
  ];
  return {
    kind: it.kind,
    reason: 'because',
    remove: it.lines.map((at) => ({ path: it.from, line: at, text: lineOf(it.from, at) })),
    add:
      it.text === 6 && it.kind === 'merge'
        ? null
        : { path: it.to, heading: it.heading, lines: texts[it.text] ?? [] },
    sources: it.sources.map((at) => ({ path: it.to, line: at })),
  };
}

/** For each file a good proposal of each kind that it has something for, but for the catalog. */
export function goodOperations(contents: Record<string, string>): Operation[] {
  return Object.entries(contents).flatMap(([path, content]) => {
    const lines = content.split('\n');
    const isFact = (text: string) => text.startsWith('- ') && !text.includes('<!--');
    const first = lines.findIndex((text, at) => isFact(text) && lines.indexOf(text, at + 1) > at);
    const last = lines.findLastIndex(isFact);
    const pick = (at: number) => ({ path, line: at + 1, text: lines[at] ?? '' });
    const common = { reason: 'because', sources: [] };
    const merge: Operation[] =
      first === -1
        ? []
        : [
            {
              ...common,
              kind: 'merge',
              remove: [pick(first), pick(lines.indexOf(lines[first] ?? '', first + 1))],
              add: { path, heading: null, lines: [lines[first] ?? ''] },
            },
          ];
    const other = path === 'user/a.md' ? 'user/b.md' : 'user/a.md';
    const move: Operation[] =
      last === -1
        ? []
        : [
            {
              ...common,
              kind: 'move',
              remove: [pick(last)],
              add: { path: other, heading: 'Decisions', lines: [lines[last] ?? ''] },
            },
          ];
    const old = lines.indexOf(OLD);
    const correction = lines.indexOf(CORRECTION);
    const supersede: Operation[] =
      old === -1
        ? []
        : [
            {
              ...common,
              kind: 'supersede',
              remove: [pick(old)],
              add: null,
              sources: [{ path, line: correction + 1 }],
            },
          ];
    const wordy = lines.indexOf(WORDY);
    const reword: Operation[] =
      wordy === -1
        ? []
        : [
            {
              ...common,
              kind: 'reword',
              remove: [pick(wordy)],
              add: { path, heading: null, lines: [TERSE] },
            },
          ];
    return [...merge, ...supersede, ...reword, ...move];
  });
}

/** The merges of {@link goodOperations}, each with a word less. */
export function lossyOperations(contents: Record<string, string>, word: number): Operation[] {
  return goodOperations(contents)
    .filter(({ kind }) => kind === 'merge')
    .map((operation) => {
      const words = (operation.add?.lines[0] ?? '').split(' ');
      words.splice(1 + (word % Math.max(1, words.length - 1)), 1);
      const { path } = operation.remove[0] ?? { path: '' };
      return { ...operation, add: { path, heading: null, lines: [words.join(' ')] } };
    });
}
