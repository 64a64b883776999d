import type { ApiKey } from '../contracts/access.ts';
import type { HostStores } from '../contracts/stores.ts';
import type { RevisionRecord } from '../contracts/records.ts';
import { createSpaceCalls } from '../tools/run-space-call.ts';
import { toAdminSpace } from '../access/space-settings.ts';
import type { Basis } from './basis.ts';
import type { Memory } from './memory.ts';
import type { Telemetry } from './telemetry.ts';

/** Audit rows that are searched for the one of a redaction. */
const AUDIT_ROWS = 500;

/** Creates what the plugin of memory stores works on. */
export function createStores(
  { storage, ids, log, now }: Basis,
  deps: {
    telemetry: Pick<Telemetry, 'queue' | 'exporters' | 'knownErasures'>;
    memory: Pick<Memory, 'files' | 'spaces' | 'erasures' | 'revisions'>;
    countCall: (apiKey: ApiKey) => Promise<void> | undefined;
    ready: () => Promise<void>;
  },
): HostStores {
  const { files, spaces, erasures, revisions } = deps.memory;
  const { queue, exporters, knownErasures } = deps.telemetry;
  return {
    async list({ after, limit }) {
      const page = { limit, order: 'asc', after: after === null ? null : [after] } as const;
      return (await storage.files.listSpaces({}, page)).items.map(toAdminSpace);
    },
    newSpaceId: () => `store-${ids.next()}`,
    get: (spaceId) => spaces.get(spaceId),
    create: (id, settings, caller) =>
      spaces.create({ id, exclusivePaths: true, ...settings }, caller),
    change: (spaceId, settings, caller) => spaces.change(spaceId, settings, caller),
    archive: (spaceId, caller) => spaces.archive(spaceId, {}, caller),
    async erase(spaceId, caller) {
      await erasures.erase({ spaceId }, { confirm: spaceId }, caller);
    },
    async redact(revisionId, caller) {
      await revisions.redact(revisionId, { reason: 'Redacted over the stores API.' }, caller);
    },
    redactionOf: (revision) => findRedaction(revision),
    files: files.inSpaces,
    run: createSpaceCalls({
      ids,
      queue,
      exporters,
      log,
      knownErasures,
      countCall: deps.countCall,
      checkWrites: (write) => files.checkWrites(write),
      ready: deps.ready,
      now,
    }),
  };

  async function findRedaction({ id }: RevisionRecord) {
    const page = { limit: AUDIT_ROWS, order: 'desc', after: null } as const;
    const { items } = await storage.audit.list({ action: 'revisions.redact' }, page);
    const row = items.find(({ target }) => target === id);
    return row === undefined ? null : { at: row.at, operator: row.operator };
  }
}
