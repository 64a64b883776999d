import type { CHECKS } from '../../../plugins/dreaming/checks/list.ts';
import type { Operation } from '../../../plugins/dreaming/operations.ts';
import type { operationsOn } from './memory.ts';

/** One way to do harm: the operations, of which the last one is to be dropped by `check` alone. */
export interface Attack {
  check: keyof typeof CHECKS;
  title: string;
  files: Record<string, string>;
  times?: Record<string, readonly number[]>;
  operations: (on: ReturnType<typeof operationsOn>) => Operation[];
  maxFiles?: number;
}

export const A = 'user/a.md';
export const B = 'user/b.md';
const twice = (line: string, rest = '- Keeps bees on the roof.\n- Has two cats.\n') => ({
  [A]: `${line}\n${line}\n${rest}`,
});
/** Merges the first two lines of a file into one. */
export const mergeTo =
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
export const rewordTo =
  (...lines: string[]) =>
  (on: ReturnType<typeof operationsOn>) => [
    on('reword', { remove: [[A, 1]], add: { path: A, heading: null, lines } }),
  ];
export const moveFirst =
  (heading: string, text: string, to = B) =>
  (on: ReturnType<typeof operationsOn>) => [
    on('move', { remove: [[A, 1]], add: { path: to, heading, lines: [text] } }),
  ];
export const REST = '- Keeps bees on the roof.\n- Has two cats.\n- Grows tomatoes at home.\n';

/** A rewording with the same words that says something else. */
const TURNS = [
  ['how many there are', '- Has a few really good friends.', '- Has few good friends.'],
  ['an article', '- The really small things mean a lot.', '- Small things a mean lot.'],
  ['who owes whom', '- Anna really owes Ben.', '- Ben owes Anna.'],
  ['the order of numbers', '- Really went from 3 to 5 cups.', '- Went from 5 to 3 cups.'],
  [
    'number words',
    '- Has two cats and three really big dogs.',
    '- Has three cats and two big dogs.',
  ],
  [
    'before and after',
    '- Tea before lunch, coffee after lunch.',
    '- Tea after lunch, coffee before lunch.',
  ],
  [
    'more and less',
    '- Wants more tea and less really hot soup.',
    '- Wants less tea and more hot soup.',
  ],
  ['am and pm', '- Up at 6 am, basically in bed at 9 pm.', '- Up at 6 pm, in bed at 9 am.'],
  ['units', '- Walks 5 km and basically lifts 8 kg.', '- Walks 5 kg and lifts 8 km.'],
  ['what is denied', '- Really likes tea, not coffee.', '- Not tea, likes coffee.'],
  ['a denial', '- Does not really like green tea.', '- Does like green tea.'],
  ['how much is denied', '- Does not really like green tea.', '- Does not like green tea.'],
  ['pronouns', '- She really told him about the cat.', '- Him told she about the cat.'],
  ['who is spoken of', '- He really prefers short answers.', '- Prefers short answers.'],
  ['how sure it is', '- Perhaps really moves to the coast.', '- Moves to the coast.'],
  ['a task', '- [ ] Really water the plants.', '- [x] Water the plants.'],
  ['a task that is none', '- [ ] Really water the plants.', '- Water the plants.'],
  ['where a sentence ends', '- Ben really left. Anna cried.', '- Ben left Anna. Cried.'],
  ['a question', '- Really lives in the old town?', '- Lives in the old town.'],
  ['what is crossed out', '- ~~Lives really in the old town.~~', '- Lives in the old town.'],
  ['what is quoted', '- Ben really said "I quit".', '- Ben said I "quit".'],
  ['a sign', '- Really went from Rome -> Oslo.', '- Went from Rome <- Oslo.'],
  ['an aside', '- Likes tea (really not coffee) and milk.', '- Likes tea, not (coffee and milk).'],
  [
    'a condition',
    '- Really goes if it rains, stays at home.',
    '- If it rains stays, goes at home.',
  ],
  ['time', '- Was really well, is tired.', '- Is well, was tired.'],
  ['or', '- Tea or coffee, and basically milk.', '- Tea and coffee, or milk.'],
  ['a name that is a word', '- The Turkey trip was really fun.', '- The turkey trip was fun.'],
] as const;

/** Two lines of one place, and a merge of them that says something else. */
const MERGED = [
  [
    'names exchanged',
    '- Anna was born in 1990.',
    '- Ben was born in 1985.',
    '- Anna was born in 1985 and Ben in 1990.',
  ],
  [
    'a denial that reaches further',
    '- Likes no tea.',
    '- Likes coffee.',
    '- Likes no tea and coffee.',
  ],
  [
    'a quality that reaches further',
    '- Owns old cars.',
    '- Owns houses.',
    '- Owns old cars and houses.',
  ],
  [
    'a place that reaches further',
    '- Likes tea at work.',
    '- Likes coffee.',
    '- Likes coffee and tea at work.',
  ],
  ['another subject', '- Ben is back.', '- Likes tea.', '- Ben is back, likes tea.'],
  [
    'a condition that reaches further',
    '- Likes tea when tired.',
    '- Likes milk.',
    '- Likes milk and tea when tired.',
  ],
  ['two values as one', '- The rent is 500.', '- The rent is 700.', '- The rent is 500, 700.'],
  [
    'two lines that do not say the same',
    '- Anna likes Ben.',
    '- Ben likes Anna.',
    '- Anna likes Ben.',
  ],
] as const;

/** A line, what corrects it, and something else made of both. */
const REPLACED = [
  [
    'old and new exchanged',
    '- Lives in Berlin.',
    '- Correction: lives in Madrid now, not in Berlin.',
    '- Lives in Berlin (formerly Madrid).',
  ],
  [
    'the wrong value',
    '- Pays 300 for the car, 500 for the flat.',
    '- Correction: pays 600 for the flat, no longer 500.',
    '- Pays 300 for the car, 600 for the flat (formerly 300).',
  ],
  [
    'the value of another thing',
    '- Has a flat for 500 and a car for 300.',
    '- Correction: the car moved to 400 now, no longer 300.',
    '- Has a flat for 400 (formerly 500) and a car for 300.',
  ],
  [
    'a value that no longer holds',
    '- Lives in Berlin.',
    '- Moved: lives no longer in Madrid or Berlin, in Rome now.',
    '- Lives in Madrid (formerly Berlin).',
  ],
  [
    'a small word',
    '- Walks to the office.',
    '- Correction: walks from the office now.',
    '- Walks from (formerly to) the office.',
  ],
  [
    'no word of the past',
    '- Lives in Berlin.',
    '- Correction: lives in Madrid now, not in Berlin.',
    '- Lives in Madrid, Berlin.',
  ],
] as const;

/** A line of which one value is replaced by what a line on something else says. */
const UNRELATED: Attack = {
  check: 'correction',
  title: 'a word exchanged for one of a line on something else',
  files: {
    [A]: `- Is truly grateful for the support of friends and mentors at school.\n- Moved away, and has known friends for years.\n${'- Keeps bees.\n'.repeat(9)}`,
  },
  operations: (on) => [
    on('supersede', {
      remove: [[A, 1]],
      add: {
        path: A,
        heading: null,
        lines: [
          '- Is truly grateful for the known (formerly support) of friends and mentors at school.',
        ],
      },
      sources: [[A, 2]],
    }),
  ],
};

export const asRemoved = (path: string, ...numbers: number[]) =>
  numbers.map((line) => [path, line] as const);

/** Lines that say something else, or nothing, elsewhere. */
const PLACES: Attack[] = [
  {
    check: 'place',
    title: 'two lines under different headings merged',
    files: { [A]: `## Anna\n- Likes tea.\n## Ben\n- Likes tea.\n${REST}` },
    operations: (on) => [
      on('merge', {
        remove: asRemoved(A, 2, 4),
        add: { path: A, heading: null, lines: ['- Likes tea.'] },
      }),
    ],
  },
  {
    check: 'place',
    title: 'a repetition under another heading taken away',
    files: { [A]: `## Anna\n- Likes tea.\n## Ben\n- Likes tea.\n${REST}` },
    operations: (on) => [on('merge', { remove: asRemoved(A, 4), sources: asRemoved(A, 2) })],
  },
  {
    check: 'place',
    title: 'a repetition in the file of somebody else taken away',
    files: { 'user/people/anna.md': `- Likes tea.\n${REST}`, [A]: '- Likes tea.\n' },
    operations: (on) => [
      on('merge', { remove: asRemoved('user/people/anna.md', 1), sources: asRemoved(A, 1) }),
    ],
  },
  {
    check: 'place',
    title: 'a merge of items below different items',
    files: { [A]: `- Anna\n  - Likes tea.\n- Ben\n  - Likes tea.\n${REST}` },
    operations: (on) => [on('merge', { remove: asRemoved(A, 4), sources: asRemoved(A, 2) })],
  },
  {
    check: 'place',
    title: 'a merge of items with different introductions',
    files: { [A]: `Anna likes:\n\n- Tea.\n\nBen likes:\n\n- Tea.\n\n# Rest\n${REST}` },
    operations: (on) => [on('merge', { remove: asRemoved(A, 7), sources: asRemoved(A, 3) })],
  },
  {
    check: 'place',
    title: 'a line that is merged away from over its own lines',
    files: { [A]: `- Likes tea.\n- Likes tea.\n  - But only at night.\n${REST}` },
    operations: (on) => [on('merge', { remove: asRemoved(A, 2), sources: asRemoved(A, 1) })],
  },
  {
    check: 'place',
    title: 'a move without the lines below it',
    files: { [A]: `# Notes\n- Likes tea.\n  - But only at night.\n${REST}`, [B]: '# Facts\n' },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 2),
        add: { path: B, heading: 'Facts', lines: ['- Likes tea.'] },
      }),
    ],
  },
  {
    check: 'place',
    title: 'a move away from the line that it belongs to',
    files: { [A]: `# Notes\n- Anna\n  - Likes tea.\n${REST}`, [B]: '# Facts\n' },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 3),
        add: { path: B, heading: 'Facts', lines: ['- Likes tea.'] },
      }),
    ],
  },
  {
    check: 'place',
    title: 'a move away from its introduction',
    files: { [A]: `# Notes\nThings to avoid:\n- Tea.\n${REST}`, [B]: '# Facts\n' },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 3),
        add: { path: B, heading: 'Facts', lines: ['- Tea.'] },
      }),
    ],
  },
  {
    check: 'place',
    title: 'a move to the end of a list that is introduced',
    files: {
      [A]: `# Notes\n- Tea.\n${REST}`,
      [B]: '# Facts\nThings to avoid:\n- Milk.\n',
    },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 2),
        add: { path: B, heading: 'Facts', lines: ['- Tea.'] },
      }),
    ],
  },
  {
    check: 'place',
    title: 'a move away from the heading that says whom it is about',
    files: { [A]: `## Anna\n- Likes tea.\n${REST}## Notes\n- Cats.\n` },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 2),
        add: { path: A, heading: 'Notes', lines: ['- Likes tea.'] },
      }),
    ],
  },
  {
    check: 'place',
    title: 'a move to a heading that says more of it',
    files: { [A]: `# Notes\n- Avoids sugar.\n${REST}`, [B]: '# Diabetes\n' },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 2),
        add: { path: B, heading: 'Diabetes', lines: ['- Avoids sugar.'] },
      }),
    ],
  },
  {
    check: 'place',
    title: 'a move away from the file that says whom it is about',
    files: { 'user/people/anna.md': `- Likes tea.\n${REST}`, [B]: '# Notes\n' },
    operations: (on) => [
      on('move', {
        remove: asRemoved('user/people/anna.md', 1),
        add: { path: B, heading: 'Notes', lines: ['- Likes tea.'] },
      }),
    ],
  },
  {
    check: 'place',
    title: 'a heading that says something of its own',
    files: { [A]: `- Prefers green tea.\n${REST}` },
    operations: moveFirst('Hates Paul', '- Prefers green tea.', A),
  },
  {
    check: 'place',
    title: 'a heading put together of words of the line',
    files: { [A]: `- Paul hates tea, not Anna.\n${REST}` },
    operations: moveFirst('Paul hates Anna', '- Paul hates tea, not Anna.', A),
  },
  {
    check: 'place',
    title: 'the second half of a sentence taken away',
    files: { [A]: `Anna does not\nlike green tea.\n\nlike green tea.\n\n${REST}` },
    operations: (on) => [on('merge', { remove: asRemoved(A, 2), sources: asRemoved(A, 4) })],
  },
  {
    check: 'place',
    title: 'a fact of somebody else superseded',
    files: {
      [A]: `## Anna\n- Lives in Berlin.\n## Ben\n- Moved: lives in Madrid now, not in Berlin.\n${REST}${REST}`,
    },
    operations: (on) => [on('supersede', { remove: asRemoved(A, 2), sources: asRemoved(A, 4) })],
  },
  {
    check: 'place',
    title: 'lines moved in another order',
    files: { [A]: `# Notes\n- Tea.\n- But not in the evening.\n${REST}`, [B]: '# Facts\n' },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 3, 2),
        add: { path: B, heading: 'Facts', lines: ['- But not in the evening.', '- Tea.'] },
      }),
    ],
  },
];

export const INDEX = 'user/index.md';
export const ANNA = 'user/people/anna.md';
const BEN = 'user/people/ben.md';
export const CATALOG = {
  [INDEX]:
    '# Index\n\n## People\n\n- [Anna](people/anna.md): Likes tea.\n- [Ben](people/ben.md): Likes coffee.\n\n## Archived\n\n- [Old](old.md)\n',
  [ANNA]: '# Anna\n\n- Likes tea.\n- Does not eat\n  any meat.\n',
  [BEN]: '# Ben\n\n- Likes coffee.\n',
  'user/people/cleo.md':
    '# Cleo\n\n- Likes milk.\n  - But only at night.\n\n## Never\n\n- Works on Fridays.\n\n## People in Ulm\n\n- Sings.\n',
  'user/old.md': '# Old\n\n- Old things.\n',
  'user/projects/kafka.md': '# Kafka\n\n- Decided on it in 2024.\n',
};
/** What is put into the catalog: lines, the numbers of those that go, and the lines that say so. */
export const entries =
  (
    lines: string[],
    more: {
      heading?: string;
      remove?: number[];
      sources?: readonly (readonly [string, number])[];
    } = {},
  ) =>
  (on: ReturnType<typeof operationsOn>) => [
    on('index', {
      remove: (more.remove ?? []).map((line) => [INDEX, line] as const),
      add: { path: INDEX, heading: more.heading ?? null, lines },
      sources: more.sources ?? [],
    }),
  ];
const CLEO = 'user/people/cleo.md';
const ofCleo = (text: string, sources: readonly (readonly [string, number])[] = []) =>
  entries([`- [Cleo](people/cleo.md)${text}`], { heading: 'People', sources });

/** Entries that mislead about what there is, by the check that is to see it. */
const ENTRIES: Attack[] = (
  [
    [
      'catalog',
      'a second entry of a file',
      entries(['- [Anna](people/anna.md)'], { heading: 'People' }),
    ],
    [
      'catalog',
      'two entries of a file at once',
      entries(['- [Cleo](people/cleo.md)', '- [Cleo](people/cleo.md): Never'], {
        heading: 'People',
      }),
    ],
    [
      'catalog',
      'one entry of two files',
      entries(['- [Cleo](people/cleo.md) [Kafka](projects/kafka.md)'], { heading: 'People' }),
    ],
    [
      'catalog',
      'an entry that is a task',
      entries(['- [x] [Cleo](people/cleo.md)'], { heading: 'People' }),
    ],
    [
      'place',
      'a new heading that claims something',
      entries(['- [Cleo](people/cleo.md)'], { heading: 'Cleo is ill' }),
    ],
    [
      'place',
      'an entry below a heading that says more of its file',
      entries(['- [Kafka](projects/kafka.md)'], { heading: 'Archived' }),
    ],
    [
      'place',
      'an entry at the end, below such a heading',
      entries(['- [Kafka](projects/kafka.md)']),
    ],
    [
      'place',
      'an entry among those of another folder',
      entries(['- [Kafka](projects/kafka.md)'], { heading: 'People' }),
    ],
    [
      'place',
      'an entry moved to where another one was',
      entries(['- [Ben](people/ben.md): Likes coffee.', '- [Old](old.md)'], { remove: [10, 6] }),
    ],
    ['place', 'a line quoted without its heading', ofCleo(': Works on Fridays.', [[CLEO, 8]])],
    ['place', 'a line quoted without those below it', ofCleo(': Likes milk.', [[CLEO, 3]])],
    [
      'place',
      'half of a text quoted',
      entries(['- [Anna](people/anna.md): Likes tea. Does not eat'], {
        remove: [5],
        sources: [[ANNA, 4]],
      }),
    ],
    [
      'meaning',
      'what is said of two files exchanged',
      entries(['- [Anna](people/anna.md): Likes coffee.', '- [Ben](people/ben.md): Likes tea.'], {
        remove: [5, 6],
      }),
    ],
    [
      'meaning',
      'names of two files exchanged',
      entries(['- [Ben](people/anna.md): Likes tea.', '- [Anna](people/ben.md): Likes coffee.'], {
        remove: [5, 6],
      }),
    ],
    ['meaning', 'a heading read together with another one', ofCleo(': Never People in Ulm')],
    [
      'meaning',
      'a heading read together with a line of another one',
      entries(['- [Ben](people/ben.md): Ben: Likes coffee.'], { remove: [6] }),
    ],
    [
      'meaning',
      'what an entry has said left out',
      entries(['- [Anna](people/anna.md)'], { remove: [5] }),
    ],
  ] as const
).map(([check, title, operations]): Attack => ({
  check,
  title: `${title}, in the catalog`,
  files: CATALOG,
  operations,
}));

/** What says whose boat, or which cat: lines that go on with the one above them. */
const CONTEXTS: Attack[] = [
  {
    check: 'context',
    title: 'a line moved away from the one that it goes on with',
    files: { [A]: `# Notes\n- Has a boat.\n- It is in the harbour.\n${REST}`, [B]: '# Facts\n' },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 3),
        add: { path: B, heading: 'Facts', lines: ['- It is in the harbour.'] },
      }),
    ],
  },
  {
    check: 'context',
    title: 'a line moved away from the one that goes on with it',
    files: { [A]: `# Notes\n- Has a boat.\n- It is in the harbour.\n${REST}`, [B]: '# Facts\n' },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 2),
        add: { path: B, heading: 'Facts', lines: ['- Has a boat.'] },
      }),
    ],
  },
  {
    check: 'context',
    title: 'what is said of one thing taken for what is said of another',
    files: { [A]: `- Has a cat.\n- It is old.\n- Has a dog.\n- It is old.\n${REST}` },
    operations: (on) => [on('merge', { remove: asRemoved(A, 4), sources: asRemoved(A, 2) })],
  },
  {
    check: 'context',
    title: 'a fact superseded over a line that goes on with it',
    files: {
      [A]: `- Lives in Berlin.\n- It is loud at night.\n- Correction: lives in Madrid now, no longer in Berlin.\n${REST}`,
    },
    operations: (on) => [on('supersede', { remove: asRemoved(A, 1), sources: asRemoved(A, 3) })],
  },
];

/** Every way that is known, at least one for each check. */
export const ATTACKS: readonly Attack[] = [
  ...ENTRIES,
  ...CONTEXTS,
  UNRELATED,
  {
    check: 'place',
    title: 'a move to a topic that it does not speak of',
    files: { [A]: `# Notes\n- Eats dark chocolate.\n${REST}## Work\n- Cats.\n` },
    operations: (on) => [
      on('move', {
        remove: asRemoved(A, 2),
        add: { path: A, heading: 'Work', lines: ['- Eats dark chocolate.'] },
      }),
    ],
  },
  {
    check: 'correction',
    title: 'a walk superseded by one that lasts longer',
    files: {
      [A]: `- Walks in the park.\n- Walks longer in the park with friends.\n${REST}${REST}`,
    },
    operations: (on) => [on('supersede', { remove: asRemoved(A, 1), sources: asRemoved(A, 2) })],
  },
  {
    check: 'correction',
    title: 'a short line superseded by another thing that changed',
    files: { [A]: `- Likes a game.\n- Training really changed the game.\n${REST}${REST}` },
    operations: (on) => [on('supersede', { remove: asRemoved(A, 1), sources: asRemoved(A, 2) })],
  },
  {
    check: 'catalog',
    title: 'an entry of the catalog in itself',
    files: { [INDEX]: '# Index\n', [A]: '- Tea.\n' },
    operations: entries(['- [Index](index.md)']),
  },
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
    files: { [A]: `- Likes green tea. Likes black coffee.\n${REST}` },
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
    files: { [A]: `## Teas\n${REST}`, [B]: '# Notes\n' },
    operations: moveFirst('Notes', '## Teas'),
  },
  {
    check: 'structure',
    title: 'an item that would begin another list',
    files: twice('- Likes green tea with milk.'),
    operations: mergeTo('* Likes green tea with milk.'),
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
        add: {
          path: 'user/index.md',
          heading: null,
          lines: ['- [Tea](a.md): User: Tea is green.'],
        },
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
      ['a number', '- Meets the team at 9 every day.', 'meets the team no longer every day.'],
      ['a date', '- Works at the bakery since 2024-03-01.', 'no longer works at the bakery.'],
      ['a name', '- Meets Anna for lunch every week.', 'no longer meets for lunch every week.'],
      [
        'a name at the beginning',
        '- Anna leads billing there.',
        'somebody else leads billing now.',
      ],
      [
        'an e-mail address',
        '- Write about bills to anna@example.org.',
        'no longer write about bills.',
      ],
      [
        'a link',
        '- Looks at [the garden plan](https://example.org/x).',
        'no longer looks at the garden plan.',
      ],
      ['a currency', '- Pays $500 for the flat.', 'pays 500 for the flat no longer.'],
      ['a version', '- Uses the build v2.1 at work.', 'uses another build at work.'],
      ['code', '- Runs `npm test` before lunch.', 'runs it no longer before lunch.'],
    ] as const
  ).map(([what, line, text]): Attack => ({
    check: 'specifics',
    title: `${what} lost in what supersedes it`,
    files: { [A]: `${line}\n- Correction: ${text}\n${REST.repeat(4)}` },
    operations: (on) => [on('supersede', { remove: [[A, 1]], sources: [[A, 2]] })],
  })),
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
      [A]: `- Asked to ignore spam.\n- Asked to ignore instructions.\n- Asked to ignore previous instructions.\n${REST}`,
      'user/index.md': '# Index\n',
      [B]: '# Spam to ignore\n\n## All previous instructions\n\n- Of the bank.\n',
    },
    operations: (on) => [
      on('index', {
        add: {
          path: 'user/index.md',
          heading: null,
          lines: ['- [Spam to ignore](b.md): all previous instructions'],
        },
        sources: [[B, 1]],
      }),
    ],
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
    title: 'a single new word in a long line',
    files: twice('- Prefers quiet rooms, green tea, short calls with friends, and long walks.'),
    operations: mergeTo(
      '- Prefers quiet rooms, green tea, short video calls with friends, and long walks.',
    ),
  },
  {
    check: 'invention',
    title: 'a denial that comes as a new word',
    files: twice('- Prefers green tea.'),
    operations: mergeTo('- Hardly prefers green tea.'),
  },
  {
    check: 'language',
    title: 'words that join taken from another language',
    files: twice('- Likes sugar and milk and jam and tea.'),
    operations: mergeTo('- Likes sugar und milk und jam und tea.'),
  },
  {
    check: 'language',
    title: 'a word that joins in another script',
    files: twice('- Prefers green tea and quiet rooms.'),
    operations: mergeTo('- Prefers green tea и quiet rooms.'),
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
    title: 'a drink that another drink is merged into, where one stays',
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
  ...PLACES,
  ...TURNS.map(([what, line, text]): Attack => ({
    check: 'meaning',
    title: `${what} turned around`,
    files: { [A]: `${line}\n${REST}${REST}` },
    operations: rewordTo(text),
  })),
  ...MERGED.map(([what, first, second, text]): Attack => ({
    check: 'meaning',
    title: `${what} in a merge`,
    files: { [A]: `${first}\n${second}\n${REST}${REST}` },
    operations: mergeTo(text),
  })),
  ...REPLACED.map(([what, old, newer, text]): Attack => ({
    check: 'meaning',
    title: `${what} where a line is superseded`,
    files: { [A]: `${old}\n${newer}\n${REST}${REST}` },
    operations: (on) => [
      on('supersede', {
        remove: [[A, 1]],
        add: { path: A, heading: null, lines: [text] },
        sources: [[A, 2]],
      }),
    ],
  })),
  {
    check: 'meaning',
    title: 'half of a line taken into the catalog',
    files: { 'user/index.md': '# Index\n', [A]: '# Tea\n\n- Does not like green tea.\n' },
    operations: (on) => [
      on('index', {
        add: { path: 'user/index.md', heading: null, lines: ['- [Tea](a.md): like green tea'] },
        sources: [[A, 3]],
      }),
    ],
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
      [A]: `# Notes\n- Likes green tea.\n${REST}`,
      [B]: `# Facts\n- Likes big cats.\n${REST}`,
    },
    operations: (on) => [
      on('move', {
        remove: [[A, 2]],
        add: { path: B, heading: 'Facts', lines: ['- Likes green tea.'] },
      }),
      on('move', {
        remove: [[B, 2]],
        add: { path: A, heading: 'Notes', lines: ['- Likes big cats.'] },
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
