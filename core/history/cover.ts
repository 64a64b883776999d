import type { CoverOptions, Storage, UncoveredFile } from '../contracts/storage.ts';
import { NOBODY, toAuditRecord } from '../telemetry/audit.ts';
import { hashText } from '../files/content.ts';
import type { IdSource } from '../ids/ids.ts';
import { type Base, sealBases } from './chain.ts';
import { followSteps } from './texts.ts';

/** Files of one transaction: each may have a whole chain of steps. */
const FILES_AT_ONCE = 8;

/**
 * Puts the oldest texts of files under a hash that were pruned by a service that left none. It is
 * done once for each memory, in small transactions, each with an audit row that says when: a change
 * from before can't be seen. Returns the number of files.
 */
export async function coverFiles({
  storage,
  ids,
  now,
  signal,
}: {
  storage: Storage;
  ids: IdSource;
  now: () => number;
  signal: AbortSignal;
}): Promise<number> {
  const options: CoverOptions = {
    limit: FILES_AT_ONCE,
    async seal(scope, files) {
      const bases = await Promise.all(files.map(toBase));
      const found = bases.filter((base) => base !== null);
      return sealBases(scope, found, { now: now(), isLate: true });
    },
    audit: (files) =>
      toAuditRecord(ids, {
        action: 'revisions.cover',
        target: 'all',
        details: { files },
        ...NOBODY,
      }),
  };
  let total = 0;
  while (!signal.aborted) {
    const covered = (await storage.revisions.cover?.(options)) ?? null;
    if (covered === null) break;
    total += covered;
  }
  return total;
}

async function toBase({ chain, oldest }: UncoveredFile): Promise<Base | null> {
  const { scope, path, fileNo } = oldest;
  const version = oldest.version - 1;
  // A damaged history, which verify names, gets no hash.
  const text = await followSteps(chain, version).catch(() => null);
  return text === null ? null : { scope, path, fileNo, version, contentHash: hashText(text) };
}
