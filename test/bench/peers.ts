import type { Bench, Opened, Suite } from './support/bench.ts';
import type { NoteSet } from './support/notes.ts';

const SIZES = '1000,10000';
const NOTES_OF_A_USER = 1_000;

/** What one would use instead, through its own API, beside the service with all that it records. */
export const suite: Suite = {
  about: 'what one would use instead: write, read and search, one caller, at several sizes',
  options: { items: `numbers of items, comma-separated (default ${SIZES}; 50000 takes minutes)` },
  async run(bench) {
    const sizes = (bench.options['items'] ?? (bench.isQuick ? '1000' : SIZES))
      .split(',')
      .map(Number);
    if (!sizes.every((size) => Number.isInteger(size) && size >= 1 && size <= 1_000_000)) {
      throw new Error('--items takes whole numbers from 1 to 1,000,000, comma-separated.');
    }
    for (const size of sizes) await compareAt(bench, size);
  },
};

async function compareAt(bench: Bench, items: number): Promise<void> {
  const notes = Math.min(items, NOTES_OF_A_USER);
  const set: NoteSet = { users: Math.ceil(items / notes), notes };
  const open = (name: string, options: object = {}): Promise<Opened> =>
    bench.open(name, `contestants/${MODULES[name as keyof typeof MODULES]}`, { set, ...options });
  const service = await open('memory-service');
  const serverMemory = await open('server-memory');
  const mem0 = await open('mem0');
  const files = await open('files + grep');
  const langgraph = await open('LangGraph InMemoryStore', { vectors: true });
  const mastra = await open('Mastra, not synced');
  const peers = [serverMemory, mem0, files, langgraph, mastra];
  const at = `, ${items.toLocaleString('en-US')} items of ${set.users} users, one caller`;
  const isJudged = items === 10_000;

  for (const [operation, title] of [
    ['write', 'Write'],
    ['read', 'Read'],
  ] as const) {
    await bench.compare({
      title: title + at,
      entrants: [
        bench.called('service', service, operation, 1),
        ...peers.map((peer) => bench.called('peer', peer, operation, 1)),
      ],
      ratios: peers.map((peer) => ({ of: service.name, to: peer.name })),
    });
  }
  const ownFolder = { ...files, name: "grep, the user's folder alone" };
  await bench.compare({
    title: `Search${at}`,
    entrants: [
      bench.called('service', service, 'search', 1),
      bench.called('peer', serverMemory, 'search', 1),
      bench.called('peer', mem0, 'search', 1),
      bench.called('peer', files, 'search', 1),
      bench.called('peer', ownFolder, 'search own folder', 1),
      bench.called('peer', langgraph, 'search', 1),
    ],
    ratios: [
      { of: service.name, to: serverMemory.name },
      {
        of: service.name,
        to: mem0.name,
        ...(isJudged && { figure: 'search-mem0' as const }),
      },
      {
        of: service.name,
        to: files.name,
        ...(isJudged && { figure: 'search-grep' as const }),
      },
      { of: service.name, to: ownFolder.name },
      { of: service.name, to: langgraph.name },
    ],
    figures: isJudged
      ? [{ of: service.name, figure: 'search-sqlite', value: ({ latency }) => latency?.p50 ?? NaN }]
      : [],
  });
}

const MODULES = {
  'memory-service': 'service.ts',
  'server-memory': 'server-memory.ts',
  mem0: 'mem0.ts',
  'files + grep': 'files.ts',
  'LangGraph InMemoryStore': 'langgraph.ts',
  'Mastra, not synced': 'mastra.ts',
} as const;
