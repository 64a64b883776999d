import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHECKS } from '../../../plugins/dreaming/checks/list.ts';
import { type Operation, parseReply } from '../../../plugins/dreaming/operations.ts';
import { type Plan, planOperations } from '../../../plugins/dreaming/plan.ts';
import { joinLines, parseMarkdown } from '../../../core/edits/markdown.ts';
import { missingSpecifics } from '../../../plugins/dreaming/text/specifics.ts';
import {
  draft,
  drafts,
  frontMatterOf,
  goodOperations,
  lossyOperations,
  memory,
  toOperation,
} from './generated-memory.ts';
import { snapshotOf } from './memory.ts';

const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 200 : 20_000;
const LONG = { timeout: 180_000 + RUNS * 300 };

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
          expect(content.startsWith(frontMatterOf(contents[path] ?? ''))).toBe(true);
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
