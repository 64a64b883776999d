import type { DemoUser } from './demo-memory.ts';

/** The people of the demo. */
export const DEMO_USERS: DemoUser[] = [
  {
    userId: 'maya.chen',
    actor: 'agent',
    sessions: 5,
    files: [
      {
        path: 'profile.md',
        reason: 'First conversation.',
        content: `# Maya Chen

- Product lead for the mobile app
- Works from Lisbon, usually 8:00 to 16:30
- Reports to Tomas Lind
- Speaks English, Mandarin and some Portuguese
`,
      },
      {
        path: 'preferences.md',
        reason: 'She said how she likes answers.',
        content: `# Preferences

## Answers

- Short, with the decision first
- Figures in a table when there are more than three

## Meetings

- None before 9:00
- Notes go to the project's file, not into mail
`,
      },
      {
        path: 'projects/offline-packs.md',
        reason: 'She described the project.',
        content: `# Offline packs

Status: in development.

## Decisions

- Launch on 14 May.
- A pack holds one region, at most 400 MB.
- Packs expire after 90 days without use.

## Open questions

- Do we sell packs one by one, or as part of the plan?
`,
      },
      {
        path: 'index.md',
        reason: 'A catalog of what is known.',
        content: `# Index

- [Profile](user/profile.md): who Maya is
- [Preferences](user/preferences.md): how she likes to work
- [Offline packs](user/projects/offline-packs.md): her main project
`,
      },
    ],
    questions: [
      'When do offline packs launch?',
      'How does Maya like meeting notes?',
      'What did we decide about the size of a pack?',
      'Who reports to whom in the mobile team?',
      'pricing of offline packs',
    ],
    facts: [
      {
        path: 'projects/offline-packs.md',
        under: '## Decisions',
        text: '- Downloads resume after an interruption (3 Nov, Jonas).',
        reason: 'Decided in the weekly review.',
      },
      {
        path: 'preferences.md',
        under: '## Answers',
        text: '- Short, and with the decision first',
        reason: 'She repeated it.',
      },
      {
        path: 'projects/offline-packs.md',
        under: '## Decisions',
        text: '- Launch moved to 28 May: the store review takes longer (Maya).',
        reason: 'The user said that the date moved.',
      },
      {
        path: 'profile.md',
        under: null,
        text: '- Allergic to peanuts; matters for team dinners',
        reason: 'She mentioned it when the dinner was booked.',
        isTold: true,
      },
      {
        path: 'projects/offline-packs.md',
        under: '## Open questions',
        text: '- Which regions come first? Maya leans to the Alps.',
        reason: 'Raised by Maya.',
      },
      {
        path: 'preferences.md',
        under: '## Meetings',
        text: '- Fridays stay free of meetings',
        reason: 'The user asked for it.',
      },
      {
        path: 'projects/offline-packs.md',
        under: '## Open questions',
        text: '- The first regions are now decided: the Alps and the Lake District (Maya, Priya).',
        reason: 'Decided with Priya.',
      },
      {
        path: 'projects/pricing.md',
        under: null,
        text: '- Offline packs are part of the yearly plan, not sold one by one.',
        reason: 'Decided in the pricing round.',
        isTold: true,
        newFile: 'Pricing',
        onDay: 16,
      },
    ],
    tidyings: [
      {
        kind: 'merge',
        path: 'preferences.md',
        remove: ['- Short, and with the decision first'],
        add: [],
        sources: [{ path: 'preferences.md', text: '- Short, with the decision first' }],
        reason: 'The same preference stood there twice.',
      },
      {
        kind: 'supersede',
        path: 'projects/offline-packs.md',
        remove: ['- Launch on 14 May.'],
        add: ['- Launch on 28 May (formerly 14 May).'],
        sources: [
          {
            path: 'projects/offline-packs.md',
            text: '- Launch moved to 28 May: the store review takes longer (Maya).',
          },
        ],
        reason: 'The user corrected the date later in the same file.',
      },
      {
        kind: 'supersede',
        path: 'projects/offline-packs.md',
        remove: ['- Which regions come first? Maya leans to the Alps.'],
        add: [],
        sources: [
          {
            path: 'projects/offline-packs.md',
            text: '- The first regions are now decided: the Alps and the Lake District (Maya, Priya).',
          },
        ],
        reason: 'The question was answered.',
      },
    ],
  },
  {
    userId: 'jonas.weber',
    actor: 'coding-agent',
    sessions: 6,
    files: [
      {
        path: 'profile.md',
        reason: 'First conversation.',
        content: `# Jonas Weber

- Engineer, mobile app (Kotlin, some Rust)
- Munich, works late
`,
      },
      {
        path: 'preferences.md',
        reason: 'He said how he likes code.',
        content: `# Preferences

- Explain with a diff rather than in prose
- Tests before refactoring
- No emoji in commit messages
`,
      },
      {
        path: 'projects/tile-cache.md',
        reason: 'Notes of a debugging session.',
        content: `# Tile cache

The cache evicts the newest tile first when the clock jumps back.

## Findings

- Seen on devices without a network for more than 24 h.
- The timestamp comes from the wall clock.

## Plan

1. Order by a counter instead of the clock.
2. A test with a clock that goes backwards.
`,
      },
    ],
    questions: [
      'tile cache eviction clock',
      'How does Jonas like explanations?',
      'What is the plan for the cache bug?',
      'commit message rules',
    ],
    facts: [
      {
        path: 'projects/tile-cache.md',
        under: '## Findings',
        text: '- Reproduced on a Pixel 6 by setting the clock back one hour.',
        reason: 'Result of a debugging session.',
      },
      {
        path: 'preferences.md',
        under: null,
        text: '- Please explain with a diff rather than in prose',
        reason: 'He said it again.',
        onDay: 8,
      },
      {
        path: 'profile.md',
        under: null,
        text: '- On call in even weeks',
        reason: 'From the rota that he pasted.',
        isTold: true,
        onDay: 10,
      },
      {
        path: 'projects/tile-cache.md',
        under: '## Plan',
        text: '3. Migrate old entries lazily, on their first read.',
        reason: 'Jonas chose the lazy migration.',
      },
      {
        path: 'preferences.md',
        under: null,
        text: '- Likes property tests for caches',
        reason: 'He asked for one.',
        isTold: true,
      },
      {
        path: 'projects/tile-cache.md',
        under: '## Findings',
        text: '- Fixed in build 2291; no crash report since.',
        reason: 'He reported the result.',
      },
    ],
    tidyings: [
      {
        kind: 'merge',
        path: 'preferences.md',
        remove: ['- Please explain with a diff rather than in prose'],
        add: [],
        sources: [{ path: 'preferences.md', text: '- Explain with a diff rather than in prose' }],
        reason: 'The same preference stood there twice.',
      },
      {
        kind: 'move',
        path: 'profile.md',
        remove: ['- On call in even weeks'],
        add: ['- On call in even weeks'],
        heading: 'On call',
        sources: [],
        reason: 'When he is on call has a heading of its own.',
      },
    ],
  },
  {
    userId: 'priya.nair',
    actor: 'agent',
    sessions: 4,
    files: [
      {
        path: 'profile.md',
        reason: 'First conversation.',
        content: `# Priya Nair

- Leads maps and tiles
- Bengaluru; overlaps with Europe from 12:00 to 17:00 UTC
`,
      },
      {
        path: 'projects/trail-score.md',
        reason: 'She explained the score.',
        content: `# Trail score

0 to 100. Weights: surface 0.3, views 0.4, traffic 0.3.

## Experiments

| date | change | result |
| --- | --- | --- |
| 2 Nov | views by elevation alone | worse in forests |
`,
      },
      {
        path: 'people.md',
        reason: 'Names came up in planning.',
        content: `# People

- Hugo: elevation data, answers on Tuesdays
- Amrita: ranger in Coorg, tests new trails
`,
      },
    ],
    questions: [
      'weights of the trail score',
      'Who knows about elevation data?',
      'When is Priya reachable from Europe?',
      'results of score experiments in forests',
    ],
    facts: [
      {
        path: 'projects/trail-score.md',
        under: '## Experiments',
        text: '| 9 Nov | views by elevation and tree cover | 12% better in forests |',
        reason: 'Result that she reported.',
      },
      {
        path: 'people.md',
        under: null,
        text: '- Maya: asks for the first regions by Friday',
        reason: 'From the planning call.',
        isTold: true,
      },
      {
        path: 'people.md',
        under: null,
        text: '- Hugo now answers on Wednesdays',
        reason: 'His mail of this morning.',
        onDay: 15,
      },
      {
        path: 'projects/trail-score.md',
        under: '## Experiments',
        text: '| 16 Nov | traffic from phones, not roads | no difference |',
        reason: 'Result that she reported.',
      },
    ],
    tidyings: [
      {
        kind: 'reword',
        path: 'projects/trail-score.md',
        remove: ['0 to 100. Weights: surface 0.3, views 0.4, traffic 0.3.'],
        add: ['From 0 to 100, by surface, views and traffic.'],
        sources: [],
        reason: 'Says the same in fewer words.',
      },
      {
        kind: 'supersede',
        path: 'people.md',
        remove: ['- Hugo: elevation data, answers on Tuesdays'],
        add: ['- Hugo: elevation data, answers on Wednesdays (formerly on Tuesdays)'],
        sources: [{ path: 'people.md', text: '- Hugo now answers on Wednesdays' }],
        reason: 'The day changed.',
      },
    ],
  },
  {
    userId: 'lena.fischer',
    actor: 'support-agent',
    sessions: 4,
    files: [
      {
        path: 'profile.md',
        reason: 'First conversation.',
        content: `# Lena Fischer

- Billing and contracts
- Berlin; part time, Monday to Wednesday
`,
      },
      {
        path: 'customers/alpine-club.md',
        reason: 'A contract was discussed.',
        content: `# Alpine Club

- 1,200 seats, renews each 1 March
- Contact: Regula Ott
- Pays by invoice, 30 days
`,
      },
      {
        path: 'customers/city-of-graz.md',
        reason: 'A request for an offer.',
        content: `# City of Graz

- Wants walking maps in kiosks
- Offer sent on 29 October, valid for 60 days
`,
      },
      {
        // Kept by hand, and so behind: the check of hygiene has something to find.
        path: 'index.md',
        reason: 'A catalog of what is known.',
        content: `# Index

- [Profile](user/profile.md): who Lena is
- [Alpine Club](user/customers/alpine-club.md): contract and contact
- [Northern Trails](user/customers/northern-trails.md): the offer of spring
`,
      },
    ],
    questions: [
      'When does the Alpine Club renew?',
      'offer to the City of Graz',
      'Who pays by invoice?',
      'On which days does Lena work?',
    ],
    facts: [
      {
        path: 'customers/alpine-club.md',
        under: null,
        text: '- Asked for 150 more seats from January',
        reason: 'From a mail that Lena pasted.',
        isTold: true,
      },
      {
        path: 'customers/alpine-club.md',
        under: null,
        text: '- Also pays by invoice, 30 days',
        reason: 'From their order form.',
      },
      {
        path: 'customers/city-of-graz.md',
        under: null,
        text: '- Answer expected after the council meets on 4 December',
        reason: 'Their reply.',
      },
      {
        path: 'profile.md',
        under: null,
        text: '- Away from 22 December to 3 January',
        reason: 'She set her absence.',
        isTold: true,
      },
      {
        path: 'customers/alpine-club.md',
        under: null,
        text: '- Alpine Club now has 1,350 seats',
        reason: 'The contract was signed.',
        onDay: 23,
      },
    ],
    tidyings: [
      {
        kind: 'merge',
        path: 'customers/alpine-club.md',
        remove: ['- Also pays by invoice, 30 days'],
        add: [],
        sources: [{ path: 'customers/alpine-club.md', text: '- Pays by invoice, 30 days' }],
        reason: 'How they pay stood there twice.',
      },
      {
        kind: 'supersede',
        path: 'customers/alpine-club.md',
        remove: ['- 1,200 seats, renews each 1 March'],
        add: ['- 1,350 seats (formerly 1,200), renews each 1 March'],
        sources: [
          {
            path: 'customers/alpine-club.md',
            text: '- Alpine Club now has 1,350 seats',
          },
        ],
        reason: 'The number of seats changed.',
      },
    ],
  },
  {
    userId: 'diego.alvarez',
    actor: 'agent',
    sessions: 3,
    files: [
      {
        path: 'profile.md',
        reason: 'First conversation.',
        content: `# Diego Álvarez

- Design, icons and onboarding
- Bogotá (UTC−5)
`,
      },
      {
        path: 'projects/onboarding.md',
        reason: 'He outlined the flow.',
        content: `# Onboarding

Three screens: where you walk, how far, and whether maps may be kept offline.

- Nobody is asked to register before the first walk.
`,
      },
    ],
    questions: ['onboarding screens', 'registration before first walk', 'icons for trails'],
    facts: [
      {
        path: 'projects/onboarding.md',
        under: null,
        text: '- Second screen tested with 8 people: 7 understood it.',
        reason: 'He reported the test.',
      },
      {
        path: 'profile.md',
        under: null,
        text: '- Prefers voice notes to long texts',
        reason: 'He said so.',
      },
      {
        path: 'projects/onboarding.md',
        under: null,
        text: '- The third screen shows how large the offline maps are.',
        reason: 'Result of the design review.',
        isTold: true,
      },
      {
        path: 'profile.md',
        under: null,
        text: '- Really prefers voice notes to long texts',
        reason: 'He mentioned it once more.',
        onDay: 22,
      },
    ],
    tidyings: [
      {
        kind: 'merge',
        path: 'profile.md',
        remove: ['- Really prefers voice notes to long texts'],
        add: [],
        sources: [{ path: 'profile.md', text: '- Prefers voice notes to long texts' }],
        reason: 'The same preference stood there twice.',
      },
    ],
  },
  {
    userId: 'sam.okafor@example.com',
    actor: 'agent',
    sessions: 2,
    files: [
      {
        path: 'profile.md',
        reason: 'First conversation.',
        content: `# Sam Okafor

- Customer since 2023, walks with two dogs
- Knee injury in spring: suggest flat trails under 8 km
`,
      },
    ],
    questions: ['flat trails under 8 km', 'dogs allowed', 'knee'],
    facts: [
      {
        path: 'profile.md',
        under: null,
        text: '- The knee is fine again; up to 12 km since November',
        reason: 'The user said so.',
        isTold: true,
      },
      {
        path: 'profile.md',
        under: null,
        text: '- Wants trails where dogs may run free',
        reason: 'Asked for in a review of a trail.',
      },
    ],
    tidyings: [],
  },
];
