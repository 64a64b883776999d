import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHECKS } from '../../../plugins/dreaming/checks/list.ts';
import type { Operation, OperationKind } from '../../../plugins/dreaming/operations.ts';
import { OPERATION_KINDS, parseReply } from '../../../plugins/dreaming/operations.ts';
import { type Plan, planOperations } from '../../../plugins/dreaming/plan.ts';
import { joinLines, parseMarkdown } from '../../../plugins/dreaming/text/markdown.ts';
import { missingSpecifics } from '../../../plugins/dreaming/text/specifics.ts';
import { snapshotOf } from './memory.ts';

const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 200 : 20_000;
const LONG = { timeout: RUNS * 300 };

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
const line = fc.oneof(
  { weight: 8, arbitrary: fact },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '## Work', '## Teas', '- pinned. <!-- pin -->', '```'),
  },
);
/** Facts stand in a file more than once: that is what there is to merge. */
const file = fc
  .array(line, { minLength: 2, maxLength: 10 })
  .chain((lines) =>
    fc
      .array(fc.nat({ max: lines.length - 1 }), { maxLength: 4 })
      .map((again) => [...lines, ...again.map((at) => lines[at] ?? '')]),
  )
  .map((lines) => `---\ntitle: x\n---\n${lines.join('\n')}\n`);
const memory: fc.Arbitrary<Record<string, string>> = fc.record({
  'user/a.md': file,
  'user/b.md': file,
});

interface Draft {
  kind: OperationKind;
  from: string;
  lines: number[];
  to: string;
  heading: string | null;
  text: number;
  foreign: string;
  sources: number[];
}
const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.constantFrom(...OPERATION_KINDS),
  from: fc.constantFrom('user/a.md', 'user/b.md'),
  lines: fc.uniqueArray(fc.integer({ min: 1, max: 18 }), { minLength: 1, maxLength: 3 }),
  to: fc.constantFrom('user/a.md', 'user/b.md'),
  heading: fc.constantFrom(null, 'Work', 'Teas', 'Decisions', 'Notes'),
  text: fc.nat({ max: 6 }),
  foreign: fact,
  sources: fc.array(fc.integer({ min: 1, max: 18 }), { maxLength: 2 }),
});

const drafts = fc.array(draft, { minLength: 1, maxLength: 12 });

/** Good and bad proposals: the lines as they are, cut, joined, mixed, made up. */
function toOperation(contents: Record<string, string>, it: Draft): Operation {
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

/** A good proposal for each file that says something twice, and a move of its last line. */
function goodOperations(contents: Record<string, string>): Operation[] {
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
    return [...merge, ...move];
  });
}

/** The merges of {@link goodOperations}, each with a word less. */
function lossyOperations(contents: Record<string, string>, word: number): Operation[] {
  return goodOperations(contents)
    .filter(({ kind }) => kind === 'merge')
    .map((operation) => {
      const words = (operation.add?.lines[0] ?? '').split(' ');
      words.splice(1 + (word % Math.max(1, words.length - 1)), 1);
      const { path } = operation.remove[0] ?? { path: '' };
      return { ...operation, add: { path, heading: null, lines: [words.join(' ')] } };
    });
}

function contentsAfter(contents: Record<string, string>, plan: Plan): Record<string, string> {
  const after = plan.files.map((planned) => [planned.path, planned.after] as const);
  return { ...contents, ...Object.fromEntries(after) };
}

const planOf = (contents: Record<string, string>, operations: readonly Operation[]) =>
  planOperations(snapshotOf(contents), operations, { checks: CHECKS, limits: { maxFiles: 9 } });

describe('whatever a model proposes', LONG, () => {
  it('every specific from before stands somewhere after, and what is protected is as it was', () => {
    let applied = 0;
    fc.assert(
      fc.property(memory, drafts, fc.nat(), (contents, all, word) => {
        const operations = [
          ...all.map((it) => toOperation(contents, it)),
          ...lossyOperations(contents, word),
          ...goodOperations(contents),
        ];
        const plan = planOf(contents, operations);
        applied += plan.applied.length;
        const after = contentsAfter(contents, plan);
        const text = Object.values(after).join('\n');
        for (const content of Object.values(contents)) {
          expect(missingSpecifics(content, text)).toEqual([]);
        }
        for (const [path, content] of Object.entries(after)) {
          expect(content.startsWith('---\ntitle: x\n---\n')).toBe(true);
          const pins = (of: string) => of.split('\n').filter((it) => it.includes('<!-- pin -->'));
          expect(pins(content)).toEqual(pins(contents[path] ?? ''));
        }
        expect(plan.applied.length + plan.dropped.length).toBe(operations.length);
      }),
      { numRuns: RUNS },
    );
    // Else nothing was tried.
    expect(applied).toBeGreaterThan(RUNS);
  });

  it('files are written so that at every moment each specific stands somewhere', () => {
    fc.assert(
      fc.property(memory, drafts, (contents, all) => {
        const plan = planOf(contents, [
          ...all.map((it) => toOperation(contents, it)),
          ...goodOperations(contents),
        ]);
        const now: Record<string, string> = { ...contents };
        for (const planned of plan.files) {
          now[planned.path] = planned.after;
          const text = Object.values(now).join('\n');
          for (const content of Object.values(contents)) {
            expect(missingSpecifics(content, text)).toEqual([]);
          }
        }
      }),
      { numRuns: RUNS / 2 },
    );
  });

  it('what was applied is not applied again by the same proposal', () => {
    fc.assert(
      fc.property(memory, draft, (contents, one) => {
        const operation = toOperation(contents, one);
        const plan = planOf(contents, [operation]);
        if (plan.files.length === 0) return;
        const after = contentsAfter(contents, plan);
        const again = planOf(after, [operation]);
        // Lines that stood there three times may be merged twice.
        const moved = operation.remove.every(({ path, line: at, text }) => {
          return (after[path]?.split('\n')[at - 1] ?? '').trim() === text.trim();
        });
        if (!moved) expect(again.applied).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});

describe('taking texts apart', LONG, () => {
  it('gives every file back to the byte', () => {
    const text = fc.array(
      fc.constantFrom('a', '\n', '\r\n', '---', '```', '# T', '<!-- pin -->', ' '),
    );
    fc.assert(
      fc.property(text, (parts) => {
        const content = parts.join('');
        const parsed = parseMarkdown(content);
        expect(joinLines(parsed.lines, parsed)).toBe(content);
      }),
      { numRuns: RUNS },
    );
  });

  it('takes any reply of a model, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (reply) => {
        parseReply(reply);
        parseReply(JSON.stringify({ operations: [reply, { kind: 'merge', remove: reply }] }));
      }),
      { numRuns: RUNS },
    );
  });
});
