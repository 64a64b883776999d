import type { AuditCaller, Logger } from '../contracts/plugin.ts';
import type { Storage } from '../contracts/storage.ts';
import { writeAudit } from '../telemetry/audit.ts';
import { describeError } from '../describe-error.ts';
import type { IdSource } from '../ids/ids.ts';
import type { Reindexing } from '../schemas/jobs.ts';
import type { Indexer } from '../search/index/indexer.ts';

/** Creates what rebuilds the whole search index of a service in the background. */
export function createReindex(deps: {
  storage: Storage;
  indexer: Indexer;
  ids: IdSource;
  log: Logger;
}) {
  const { indexer, log } = deps;
  let last: Reindexing | null = null;

  return {
    /** `null` before the first. */
    state: () => last,
    /** Starts a rebuild, audited, unless one is running. Resolves when the number of files is known. */
    async start(caller: AuditCaller): Promise<Reindexing> {
      if (last?.state === 'running') return last;
      const before = last;
      const begun: Reindexing = { state: 'running', done: 0, files: 0 };
      last = begun;
      try {
        const action = 'index.reindex';
        await writeAudit(deps, { action, target: 'all', details: {}, ...caller });
      } catch (error) {
        last = before;
        throw error;
      }
      return await new Promise((resolve, reject) => {
        const work = indexer.reindex((done, files) => {
          Object.assign(begun, { done, files });
          resolve({ ...begun });
        });
        work.then(
          () => {
            begun.state = 'completed';
            log.info({ files: begun.files }, 'the search index was made anew');
          },
          (error: unknown) => {
            begun.state = 'failed';
            log.error({ error: describeError(error) }, 'the search index could not be made anew');
            reject(error as Error);
          },
        );
      });
    },
  };
}
