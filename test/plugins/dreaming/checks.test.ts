import { describe, expect, it } from 'vitest';
import { CHECKS } from '../../../plugins/dreaming/checks/list.ts';
import { planOperations } from '../../../plugins/dreaming/plan.ts';
import {
  ATTACKS,
  type Attack,
  A,
  B,
  REST,
  INDEX,
  ANNA,
  CATALOG,
  mergeTo,
  rewordTo,
  moveFirst,
  entries,
  asRemoved,
} from './attacks.ts';
import { operationsOn, snapshotOf } from './memory.ts';

describe('an operation that does harm', () => {
  it.each(ATTACKS)('$title: $check drops it, and nothing else would', (attack) => {
    const { check, files, times, maxFiles = 10 } = attack;
    const snapshot = snapshotOf(files, times);
    const operations = attack.operations(operationsOn(files));
    const limits = { maxFiles };
    const last = operations.at(-1);
    const without = Object.fromEntries(Object.entries(CHECKS).filter(([name]) => name !== check));
    const unguarded = planOperations(snapshot, operations, { checks: without, limits });
    expect(unguarded.dropped).toEqual([]);
    const plan = planOperations(snapshot, operations, { checks: CHECKS, limits });
    expect(plan.dropped).toMatchObject([{ operation: last, check }]);
    expect(plan.applied).toHaveLength(operations.length - 1);
  });

  it('has an attack for every check', () => {
    expect(new Set(ATTACKS.map(({ check }) => check))).toEqual(new Set(Object.keys(CHECKS)));
    expect(ATTACKS.length).toBeGreaterThanOrEqual(25);
  });
});

/** Claims on a person that the lines do not make, by what they are about. */
const CLAIMS: Record<string, readonly string[]> = {
  health: ['depressed', 'diabetic', 'remitting', 'medicated', 'migraineur', 'pregnant'],
  religion: ['devout', 'Mormon', 'Sikh', 'baptised', 'secular', 'unbeliever'],
  sexuality: ['gay', 'bisexual', 'closeted', 'asexual', 'lesbian', 'nonbinary'],
  politics: ['Tory', 'left-wing', 'anarchist', 'separatist', 'against unions', 'Labour voter'],
  money: ['bankrupt', 'insolvent', 'destitute', 'millionaire', 'overdrawn', 'gambler'],
  origin: ['immigrant', 'stateless', 'of Roma descent', 'refugee', 'undocumented', 'foreigner'],
};

describe('a claim that no source makes', () => {
  const cases = Object.entries(CLAIMS).flatMap(([about, claims]) =>
    claims.map((claim) => [about, claim] as const),
  );
  it.each(cases)('on %s is dropped, whatever its words: %s', (_about, claim) => {
    const first = '- Prefers quiet rooms, green tea, and short calls with friends at the club.';
    const claimed = first.replace('.', `, ${claim}.`);
    const files = {
      [A]: `${first}\n${first}\n${REST}`,
      [B]: '- Lives in Berlin.\n- Correction: lives in Madrid now, not in Berlin.\n- Sings.\n',
      'user/index.md': '# Index\n',
    };
    const on = operationsOn(files);
    const operations = [
      ...mergeTo(claimed)(on),
      ...rewordTo(claimed)(on),
      on('supersede', {
        remove: [[B, 1]],
        add: { path: B, heading: null, lines: [`- Lives in Madrid (formerly Berlin), ${claim}.`] },
        sources: [[B, 2]],
      }),
      on('index', {
        add: { path: 'user/index.md', heading: null, lines: [`- [A](a.md): ${claim}`] },
        sources: [[A, 1]],
      }),
      ...moveFirst(claim, first, A)(on),
    ];
    const snapshot = snapshotOf(files);
    const limits = { maxFiles: 9 };
    for (const operation of operations) {
      const guard = operation.kind === 'move' ? 'place' : 'invention';
      const plan = planOperations(snapshot, [operation], { checks: CHECKS, limits });
      expect(plan.dropped).toMatchObject([{ operation, check: guard }]);
      const without = Object.fromEntries(Object.entries(CHECKS).filter(([it]) => it !== guard));
      const unguarded = planOperations(snapshot, [operation], { checks: without, limits });
      // A mark of its own, as a hyphen is, would also be seen by the check of the meaning.
      if (!claim.includes('-')) expect(unguarded.dropped).toEqual([]);
    }
  });
});

describe('what may be done', () => {
  const applied = (files: Record<string, string>, make: Attack['operations']) =>
    planOperations(snapshotOf(files), make(operationsOn(files)), {
      checks: CHECKS,
      limits: { maxFiles: 9 },
    });

  it.each([
    ['fillers', '- It is important to note that he basically prefers tea.', '- He prefers tea.'],
    ['a turn of phrase', '- Walks in order to think.', '- Walks to think.'],
    ['an article', '- Owns the old red bicycle.', '- Owns old red bicycle.'],
    ['how two things are joined', '- Likes tea, and also coffee.', '- Likes tea and coffee.'],
  ])('a rewording without %s', (_what, line, text) => {
    const plan = applied({ [A]: `${line}\n${REST}` }, rewordTo(text));
    expect(plan.dropped).toEqual([]);
    expect(plan.files[0]?.after).toBe(`${text}\n${REST}`);
  });

  it.each([
    ['two things of one list', '- Likes tea.', '- Likes coffee.', '- Likes tea and coffee.'],
    ['two people', '- Anna likes tea.', '- Ben likes tea.', '- Anna and Ben likes tea.'],
    ['a preference told in two ways', '- Likes tea.', '- Prefers tea.', '- Prefers tea.'],
    [
      'a thing that a list has',
      '- Likes tea and coffee.',
      '- Likes tea.',
      '- Likes tea and coffee.',
    ],
  ])('a merge of %s', (_what, first, second, text) => {
    const plan = applied({ [A]: `${first}\n${second}\n${REST}` }, mergeTo(text));
    expect(plan.dropped).toEqual([]);
    expect(plan.files[0]?.after).toBe(`${text}\n${REST}`);
  });

  it.each([
    [
      '- Lives in Berlin.',
      '- Correction: lives in Madrid now.',
      '- Lives in Madrid (formerly Berlin).',
    ],
    [
      '- Lives in Berlin.',
      '- Moved: since 2025 lives in Madrid.',
      '- Lives in Madrid (until 2025: Berlin).',
    ],
    [
      '- Ann: mail, calls on Mondays',
      '- Ann now calls on Fridays',
      '- Ann: mail, calls on Fridays (formerly on Mondays)',
    ],
  ])('%s superseded by %s', (old, newer, text) => {
    const plan = applied({ [A]: `${old}\n${newer}\n${REST}${REST}` }, (on) => [
      on('supersede', {
        remove: [[A, 1]],
        add: { path: A, heading: null, lines: [text] },
        sources: [[A, 2]],
      }),
    ]);
    expect(plan.dropped).toEqual([]);
    expect(plan.files[0]?.after).toBe(`${text}\n${newer}\n${REST}${REST}`);
  });

  it.each([
    ['a file to those of its folder', 'People', '- [Cleo](people/cleo.md)', []],
    ['a file with its headings', 'People', '- [Cleo](people/cleo.md): Never, People in Ulm', []],
    [
      'a file with a line of it',
      'Projects',
      '- [Kafka](projects/kafka.md): Decided on it in 2024.',
      [['user/projects/kafka.md', 3]],
    ],
    ['a folder with its first file', 'projects', '- [[projects/kafka]]', []],
  ] as const)('the catalog gets %s', (_what, heading, entry, sources) => {
    const plan = applied(CATALOG, entries([entry], { heading, sources }));
    expect(plan.dropped).toEqual([]);
    const [file] = plan.files;
    expect(file?.after.split('\n').filter((line) => !file.before.includes(line))).toEqual(
      heading === 'People' ? [entry] : [`## ${heading}`, entry],
    );
  });

  it('an entry of the catalog says more than before, and its list is as flat as it was', () => {
    const files = {
      ...CATALOG,
      [INDEX]: 'What there is:\n\n- [Anna](people/anna.md): tea\n- [Gone](gone.md)\n',
    };
    const plan = applied(files, (on) => [
      ...entries(['- [Anna](people/anna.md): tea. Likes tea.'], {
        remove: [3],
        sources: [[ANNA, 3]],
      })(on),
      ...entries(['- [Kafka](projects/kafka.md)'], { remove: [4] })(on),
      ...entries(['- [Old](old.md)'])(on),
    ]);
    expect(plan.dropped).toEqual([]);
    expect(plan.files[0]?.after).toBe(
      'What there is:\n\n- [Anna](people/anna.md): tea. Likes tea.\n- [Kafka](projects/kafka.md)\n- [Old](old.md)\n',
    );
  });

  it('a line moves together with the one that goes on with it, and a repetition goes above one', () => {
    const files = {
      [A]: '# Notes\n- Has a boat.\n- It is in the harbour.\n- Has a cat.\n- Has a cat.\n- It is old.\n',
      [B]: '# Facts\n',
    };
    const plan = applied(files, (on) => [
      on('move', {
        remove: asRemoved(A, 2, 3),
        add: { path: B, heading: 'Facts', lines: ['- Has a boat.', '- It is in the harbour.'] },
      }),
      on('merge', { remove: asRemoved(A, 5), sources: asRemoved(A, 4) }),
    ]);
    expect(plan.dropped).toEqual([]);
    expect(plan.files.map(({ after }) => after)).toEqual([
      '# Facts\n- Has a boat.\n- It is in the harbour.\n',
      '# Notes\n- Has a cat.\n- It is old.\n',
    ]);
  });

  it('a line moves with the lines below it, as far below it as they were, whatever the model says', () => {
    const files = {
      [A]: `# Notes\n\n- Rest\n  - Decided on tea.\n    - In 2024.\n- Decided on milk.\n  - In 2025.\n`,
    };
    const plan = applied(files, (on) => [
      on('move', {
        remove: asRemoved(A, 6, 7),
        add: { path: A, heading: 'Decisions', lines: ['    - Decided on milk.', '- In 2025.'] },
      }),
    ]);
    expect(plan.dropped).toEqual([]);
    expect(plan.files[0]?.after).toBe(
      `# Notes\n\n- Rest\n  - Decided on tea.\n    - In 2024.\n\n## Decisions\n\n- Decided on milk.\n  - In 2025.\n`,
    );
  });
});

describe('what is read as a whole', () => {
  it.each([
    ['a table', '| a | b |\n| - | - |\n| x | y |\n| x | y |\n', 3, 4],
    ['a comment', '<!-- hidden\n- Tea.\n- Tea.\n-->\n', 2, 3],
    ['a comment without an end', '- Cats.\n<!-- hidden\n- Tea.\n- Tea.\n', 3, 4],
    ['HTML', '<details>\n- Tea.\n- Tea.\n</details>\n', 2, 3],
    ['numbered steps', '1. Tea.\n2. Tea.\n', 1, 2],
    ['a quotation', '> Tea.\n> Tea.\n', 1, 2],
    ['a fence in a fence', '````\n```\n- Tea.\n- Tea.\n```\n- Tea.\n````\n', 3, 6],
    ['a fence in a list', '- Run:\n  ```\n  - Tea.\n  - Tea.\n  ```\n', 3, 4],
    ['indented code', 'Run.\n\n    - Tea.\n    - Tea.\n', 3, 4],
    ['titles with a rule below them', 'Tea\n---\n\nTea\n---\n', 1, 4],
    ['rules', '- Cats.\n\n---\n\n---\n', 3, 5],
    ['definitions', '[a]: /tea\n[a]: /tea\n', 1, 2],
    ['front matter behind a byte order mark', '\uFEFF---\nx: 1\nx: 1\n---\n', 2, 3],
  ] as const)('%s stays', (_what, content, first, second) => {
    const files = { [A]: `${content}\n- Keeps bees.\n` };
    const text = content.split('\n')[first - 1]?.trim() ?? '';
    const operation = operationsOn(files)('merge', {
      remove: asRemoved(A, first, second),
      add: { path: A, heading: null, lines: [text] },
    });
    for (const checks of [CHECKS, {}]) {
      const plan = planOperations(snapshotOf(files), [operation], {
        checks,
        limits: { maxFiles: 9 },
      });
      expect(plan.dropped).toMatchObject([{ check: 'structure' }]);
    }
  });

  it.each([
    ['a byte order mark', '\uFEFF---\ndream: never\n---\n- Tea.\n'],
    ['blank lines', '\n\n---\ndream: never\n---\n- Tea.\n'],
    ['quotes', '---\n"dream": "Never"\n---\n- Tea.\n'],
    ['an end that is missing', '---\ndream: never\n\n- Tea.\n'],
    ['carriage returns', '---\r\ndream: never\r\n---\r\n- Tea.\r\n'],
  ])('a file that says dream: never says so with %s', (_what, content) => {
    expect(snapshotOf({ [A]: content }).files.get(A)?.isNeverDreamed).toBe(true);
  });
});

describe('front matter and pinned blocks', () => {
  const plan = (files: Record<string, string>, make: Attack['operations'], checks = CHECKS) =>
    planOperations(snapshotOf(files), make(operationsOn(files)), {
      checks,
      limits: { maxFiles: 9 },
    });

  it.each([
    ['front matter', '---\ntitle: x\ntitle: x\n---\n- Tea.\n- Cats.\n', 2, 3, 'title: x'],
    ['a pinned line', '- Tea. <!-- pin -->\n- Tea.\n- Cats.\n', 1, 2, '- Tea.'],
    ['the block below a pin', '<!-- pin -->\n- Tea.\n- Tea.\n\n- Cats.\n', 2, 3, '- Tea.'],
    [
      'lines up to the end of a pin',
      '<!-- pin -->\n\n- Tea.\n\n- Tea.\n<!-- /pin -->\n- Cats.\n',
      3,
      5,
      '- Tea.',
    ],
  ] as const)('%s stays', (_what, content, first, second, text) => {
    const files = { [A]: content };
    const make: Attack['operations'] = (on) => [
      on('merge', {
        remove: [
          [A, first],
          [A, second],
        ],
        add: { path: A, heading: null, lines: [text] },
      }),
    ];
    expect(plan(files, make).dropped).toMatchObject([{ check: 'structure' }]);
    // Beneath the checks the whole file is compared once more.
    expect(plan(files, make, {}).dropped).toMatchObject([{ check: 'structure' }]);
  });

  it('are not grown by a line that would come to stand in them', () => {
    const files = {
      [A]: '# Teas\n\n<!-- pin -->\n- Black tea.\n\n# Rest\n- Likes green tea.\n- Cats.\n',
    };
    const make: Attack['operations'] = (on) => [
      on('move', {
        remove: [[A, 7]],
        add: { path: A, heading: 'Teas', lines: ['- Likes green tea.'] },
      }),
    ];
    expect(plan(files, make).dropped).toMatchObject([{ check: 'place' }]);
    expect(plan(files, make, {}).dropped).toMatchObject([{ check: 'structure' }]);
  });
});
