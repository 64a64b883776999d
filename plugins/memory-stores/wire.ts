import type { AuditCaller } from '../../core/contracts/access.ts';
import type { FileRecord, RevisionRecord } from '../../core/contracts/records.ts';
import type { HostStores } from '../../core/contracts/stores.ts';
import { toIdMs } from '../../core/ids/id-time.ts';
import { isUuid } from '../../core/ids/ids.ts';
import { fileNoOfLineage, lineageOf } from '../../core/files/lineage.ts';
import { operationOf } from '../../core/files/space-files.ts';
import { isUserId } from '../../core/files/paths.ts';
import type { AdminSpace } from '../../core/schemas/spaces.ts';
import { toTime } from '../../core/time/time.ts';
import { STORES_ACTOR } from '../../core/tools/run-space-call.ts';

/** Ids as clients see them: a name of the kind, and ours. */

const STORE = 'memstore_';
const MEMORY = 'mem_';
const VERSION = 'memver_';
const KEY = 'apikey_';
const SESSION = 'sesn_';
/** In place of the id of a key: that of the configuration has none. */
const SERVICE_KEY = `${KEY}service`;
/** What the audit calls an API key. */
const KEY_OPERATOR = 'key:';

/** The id of a space as that of a store. */
export function toStoreId(spaceId: string): string {
  return STORE + Buffer.from(spaceId).toString('base64url');
}

/** The space of a store's id; `null` for another text. */
export function parseStoreId(id: string): string | null {
  if (!id.startsWith(STORE)) return null;
  const spaceId = Buffer.from(id.slice(STORE.length), 'base64url').toString();
  return isUserId(spaceId) && toStoreId(spaceId) === id ? spaceId : null;
}

/** The id of a memory by its lineage, or that of a version. */
export function toWireId(kind: 'memory' | 'version', id: string): string {
  return (kind === 'memory' ? MEMORY : VERSION) + id.replaceAll('-', '');
}

/** The lineage or revision of an id; `null` for another text. */
export function parseWireId(kind: 'memory' | 'version', text: string): string | null {
  const start = kind === 'memory' ? MEMORY : VERSION;
  const hex = text.slice(start.length);
  if (!text.startsWith(start) || !/^[0-9a-f]{32}$/.test(hex)) return null;
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return isUuid(id) ? id : null;
}

/** A store. Its name is that of the space, or its id. */
export function toStore(space: AdminSpace) {
  return {
    type: 'memory_store' as const,
    id: toStoreId(space.spaceId),
    name: space.name ?? space.spaceId,
    description: space.description ?? '',
    metadata: space.metadata,
    created_at: space.createdAt,
    updated_at: space.updatedAt,
    archived_at: space.archivedAt,
  };
}

type WireFile = Pick<
  FileRecord,
  'path' | 'fileNo' | 'lineageId' | 'hash' | 'size' | 'createdAt' | 'updatedAt' | 'latestRevisionId'
>;

/** A memory; `content` is `null` in the basic view. */
export function toMemory(spaceId: string, file: WireFile, content: string | null) {
  const lineage = lineageOf(file);
  const createdAt = fileNoOfLineage(lineage) === null ? toIdMs(lineage) : file.createdAt;
  return {
    type: 'memory' as const,
    id: toWireId('memory', lineage),
    memory_store_id: toStoreId(spaceId),
    memory_version_id: toWireId('version', file.latestRevisionId),
    path: `/${file.path}`,
    content,
    content_sha256: file.hash,
    content_size_bytes: file.size,
    created_at: toTime(createdAt),
    updated_at: toTime(file.updatedAt),
  };
}

/** A version. What was redacted is `null`. */
export async function toVersion(
  stores: HostStores,
  {
    spaceId,
    revision,
    content,
  }: { spaceId: string; revision: RevisionRecord; content: string | null },
) {
  const redaction = revision.redacted ? await stores.redactionOf(revision) : null;
  const isGone = revision.redacted || !revision.existsAfter;
  return {
    type: 'memory_version' as const,
    id: toWireId('version', revision.id),
    memory_id: toWireId('memory', lineageOf(revision)),
    memory_store_id: toStoreId(spaceId),
    operation: operationOf(revision),
    path: revision.redacted ? null : `/${revision.path}`,
    content: isGone ? null : content,
    content_sha256: isGone ? null : revision.hash,
    content_size_bytes: isGone ? null : revision.size,
    created_at: toTime(revision.at),
    created_by: toAuthor(revision),
    redacted_at: revision.redacted ? toTime(redaction?.at ?? revision.at) : null,
    redacted_by: redaction === null ? null : toOperator(redaction.operator),
  };
}

/** Who made a version; `null` where nobody is known. */
export function toAuthor(revision: RevisionRecord) {
  const { keyId, operator, actor, traceId } = revision;
  if (keyId !== null) return toApiActor(keyId);
  if (operator !== null) return { type: 'user_actor' as const, user_id: operator };
  if (actor === STORES_ACTOR) return { type: 'api_actor' as const, api_key_id: SERVICE_KEY };
  if (traceId !== null) return { type: 'session_actor' as const, session_id: SESSION + traceId };
  return null;
}

function toApiActor(keyId: string) {
  return { type: 'api_actor' as const, api_key_id: KEY + keyId.replaceAll('-', '') };
}

/** What the audit names for a change with a key. */
export function toAuditCaller(caller: AuditCaller, apiKey: { id: string } | null): AuditCaller {
  return { ...caller, operator: apiKey === null ? null : KEY_OPERATOR + apiKey.id };
}

function toOperator(operator: string | null) {
  if (operator === null) return null;
  if (!operator.startsWith(KEY_OPERATOR)) return { type: 'user_actor' as const, user_id: operator };
  return toApiActor(operator.slice(KEY_OPERATOR.length));
}
