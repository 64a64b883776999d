import type { DemoFile } from './demo-memory.ts';

/** Shared memory: what everybody's agent may read. */
export const DEMO_SHARED: readonly DemoFile[] = [
  {
    path: 'playbook.md',
    reason: 'The team agreed on it in the kick-off.',
    content: `# Team playbook

Northlight makes maps for people who walk. We ship on Thursdays.

## How we work

- A change is small enough to be reviewed before lunch.
- Decisions go into the project's file with a date and a name.
- Customers are answered within one working day.

## Who to ask

- Maps and tiles: Priya Nair
- The mobile app: Jonas Weber
- Billing and contracts: Lena Fischer
`,
  },
  {
    path: 'glossary.md',
    reason: 'New colleagues asked for it.',
    content: `# Glossary

- **Tile**: a square of the map, 256 points wide.
- **Trail score**: 0 to 100, how pleasant a path is to walk.
- **Offline pack**: tiles and trails of a region, for use without a network.
- **Ridge**: the service that computes trail scores.
`,
  },
  {
    path: 'brand/voice.md',
    reason: 'From the brand workshop.',
    content: `# Voice

Plain, warm, exact. We say *walk*, not *experience the outdoors*.

| instead of | we write |
| --- | --- |
| utilise | use |
| in order to | to |
| seamless | (nothing) |
`,
  },
];
