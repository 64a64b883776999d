import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Bench, Opened, Suite } from './support/bench.ts';
import { drawCostChart, type Panel } from './support/chart.ts';
import type { Turn } from './support/contestant.ts';
import type { NoteSet } from './support/notes.ts';
import { toRate } from './support/report.ts';
import { toSpread } from './support/statistics.ts';

const SIZES = '1000,10000,50000';
const NOTES_OF_A_USER = 1_000;
const CHART = path.resolve(import.meta.dirname, '../../docs/images/cost-against-size.svg');

/** What one would use instead, through its own API, beside the service with all that it records. */
export const suite: Suite = {
  about: 'what one would use instead: write, read and search, one caller, at several sizes',
  options: {
    items: `numbers of items, comma-separated (default ${SIZES}; 50000 takes minutes)`,
    chart: 'an SVG of cost against size (default the one of the docs, if all sizes are measured)',
  },
  async run(bench) {
    const { items, chart } = bench.options;
    const sizes = (items ?? (bench.isQuick ? '1000' : SIZES)).split(',').map(Number);
    if (!sizes.every((size) => Number.isInteger(size) && size >= 1 && size <= 1_000_000)) {
      throw new Error('--items takes whole numbers from 1 to 1,000,000, comma-separated.');
    }
    const panels: Panel[] = [];
    for (const size of sizes) await compareAt(bench, size, panels);
    const isWhole = !bench.isQuick && sizes.join() === SIZES;
    const file = chart ?? (isWhole ? CHART : null);
    if (file === null) return;
    const { cpu, cores, node, commit } = bench.report.machine;
    await writeFile(
      file,
      drawCostChart(panels, {
        title: 'Time of one operation, one caller',
        subtitle: `${cores} cores of ${cpu}, Node ${node}, commit ${commit}, ${new Date().toISOString().slice(0, 10)}`,
      }),
    );
    bench.report.note(`The chart is in ${path.relative(process.cwd(), file)}.`);
  },
};
async function compareAt(bench: Bench, items: number, panels: Panel[]): Promise<void> {
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

  const compareAll = async (operation: 'read' | 'write', title: string): Promise<void> => {
    const turns = await bench.compare({
      title: title + at,
      entrants: [
        bench.called('service', service, operation, 1),
        ...peers.map((peer) => bench.called('peer', peer, operation, 1)),
      ],
      ratios: peers.map((peer) => ({ of: service.name, to: peer.name })),
    });
    addPoints(panels, { title, items, turns });
  };
  await compareAll('read', 'Read');
  const ownFolder = { ...files, name: "grep, the user's folder alone" };
  const turns = await bench.compare({
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
  addPoints(panels, { title: 'Search', items, turns });
  // Last, since who writes faster has more notes afterwards.
  await compareAll('write', 'Write');
}

/** Adds what each entrant's operation took, with what it left to be done at the end of a turn. */
function addPoints(
  panels: Panel[],
  row: { title: string; items: number; turns: ReadonlyMap<string, readonly Turn[]> },
): void {
  let panel = panels.find(({ title }) => title === row.title);
  if (panel === undefined) panels.push((panel = { title: row.title, series: [] }));
  for (const [name, turns] of row.turns) {
    const rates = turns.filter(({ operations }) => operations > 0).map(toRate);
    if (rates.length === 0) continue;
    let series = panel.series.find((one) => one.name === name);
    if (series === undefined) panel.series.push((series = { name, points: [] }));
    series.points.push([row.items, 1_000 / toSpread(rates).median]);
  }
}

const MODULES = {
  'memory-service': 'service.ts',
  'server-memory': 'server-memory.ts',
  mem0: 'mem0.ts',
  'files + grep': 'files.ts',
  'LangGraph InMemoryStore': 'langgraph.ts',
  'Mastra, not synced': 'mastra.ts',
} as const;
