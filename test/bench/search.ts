import type { Bench, Suite } from './support/bench.ts';
import type { FigureId } from './support/figures.ts';
import type { NoteSet } from './support/notes.ts';

/** Of each user. */
const NOTES = 1_000;
const SMALL = 10_000;
const LARGE = 500_000;

const OPERATIONS: readonly { operation: string; title: string; figure: FigureId }[] = [
  { operation: 'search', title: 'Search', figure: 'growth-search' },
  { operation: 'read', title: 'Read', figure: 'growth-read' },
  { operation: 'write', title: 'Write', figure: 'growth-write' },
];

/** Search by its latency, and what it costs a user that there are many others. */
export const suite: Suite = {
  about:
    'text search in process: latency at 1,000 documents of the user, growth to 500,000 in all (long)',
  options: {
    documents: `documents of all users in the large store (default ${LARGE.toLocaleString('en-US')})`,
  },
  async run(bench) {
    const wanted = Number(bench.options['documents'] ?? (bench.isQuick ? 2 * SMALL : LARGE));
    if (!Number.isInteger(wanted) || wanted < 2 * SMALL) {
      throw new Error(`--documents takes a whole number from ${2 * SMALL}.`);
    }
    const small = await open(bench, SMALL);
    await bench.compare({
      title: 'Search, one caller, two common words, top 10',
      entrants: [bench.called('service', small, 'search', 1)],
      figures: [
        { of: small.name, figure: 'search-sqlite', value: ({ latency }) => latency?.p50 ?? NaN },
      ],
    });
    const large = await open(bench, wanted);
    for (const { operation, title, figure } of OPERATIONS) {
      await bench.compare({
        title: `${title}, one caller: how much longer it takes beside ${wanted.toLocaleString('en-US')} documents`,
        entrants: [
          bench.called('limit', small, operation, 1),
          bench.called('service', large, operation, 1),
        ],
        // A rate to a rate is a time to a time the other way round.
        ratios: [{ of: small.name, to: large.name, figure }],
      });
    }
  },
};

function open(bench: Bench, documents: number) {
  const set: NoteSet = { users: Math.floor(documents / NOTES), notes: NOTES };
  process.stderr.write(`  filling and indexing ${documents.toLocaleString('en-US')} documents\n`);
  return bench.open(`service, ${documents.toLocaleString('en-US')}`, 'contestants/service.ts', {
    set,
  });
}
