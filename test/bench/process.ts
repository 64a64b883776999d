import { CALLERS, type Suite } from './support/bench.ts';
import type { NoteSet } from './support/notes.ts';

/** The read and the write in process beside prepared statements, files and in-process peers. */
export const suite: Suite = {
  about: 'read and write in process, beside prepared statements, files, Mastra and LangGraph',
  isCore: true,
  async run(bench) {
    const set: NoteSet = bench.isQuick ? { users: 10, notes: 100 } : { users: 100, notes: 100 };
    bench.report.note(`${set.users} users with ${set.notes} notes of about 500 bytes.`);
    const point = (name: string, builder: 'prepared' | 'knex', connections: number) =>
      bench.open(name, 'limits/point-read.ts', { set, builder, connections });
    const limit = await point('prepared read × 4', 'prepared', 4);
    const knex = await point('Knex builder, pool of 4', 'knex', 4);
    const service = await bench.open('memory-service', 'contestants/service.ts', { set });
    const files = await bench.open('files with fsync', 'contestants/files.ts', { set });
    const mastra = await bench.open('Mastra, not synced', 'contestants/mastra.ts', { set });
    const langgraph = await bench.open('LangGraph InMemoryStore', 'contestants/langgraph.ts', {
      set,
      vectors: false,
    });

    for (const callers of [CALLERS, 1]) {
      // The figures are of many callers at once: that is what a service is for.
      const isJudged = callers === CALLERS;
      const title = (what: string): string =>
        `${what} in process, ${callers === 1 ? 'one caller' : `${callers} callers`}`;
      await bench.compare({
        title: title('Read'),
        isBrief: !isJudged,
        entrants: [
          bench.called('limit', limit, 'read', callers),
          bench.called('limit', knex, 'read', callers),
          bench.called('service', service, 'read', callers),
          bench.called('peer', files, 'read', callers),
          bench.called('peer', mastra, 'read', callers),
          bench.called('peer', langgraph, 'read', callers),
        ],
        ratios: [
          {
            of: service.name,
            to: limit.name,
            ...(isJudged && { figure: 'process-read-limit' as const }),
          },
          {
            of: service.name,
            to: mastra.name,
            ...(isJudged && { figure: 'process-read-mastra' as const }),
          },
        ],
      });
      await bench.compare({
        title: title('Write'),
        isBrief: !isJudged,
        entrants: [
          bench.called('service', service, 'write', callers),
          bench.called('peer', files, 'write', callers),
          bench.called('peer', mastra, 'write', callers),
          bench.called('peer', langgraph, 'write', callers),
        ],
        ratios: [
          {
            of: service.name,
            to: files.name,
            ...(isJudged && { figure: 'process-write-files' as const }),
          },
          {
            of: service.name,
            to: mastra.name,
            ...(isJudged && { figure: 'process-write-mastra' as const }),
          },
        ],
      });
    }
  },
};
