import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findLinks } from '../../../../core/files/links.ts';
import {
  OPERATION_KINDS,
  type Operation,
  parseReply,
} from '../../../../core/subagents/remember/operations.ts';
import { planOperations } from '../../../../core/subagents/remember/plan.ts';
import { toShownFile } from '../../../../core/subagents/remember/shown-file.ts';

const PATHS = ['user/a.md', 'user/index.md', 'user/b/c.md'];
const words = fc
  .array(fc.constantFrom('tea', 'Ana', '## Tea', '- x', '', 'é', '---', '2026-01-01'), {
    maxLength: 3,
  })
  .map((parts) => parts.join(' '));
const content = fc
  .array(fc.tuple(words, fc.constantFrom('\n', '\r\n')), { maxLength: 8 })
  .chain((rows) =>
    fc.constantFrom('', 'end').map((end) => rows.map(([text, eol]) => text + eol).join('') + end),
  );
const memory = fc.record(Object.fromEntries(PATHS.map((path) => [path, content])));

const snapshotOf = (files: Record<string, string>) => ({
  files: new Map(
    Object.entries(files).map(([path, text]) => [
      path,
      toShownFile({ path, version: 1, content: text }, null),
    ]),
  ),
  paths: new Set(Object.keys(files)),
});

/** Operations of any kind on lines that may be there, with what a parser lets through. */
const operations = fc.array(
  fc.record({
    kind: fc.constantFrom(...OPERATION_KINDS),
    path: fc.constantFrom(...PATHS, 'user/new.md', 'shared/x.md', 'users/bob/x.md'),
    heading: fc.option(fc.constantFrom('Tea', 'New')),
    removed: fc.option(fc.record({ line: fc.integer({ min: 1, max: 9 }), text: words })),
    lines: fc.array(words, { maxLength: 3 }),
  }),
  { maxLength: 4 },
);

const options = { maxWrites: 2, today: '2026-11-21' };
const FACT = 'Ana drinks tea since 2026-01-01.';

describe('a plan', () => {
  it('never leaves the user’s files or the budget, whatever is proposed', async () => {
    await fc.assert(
      fc.asyncProperty(memory, operations, async (files, proposed) => {
        const plan = await planOperations(snapshotOf(files), FACT, proposed, options);
        if ('fault' in plan) return;
        expect(plan.files.length).toBeLessThanOrEqual(options.maxWrites);
        for (const file of plan.files) {
          expect(file.path).toMatch(/^user\//);
          expect(file.before).toBe(files[file.path] ?? null);
          expect(file.version).toBe(file.before === null ? 0 : 1);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps each line that no operation takes away, to the byte and in order', async () => {
    await fc.assert(
      fc.asyncProperty(memory, operations, async (files, proposed) => {
        const plan = await planOperations(snapshotOf(files), FACT, proposed, {
          ...options,
          maxWrites: 20,
          // The rules aside: this is what operations do when they are let through.
          checks: {},
        });
        if ('fault' in plan) throw new Error(plan.fault.message);
        for (const { path, before, after } of plan.files) {
          const gone = new Set(
            proposed.flatMap((it) =>
              it.path === path && it.removed !== null ? [it.removed.line] : [],
            ),
          );
          const kept = (before ?? '').split('\n').filter((_, at) => !gone.has(at + 1));
          // What follows the last line end is no line.
          if (kept.at(-1) === '') kept.pop();
          const rows = after.split('\n');
          let at = 0;
          for (const row of kept) {
            while (at < rows.length && rows[at] !== row) at += 1;
            expect(at, `${JSON.stringify(row)} in ${JSON.stringify(after)}`).toBeLessThan(
              rows.length,
            );
            at += 1;
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('links to a file that is created so that the link leads there, whatever its name', async () => {
    const segment = fc
      .array(fc.constantFrom('a', 'B', 'é', '茶', '(', ')', '[', ']', '#', ' ', '-', '&', "'"), {
        minLength: 1,
        maxLength: 8,
      })
      .map((parts) => `x${parts.join('')}x`);
    await fc.assert(
      fc.asyncProperty(fc.array(segment, { minLength: 1, maxLength: 3 }), async (segments) => {
        const path = `user/${segments.join('/')}.md`;
        const operation = { kind: 'create', path, heading: null, removed: null } as const;
        const plan = await planOperations(
          snapshotOf({ 'user/index.md': '# Index\n' }),
          FACT,
          [{ ...operation, lines: ['- Ana drinks tea.'] }],
          { ...options, checks: {} },
        );
        if ('fault' in plan) throw new Error(plan.fault.message);
        const catalog = plan.files.find((file) => file.path === 'user/index.md')?.after ?? '';
        expect(findLinks(catalog, 'user/index.md')).toEqual([path]);
      }),
    );
  });

  it('sets the first lines under a heading apart from it', async () => {
    const files = { 'user/index.md': '# Index\n' };
    const lines = ['# Tea', '', '- Ana drinks tea.'];
    const create = { kind: 'create', path: 'user/tea.md', heading: null, removed: null, lines };
    expect(
      await planOperations(snapshotOf(files), FACT, [create as Operation], options),
    ).toMatchObject({
      files: [{}, { path: 'user/index.md', after: '# Index\n\n- [Tea](tea.md)\n' }],
    });
  });

  it('puts a file that is created into the catalog, once', async () => {
    const files = { 'user/index.md': '# Index\n\n- [A](a.md)\n' };
    const create: Operation = {
      kind: 'create',
      path: 'user/tea (green).md',
      heading: null,
      removed: null,
      lines: ['# Ana [tea]', '', '- Ana drinks tea.'],
    };
    const plan = await planOperations(snapshotOf(files), FACT, [create], options);
    expect(plan).toMatchObject({
      files: [
        { path: 'user/tea (green).md', version: 0, before: null },
        {
          path: 'user/index.md',
          after: '# Index\n\n- [A](a.md)\n- [Ana tea](tea%20%28green%29.md)\n',
        },
      ],
    });
  });
});

describe('a reply', () => {
  it('is taken apart or refused whole, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((v) => JSON.stringify({ operations: v })),
        ),
        (text) => {
          const reply = parseReply(text);
          if (reply === null) return;
          for (const { lines } of reply.operations) {
            for (const line of lines) expect(line).not.toMatch(/[\r\n\0]/);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
