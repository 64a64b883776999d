import { LRUCache } from 'lru-cache';
import type { AuditCaller } from '../contracts/plugin.ts';
import { SHARED, toOwner, toPrefixRange } from '../files/paths.ts';
import type { IdSource } from '../ids/ids.ts';
import type { AccessQueue } from './access-queue.ts';
import { toAuditRecord } from './audit.ts';

/** Within this time, an operator who sees a file again leaves no other row. */
const AGAIN_MS = 10 * 60_000;
/** More than operators open in that time. */
const MAX_SEEN = 100_000;

/** Keeps who saw contents. */
export interface ContentsAudit {
  /**
   * An operator was shown contents at these physical paths; a folder ends in `/`, and `all` stands for all
   * memory. The rows are written behind; it waits only while the queue is full.
   */
  note(caller: AuditCaller, paths: readonly string[]): Promise<void> | undefined;
}

/** Creates the record of reads by operators; each instance knows those that went through it. */
export function createContentsAudit(deps: {
  queue: Pick<AccessQueue, 'audit'>;
  ids: IdSource;
  now: () => number;
  isOn: boolean;
}): ContentsAudit {
  // It takes room for all of them at once, which most services never need.
  let seen: LRUCache<string, number> | null = null;
  return {
    note(caller, paths) {
      if (!deps.isOn) return undefined;
      seen ??= new LRUCache({ max: MAX_SEEN });
      const now = deps.now();
      const rows = [];
      for (const path of new Set(paths)) {
        const key = `${caller.operator ?? ''}\n${path}`;
        const last = seen.get(key);
        if (last !== undefined && now - last >= 0 && now - last < AGAIN_MS) continue;
        seen.set(key, now);
        const range = toPrefixRange(path);
        const scope = range.kind === 'scope' ? range.scope : SHARED;
        const { userId, spaceId } = toOwner(scope);
        const details = spaceId === null ? { userId } : { userId, spaceId };
        const entry = { action: 'contents.read', target: path, details };
        rows.push({ ...toAuditRecord(deps.ids, { ...entry, ...caller }), scope });
      }
      return rows.length === 0 ? undefined : deps.queue.audit(rows);
    },
  };
}
