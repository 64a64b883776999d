import {
  type Bench,
  CALLERS,
  caughtUp,
  type Entrant,
  type Opened,
  type Suite,
} from './support/bench.ts';
import type { NoteSet } from './support/notes.ts';

/** The read and the write in process beside their limits, files, and in-process peers. */
export const suite: Suite = {
  about: 'read and write in process, beside prepared statements, files, Mastra and LangGraph',
  isCore: true,
  async run(bench) {
    const set: NoteSet = bench.isQuick ? { users: 10, notes: 100 } : { users: 100, notes: 100 };
    bench.report.note(`${set.users} users with ${set.notes} notes of about 500 bytes.`);
    bench.report.note('Each turn of the service begins with its index caught up.');
    const all = await openAll(bench, set);
    for (const callers of [CALLERS, 1]) {
      await compareReads(bench, all, callers);
      await compareWrites(bench, all, callers);
    }
  },
};

type Contestants = Awaited<ReturnType<typeof openAll>>;

async function openAll(bench: Bench, set: NoteSet) {
  const point = (name: string, builder: 'prepared' | 'knex', connections: number) =>
    bench.open(name, 'limits/point-read.ts', { set, builder, connections });
  return {
    prepared: await point('prepared read × 4', 'prepared', 4),
    knex: await point('Knex builder, pool of 4', 'knex', 4),
    recorded: await bench.open('prepared read × 4, recorded', 'limits/recorded-read.ts', {
      set,
      connections: 4,
    }),
    grouped: await bench.open('group commit, 3 rows', 'limits/group-write.ts', { set }),
    service: await bench.open('memory-service', 'contestants/service.ts', { set }),
    files: await bench.open('files with fsync', 'contestants/files.ts', { set }),
    mastra: await bench.open('Mastra, not synced', 'contestants/mastra.ts', { set }),
    langgraph: await bench.open('LangGraph InMemoryStore', 'contestants/langgraph.ts', {
      set,
      vectors: false,
    }),
  };
}

async function compareReads(bench: Bench, all: Contestants, callers: number): Promise<void> {
  const { prepared, knex, recorded, service, files, mastra, langgraph } = all;
  // The figures are of many callers at once: that is what a service is for. Those beside a peer are
  // of the peer's one caller, as peers are measured; with as many callers it stands beside them.
  const isJudged = callers === CALLERS;
  await bench.compare({
    title: `Read in process, ${inWords(callers)}`,
    isBrief: !isJudged,
    entrants: [
      bench.called('limit', prepared, 'read', callers),
      bench.called('limit', knex, 'read', callers),
      bench.called('limit', recorded, 'read', callers),
      caughtUp(bench.called('service', service, 'read', callers), service),
      bench.called('peer', files, 'read', callers),
      bench.called('peer', mastra, 'read', callers),
      ...(isJudged ? [alone(bench, mastra, 'read')] : []),
      bench.called('peer', langgraph, 'read', callers),
    ],
    ratios: [
      { of: service.name, to: prepared.name, ...(isJudged && { figure: 'process-read-limit' }) },
      { of: recorded.name, to: prepared.name },
      { of: service.name, to: recorded.name },
      { of: service.name, to: mastra.name },
      ...(isJudged
        ? [{ of: service.name, to: aloneName(mastra), figure: 'process-read-mastra' as const }]
        : []),
    ],
  });
}

async function compareWrites(bench: Bench, all: Contestants, callers: number): Promise<void> {
  const { grouped, service, files, mastra, langgraph } = all;
  const isJudged = callers === CALLERS;
  await bench.compare({
    title: `Write in process, ${inWords(callers)}`,
    isBrief: !isJudged,
    entrants: [
      bench.called('limit', grouped, 'write', callers),
      caughtUp(bench.called('service', service, 'write', callers), service),
      bench.called('peer', files, 'write', callers),
      bench.called('peer', mastra, 'write', callers),
      ...(isJudged ? [alone(bench, files, 'write'), alone(bench, mastra, 'write')] : []),
      bench.called('peer', langgraph, 'write', callers),
    ],
    ratios: [
      { of: service.name, to: grouped.name },
      { of: service.name, to: files.name },
      { of: service.name, to: mastra.name },
      ...(isJudged
        ? [
            { of: service.name, to: aloneName(files), figure: 'process-write-files' as const },
            { of: service.name, to: aloneName(mastra), figure: 'process-write-mastra' as const },
          ]
        : []),
    ],
  });
}

function inWords(callers: number): string {
  return callers === 1 ? 'one caller' : `${callers} callers`;
}

/** The same peer with one caller, beside the many of the row. */
function alone(bench: Bench, opened: Opened, operation: string): Entrant {
  return { ...bench.called('peer', opened, operation, 1), name: aloneName(opened) };
}

function aloneName({ name }: Opened): string {
  return `${name}, one caller`;
}
