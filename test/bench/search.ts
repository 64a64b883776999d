import type { PassageSet } from './contestants/hybrid.ts';
import type { Bench, Opened, Suite } from './support/bench.ts';
import type { NoteSet } from './support/notes.ts';
import { DOCUMENTS_OF_A_USER, type SearchFixture } from './support/search-fixture.ts';

const FEW = 10_000;
const MANY = 500_000;

/** How quick a search is, beside what one would use instead, and what the memory of others costs. */
export const suite: Suite = {
  about: 'memory_find in process: 1,000 documents of a user, 10k to 500k in all (makes fixtures)',
  options: {
    documents: `documents in all for the growth (default ${MANY.toLocaleString('en-US')})`,
    peers: 'no: leave mem0 and grep out, which take minutes',
    vectors: 'vectors of the long scan (default 10,000; 100,000 take minutes to make)',
  },
  async run(bench) {
    const many = Number(bench.options['documents'] ?? (bench.isQuick ? 20_000 : MANY));
    if (!Number.isInteger(many / DOCUMENTS_OF_A_USER) || many < FEW) {
      throw new Error(`--documents takes a multiple of 1,000, from ${FEW}.`);
    }
    await searchLongDocuments(bench);
    await searchAfterWrites(bench);
    await searchByMeaning(bench);
    if (!bench.isQuick) await searchColdVectors(bench);
    await scanManyVectors(bench, Number(bench.options['vectors'] ?? (bench.isQuick ? 1_000 : FEW)));
    await grow(bench, many);
    if (bench.options['peers'] !== 'no' && !bench.isQuick) await searchBesidePeers(bench);
  },
};

const openUser = (bench: Bench, name: string, fixture: SearchFixture): Promise<Opened> =>
  bench.open(name, 'contestants/one-user.ts', { fixture });

async function searchLongDocuments(bench: Bench): Promise<void> {
  const fixture = { documents: FEW, notesOfADocument: 4 };
  const service = await openUser(bench, 'memory-service, 2 KB', fixture);
  await bench.compare({
    title: 'Search, two common words, 1,000 documents of 2 KB of the user, 10,000 in all',
    entrants: [bench.called('service', service, 'search', 1)],
    figures: [
      { of: service.name, figure: 'search-sqlite', value: ({ latency }) => latency?.p50 ?? NaN },
    ],
  });
}

/** Who writes before each search has nothing in memory that is still true of the texts. */
async function searchAfterWrites(bench: Bench): Promise<void> {
  const fixture = { documents: FEW, notesOfADocument: 1 };
  const service = await openUser(bench, 'memory-service, writes', fixture);
  await bench.compare({
    title: 'Write of a document, and write with a search after it, 1,000 documents of 500 bytes',
    entrants: (['write', 'write, then search'] as const).map((operation) => ({
      ...bench.called('service', service, operation, 1),
      name: operation,
    })),
  });
}

const openVectors = (bench: Bench, name: string, set: PassageSet): Promise<Opened> =>
  bench.open(name, 'contestants/hybrid.ts', { set });

/** What a search by words takes, and with 1,000 vectors of 384 numbers; the embedder is left out. */
async function searchByMeaning(bench: Bench): Promise<void> {
  const set = { users: 1, files: DOCUMENTS_OF_A_USER, passages: 1 };
  const service = await openVectors(bench, 'memory-service, vectors', set);
  const entrants = (['text', 'hybrid'] as const).map((operation) => ({
    ...bench.called('service', service, operation, 1),
    name: operation,
  }));
  await bench.compare({
    title: 'Search by words, and by words and 1,000 vectors of 384 numbers, of the same user',
    entrants,
    figures: [
      { of: 'hybrid', figure: 'search-hybrid', value: ({ latency }) => latency?.p50 ?? NaN },
    ],
  });
}

/** More users than there is room for in the cache: each time another one's vectors are read. */
async function searchColdVectors(bench: Bench): Promise<void> {
  const ofAUser = { files: 10, passages: 100 };
  const [warm, cold] = [
    await openVectors(bench, 'vectors in memory', { users: 1, ...ofAUser }),
    await openVectors(bench, 'vectors read anew', { users: 80, ...ofAUser }),
  ];
  await bench.compare({
    title: 'Search by words and 1,000 vectors of 384 numbers, of one user and of another each time',
    entrants: [warm, cold].map((one) => bench.called('service', one, 'hybrid', 1)),
    ratios: [{ of: warm.name, to: cold.name }],
  });
}

/** A scan that takes long is to hold up no other request: its delay is the loop's. */
async function scanManyVectors(bench: Bench, vectors: number): Promise<void> {
  const set = { users: 1, files: vectors / 100, passages: 100 };
  const count = vectors.toLocaleString('en-US');
  const service = await openVectors(bench, `${count} vectors`, set);
  await bench.compare({
    title: `Search by words, and by words and ${count} vectors of 384 numbers, of one user`,
    entrants: (['text', 'hybrid'] as const).map((operation) => ({
      ...bench.called('service', service, operation, 1),
      name: operation,
    })),
    figures: [
      { of: 'hybrid', figure: 'loop-delay', value: ({ loopDelay }) => loopDelay?.p99 ?? NaN },
    ],
  });
}

async function grow(bench: Bench, many: number): Promise<void> {
  const [few, lots] = [FEW, many].map((documents) => ({ documents, notesOfADocument: 1 }));
  const name = (documents: number): string => `${documents.toLocaleString('en-US')} documents`;
  const small = await openUser(bench, name(FEW), few as SearchFixture);
  const large = await openUser(bench, name(many), lots as SearchFixture);
  for (const operation of ['search', 'read', 'write'] as const) {
    await bench.compare({
      title: `One user's ${operation}, 1,000 documents of 500 bytes of the user`,
      entrants: [small, large].map((one) => bench.called('service', one, operation, 1)),
      // Of their rates, so of their times the other way round.
      ratios: [{ of: small.name, to: large.name, figure: `growth-${operation}` }],
    });
  }
}

const OWN_FOLDER = 'files + grep, 1,000 of one user';

/** They look through what the service has: 10,000 notes. Where users are folders, grep may take one. */
async function searchBesidePeers(bench: Bench): Promise<void> {
  const set: NoteSet = { users: FEW / DOCUMENTS_OF_A_USER, notes: DOCUMENTS_OF_A_USER };
  const fixture = { documents: FEW, notesOfADocument: 1 };
  const service = await openUser(bench, 'memory-service', fixture);
  const mem0 = await bench.open('mem0', 'contestants/mem0.ts', { set });
  const files = await bench.open('files + grep, all 10,000', 'contestants/files.ts', { set });
  await bench.compare({
    title: 'Search, two common words, 1,000 documents of 500 bytes of the user, 10,000 in all',
    isBrief: true,
    entrants: [
      bench.called('service', service, 'search', 1),
      bench.called('peer', mem0, 'search', 1),
      bench.called('peer', files, 'search', 1),
      { ...bench.called('peer', files, 'search own folder', 1), name: OWN_FOLDER },
    ],
    ratios: [
      { of: service.name, to: mem0.name, figure: 'search-mem0' },
      { of: service.name, to: files.name, figure: 'search-grep' },
      { of: service.name, to: OWN_FOLDER },
    ],
  });
}
