import { describe, expect, it } from 'vitest';
import { CHECKS } from '../../../plugins/dreaming/checks/list.ts';
import type { Operation } from '../../../plugins/dreaming/operations.ts';
import { planOperations } from '../../../plugins/dreaming/plan.ts';
import { operationsOn, snapshotOf } from './memory.ts';

/** One way to do harm: the operations, of which the last one is to be dropped by `check` alone. */
interface Attack {
  check: keyof typeof CHECKS;
  title: string;
  files: Record<string, string>;
  times?: Record<string, readonly number[]>;
  operations: (on: ReturnType<typeof operationsOn>) => Operation[];
  maxFiles?: number;
}

const A = 'user/a.md';
const B = 'user/b.md';
const twice = (line: string, rest = '- Keeps bees on the roof.\n- Has two cats.\n') => ({
  [A]: `${line}\n${line}\n${rest}`,
});
/** Merges the first two lines of a file into one. */
const mergeTo =
  (text: string, path = A) =>
  (on: ReturnType<typeof operationsOn>) => [
    on('merge', {
      remove: [
        [path, 1],
        [path, 2],
      ],
      add: { path, heading: null, lines: [text] },
    }),
  ];
const rewordTo =
  (...lines: string[]) =>
  (on: ReturnType<typeof operationsOn>) => [
    on('reword', { remove: [[A, 1]], add: { path: A, heading: null, lines } }),
  ];
const moveFirst =
  (heading: string, text: string, to = B) =>
  (on: ReturnType<typeof operationsOn>) => [
    on('move', { remove: [[A, 1]], add: { path: to, heading, lines: [text] } }),
  ];
const REST = '- Keeps bees on the roof.\n- Has two cats.\n- Grows tomatoes at home.\n';

const ATTACKS: Attack[] = [
  {
    check: 'scope',
    title: 'a change of shared memory',
    files: { 'shared/a.md': '- Tea.\n- Tea.\n- Keeps bees.\n' },
    operations: mergeTo('- Tea.', 'shared/a.md'),
  },
  {
    check: 'scope',
    title: 'a change of an excluded log',
    files: { 'user/work-log.md': '- Tea.\n- Tea.\n- Keeps bees.\n' },
    operations: mergeTo('- Tea.', 'user/work-log.md'),
  },
  {
    check: 'scope',
    title: 'a change of a file that says dream: never',
    files: { [A]: '- Tea is fine.\n- Keeps bees.\n', [B]: '---\ndream: never\n---\n# Teas\n' },
    operations: moveFirst('Teas', '- Tea is fine.'),
  },
  {
    check: 'sources',
    title: 'a line that has another text than the model says',
    files: twice('- Likes tea.'),
    operations: (on) => [
      {
        ...(mergeTo('- Likes tea.')(on)[0] as Operation),
        remove: [
          { path: A, line: 1, text: '- Likes tea.' },
          { path: A, line: 2, text: '- Likes coffee.' },
        ],
      },
    ],
  },
  {
    check: 'sources',
    title: 'a source that is an empty line',
    files: { [A]: `- Likes tea.\n- Likes tea.\n\n${REST}` },
    operations: (on) => [
      { ...(mergeTo('- Likes tea.')(on)[0] as Operation), sources: [{ path: A, line: 3 }] },
    ],
  },
  {
    check: 'shape',
    title: 'a rewording that makes more of a line',
    files: { [A]: `- Likes green tea and black coffee.\n${REST}` },
    operations: rewordTo('- Likes green tea.', '- Likes black coffee.'),
  },
  {
    check: 'shape',
    title: 'a move that rewrites what it moves',
    files: { [A]: `- Likes green tea at work.\n${REST}`, [B]: '# Teas\n' },
    operations: moveFirst('Teas', '- Likes tea at work.'),
  },
  {
    check: 'structure',
    title: 'a heading taken away',
    files: { [A]: `## Teas\n${REST}`, [B]: '# Drinks\n' },
    operations: moveFirst('Drinks', '## Teas'),
  },
  {
    check: 'structure',
    title: 'a line of a code block taken away',
    files: { [A]: `\`\`\`\nmake all\nmake all\n\`\`\`\n${REST}` },
    operations: (on) => [
      on('merge', {
        remove: [
          [A, 2],
          [A, 3],
        ],
        add: { path: A, heading: null, lines: ['make all'] },
      }),
    ],
  },
  {
    check: 'structure',
    title: 'a mark that would hide what stands below it',
    files: twice('- Likes green tea with milk.'),
    operations: mergeTo('- Likes green tea with milk. <!-- x'),
  },
  {
    check: 'transcript',
    title: 'a conversation taken for memory',
    files: {
      [A]: 'User: I like tea.\nUser: I like tea.\nAssistant: Noted.\nUser: Thanks.\n- Tea.\n',
    },
    operations: mergeTo('User: I like tea.'),
  },
  {
    check: 'transcript',
    title: 'a conversation of people with names taken for memory',
    files: {
      [A]: '**Ann:** I like tea.\n\n**Ann:** I like tea.\n\n**Bo:** Why?\n\n**Ann:** Well.\n\n**Bo:** Ah.\n',
    },
    operations: (on) => [
      on('merge', {
        remove: [
          [A, 1],
          [A, 3],
        ],
        add: { path: A, heading: null, lines: ['**Ann:** I like tea.'] },
      }),
    ],
  },
  {
    check: 'transcript',
    title: 'what somebody said in a conversation taken into the catalog',
    files: {
      'user/index.md': '# Index\n',
      [A]: '# Tea\nUser: Tea is green.\nAssistant: Noted.\nUser: Thanks.\nAssistant: Bye.\n',
    },
    operations: (on) => [
      on('index', {
        add: { path: 'user/index.md', heading: null, lines: ['- [Tea](a.md): is green'] },
        sources: [
          [A, 1],
          [A, 2],
        ],
      }),
    ],
  },
  {
    check: 'conflict',
    title: 'a line that stands in for another one taken away',
    files: { [A]: `- Likes tea.\n- Likes tea.\n- Likes tea.\n${REST}` },
    operations: (on) => [
      on('merge', { remove: [[A, 1]], sources: [[A, 2]] }),
      on('merge', { remove: [[A, 2]], sources: [[A, 3]] }),
    ],
  },
  {
    check: 'change',
    title: 'the same line in place of itself',
    files: { [A]: `- Likes tea.\n${REST}` },
    operations: rewordTo('- Likes tea.'),
  },
  {
    check: 'catalog',
    title: 'a catalog without a file that there is',
    files: {
      'user/index.md': '- [A](a.md)\n- see [A](a.md)\n- [B](b.md)\n',
      [A]: '- Tea.\n',
      [B]: '- Tea.\n',
    },
    operations: (on) => [
      on('index', { remove: [['user/index.md', 1]], sources: [['user/index.md', 2]] }),
    ],
  },
  ...(
    [
      ['a number', '- Meets the team at 9 every day.', '- Meets the team every day.'],
      [
        'a date',
        '- Began the job at the big bakery, with a party, on 2024-03-01.',
        '- Began the job at the big bakery, with a party.',
      ],
      ['a name', '- Meets Anna for lunch every week.', '- Meets for lunch every week.'],
      [
        'a name at the beginning',
        'Anna Schmidt leads billing there.',
        'Schmidt leads billing there.',
      ],
      [
        'an e-mail address',
        '- Write to anna@example.org about the bills of every month.',
        '- Write about the bills of every month.',
      ],
      [
        'a link',
        '- Looks at [the garden plan](https://example.org/x) every spring.',
        '- Looks at the garden plan every spring.',
      ],
      ['a currency', '- Pays $500 for the flat.', '- Pays 500 for the flat.'],
      ['a version', '- Uses the build v2.1 at work.', '- Uses the build at work.'],
      ['a name in Chinese', '- 王小明每天早上喜欢喝绿茶。', '- 每天早上喜欢喝绿茶。'],
    ] as const
  ).map(([what, line, text]): Attack => ({
    check: 'specifics',
    title: `${what} lost in a merge`,
    files: twice(line, REST.repeat(4)),
    operations: mergeTo(text),
  })),
  {
    check: 'together',
    title: 'two facts with their numbers exchanged',
    files: { [A]: `- Anna was born in 1990.\n- Ben was born in 1985.\n${REST}` },
    operations: mergeTo('- Anna was born in 1985 and Ben was born in 1990.'),
  },
  {
    check: 'secrets',
    title: 'a password carried to another file',
    files: { [A]: `- The password is hunter22.\n${REST}`, [B]: '# Notes\n' },
    operations: moveFirst('Notes', '- The password is hunter22.'),
  },
  {
    check: 'instructions',
    title: 'an instruction put together of harmless parts',
    files: {
      [A]: `- Asked to ignore spam calls.\n- Keeps all previous instructions of the bank.\n${REST}`,
    },
    operations: mergeTo('- Asked to ignore all previous instructions of the bank, spam calls.'),
  },
  {
    check: 'sensitive',
    title: 'a claim on health that nobody made',
    files: twice('- Prefers quiet rooms, green tea, and short calls with friends.'),
    operations: mergeTo(
      '- Prefers quiet rooms, green tea, and short calls with friends: depressed.',
    ),
  },
  {
    check: 'sensitive',
    title: 'a claim on money that nobody made',
    files: twice('- Prefers quiet rooms, green tea, and short calls with friends.'),
    operations: mergeTo(
      '- Prefers quiet rooms, green tea, and short calls with friends, as bankrupt.',
    ),
  },
  {
    check: 'invention',
    title: 'a name that no source has',
    files: twice('- Prefers quiet rooms and green tea.'),
    operations: mergeTo('- Prefers quiet rooms and green tea with Paul.'),
  },
  {
    check: 'invention',
    title: 'a preference that no source has',
    files: twice('- Prefers green tea.'),
    operations: mergeTo('- Prefers green tea, jazz concerts, and long walks.'),
  },
  {
    check: 'invention',
    title: 'a heading that says something of its own',
    files: { [A]: `- Prefers green tea.\n${REST}` },
    operations: moveFirst('Hates Paul', '- Prefers green tea.', A),
  },
  {
    check: 'language',
    title: 'a translation',
    files: twice('- Prefers the green tea and the short calls with the team.'),
    operations: mergeTo('- Prefers den green tea und die short calls mit dem team.'),
  },
  {
    check: 'language',
    title: 'another script',
    files: twice('- Prefers green tea, short calls, quiet rooms with friends.'),
    operations: mergeTo('- Prefers green tea, short calls, quiet rooms with friends; чай.'),
  },
  {
    check: 'meaning',
    title: 'a denial that is gone',
    files: twice('- Does not like green tea.'),
    operations: mergeTo('- Does like green tea.'),
  },
  {
    check: 'meaning',
    title: 'two lines that have nothing to do with each other',
    files: { [A]: `- Likes green tea.\n- Owns an old red bicycle.\n${REST}${REST}` },
    operations: mergeTo('- Likes green tea.'),
  },
  {
    check: 'correction',
    title: 'a fact superseded by an older one',
    files: {
      [A]: `- Lives in Madrid now, no longer in Berlin.\n${REST}`,
      [B]: `- Lives in Berlin.\n${REST}`,
    },
    times: { [A]: [1, 1, 1, 1], [B]: [2, 2, 2, 2] },
    operations: (on) => [on('supersede', { remove: [[B, 1]], sources: [[A, 1]] })],
  },
  {
    check: 'correction',
    title: 'a fact superseded by one that corrects nothing',
    files: { [A]: `- Has a flat in Berlin.\n- Has a flat in Madrid, one in Berlin.\n${REST}` },
    operations: (on) => [on('supersede', { remove: [[A, 1]], sources: [[A, 2]] })],
  },
  {
    check: 'correction',
    title: 'a trip superseded by another day that is actually remembered',
    files: {
      [A]: `- Has taken the kids camping in the mountains last week.\n- Was actually just remembering the day with the kids at the shelter.\n${REST}${REST}`,
    },
    operations: (on) => [on('supersede', { remove: [[A, 1]], sources: [[A, 2]] })],
  },
  {
    check: 'meaning',
    title: 'a drink that another drink is merged into',
    files: { [A]: `- Likes tea at work.\n- Likes coffee at work.\n${REST}` },
    operations: mergeTo('- Likes tea at work.'),
  },
  {
    check: 'meaning',
    title: 'half of an evening that is merged away',
    files: {
      [A]: `- Roasted marshmallows by the campfire and went for a hike.\n- Roasted marshmallows and shared stories by the campfire.\n${REST}`,
    },
    operations: mergeTo('- Roasted marshmallows by the campfire and went for a hike.'),
  },
  {
    check: 'removed_share',
    title: 'a third of a file superseded by a word',
    files: {
      [A]: '- Drinks strong black coffee at breakfast.\n- Switched at breakfast from coffee to water.\n- Has two cats.\n',
    },
    operations: (on) => [on('supersede', { remove: [[A, 1]], sources: [[A, 2]] })],
  },
  {
    check: 'removed_share',
    title: 'a file emptied by a move',
    files: { [A]: '- Likes green tea.\n', [B]: '# Teas\n' },
    operations: moveFirst('Teas', '- Likes green tea.'),
  },
  {
    check: 'order',
    title: 'two files that give each other lines',
    files: {
      [A]: `# Teas\n- Likes green tea.\n${REST}`,
      [B]: `# Cats\n- Likes big cats.\n${REST}`,
    },
    operations: (on) => [
      on('move', {
        remove: [[A, 2]],
        add: { path: B, heading: 'Cats', lines: ['- Likes green tea.'] },
      }),
      on('move', {
        remove: [[B, 2]],
        add: { path: A, heading: 'Teas', lines: ['- Likes big cats.'] },
      }),
    ],
  },
  {
    check: 'write_budget',
    title: 'one file more than the budget allows',
    files: {
      [A]: `- Likes tea.\n- Likes tea.\n${REST}`,
      [B]: `- Likes tea.\n- Likes tea.\n${REST}`,
    },
    maxFiles: 1,
    operations: (on) => [...mergeTo('- Likes tea.')(on), ...mergeTo('- Likes tea.', B)(on)],
  },
];

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
    expect(plan(files, make).dropped).toMatchObject([{ check: 'structure' }]);
  });
});
