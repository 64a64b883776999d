import type { ApiKey } from '../contracts/access.ts';
import type { HostStores } from '../contracts/stores.ts';
import type { RevisionRecord } from '../contracts/records.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { readRows } from '../lists/page.ts';
import { createSpaceCalls } from '../tools/run-space-call.ts';
import { toAdminSpace } from '../access/space-settings.ts';
import type { Basis } from './basis.ts';
import type { Memory } from './memory.ts';
import type { Telemetry } from './telemetry.ts';

const NEWEST_FIRST = { order: 'desc' } as const;
/** How far the clocks of two instances may be apart. */
const SKEW_MS = 3_600_000;

/** Creates what the plugin of memory stores works on. */
export function createStores(
  { storage, ids, log, now }: Basis,
  deps: {
    telemetry: Pick<Telemetry, 'queue' | 'exporters' | 'knownErasures'>;
    memory: Pick<Memory, 'files' | 'idempotency' | 'spaces' | 'erasures' | 'revisions'>;
    countCall: (apiKey: ApiKey) => Promise<void> | undefined;
    ready: () => Promise<void>;
  },
): HostStores {
  const { files, idempotency, spaces, erasures, revisions } = deps.memory;
  const { queue, exporters, knownErasures } = deps.telemetry;
  return {
    async list({ after, limit }) {
      const page = { limit, order: 'asc', after: after === null ? null : [after] } as const;
      return (await storage.files.listSpaces({}, page)).items.map(toAdminSpace);
    },
    newSpaceId: () => `store-${ids.next()}`,
    get: (spaceId) => spaces.get(spaceId),
    async create(id, settings, { caller, call }) {
      // A repeat needs the id alone, so nothing else of the space stays here when it is erased.
      const made = await idempotency.once(call, async () => {
        await spaces.create({ id, exclusivePaths: true, ...settings }, caller);
        return { id };
      });
      return await spaces.get((made as { id: string }).id);
    },
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

  async function findRedaction(revision: RevisionRecord) {
    const physicalPath = toPhysicalPath(revision);
    // No row of its redaction is older than the revision itself, but for the clock of another instance.
    const filter = { action: 'revisions.redact', since: revision.at - SKEW_MS };
    for await (const row of readRows((page) => storage.audit.list(filter, page), NEWEST_FIRST)) {
      const { path, versions } = row.details;
      const isAmong = Array.isArray(versions) && versions.includes(revision.version);
      // To redact a version also redacts others at the same path with the same content.
      if (row.target !== revision.id && !(path === physicalPath && isAmong)) continue;
      return { at: row.at, operator: row.operator };
    }
    return null;
  }
}
