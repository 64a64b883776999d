import type { AuditRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { ErasureStore } from '../contracts/erasure.ts';
import { isUuid } from '../ids/ids.ts';
import { readRows } from '../lists/page.ts';
import { homeOf, labelOf, ownerOf, toOwner } from '../files/paths.ts';
import { toEraseAction } from './receipt.ts';

/** Rows that one transaction reads. */
const PAGE = 200;
/** What stands in place of the user, and of the user's paths. */
const ERASED = 'erased';

/**
 * Takes a user out of the audit: the rows stay, with their action and time, and name neither the
 * user nor a path, a reason or an id of the user's memory. The rows about the user's own erasures
 * stay as they are. Returns how many rows changed.
 */
export async function eraseAuditReferences(
  erasure: ErasureStore,
  scope: ScopeKey,
  ownIds: ReadonlySet<string>,
): Promise<number> {
  let changed = 0;
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<ErasureStore['changeAudit']>> = await erasure.changeAudit(
      { after, limit: PAGE },
      (row) => eraseFromRow(row, { scope, ownIds }),
    );
    changed += page.changed;
    after = page.next;
  } while (after !== null);
  return changed;
}

/** The row without the owner; `null` where it does not name the owner. */
function eraseFromRow(
  row: AuditRecord,
  { scope, ownIds }: { scope: ScopeKey; ownIds: ReadonlySet<string> },
): AuditRecord | null {
  const { action, target, details } = row;
  const label = labelOf(scope);
  if (action === toEraseAction(scope) && target === label) return null;
  const id = idOf(target);
  const isOwnTarget =
    isOwnPath(target, scope) ||
    (target === label && namesUser(action, target)) ||
    (id !== null && ownIds.has(id));
  // What else such a row says, as a reason or a diff, is about the owner too.
  if (isOwnTarget) return { ...row, target: ERASED, details: { erased: true } };
  const next = toErased(details, scope) as AuditRecord['details'];
  if (JSON.stringify(next) === JSON.stringify(details)) return null;
  // The target of a row that names the owner goes too: it may be the id of a revision that no longer exists.
  return { ...row, target: id === null ? target : ERASED, details: next };
}

/** The ids of the user's revisions, dream runs and tool calls that are targets of audit rows. */
export async function findOwnIds(storage: Storage, scope: ScopeKey): Promise<ReadonlySet<string>> {
  const { revisions, runs } = storage;
  const isOwnId = async (id: string): Promise<boolean> => {
    const owner = (await revisions.get(id)) ?? (await runs?.find(id));
    if (owner !== null && owner !== undefined) return owner.scope === scope;
    const page = { limit: 1, order: 'asc', after: null } as const;
    return (await revisions.list({ scope, toolCallId: id }, page)).items.length > 0;
  };
  const seen = new Set<string>();
  const own = new Set<string>();
  for await (const { target } of readRows((page) => storage.audit.list({}, page))) {
    const id = idOf(target);
    if (id === null || seen.has(id)) continue;
    seen.add(id);
    if (await isOwnId(id)) own.add(id);
  }
  return own;
}

/** The id that a target is or ends in, as "tool call <id>" and "dream run <id>" of reverts do. */
function idOf(target: string): string | null {
  const id = target.split(' ').at(-1) ?? '';
  return isUuid(id) ? id : null;
}

/** Whether a target that equals a user id is one: it may mean all users, or be a setting's name. */
function namesUser(action: string, target: string): boolean {
  if (action === 'dream.config') return false;
  return target !== 'all' || !/^(?:memory|revisions|index|backup)\./.test(action);
}

function isOwnPath(text: string, scope: ScopeKey): boolean {
  const home = homeOf(scope);
  return text.startsWith(home) || text.startsWith(`/v1/admin/${home}`);
}

/** The fields of audit details that hold ids of users, and of spaces. */
const ID_FIELDS = { user: ['userId', 'users'], space: ['spaceId', 'spaces'] };

/** The value of a field without the owner; an object that names the owner loses its other fields. */
function toErased(value: unknown, scope: ScopeKey, field = ''): unknown {
  const isOwn = (text: unknown, name: string) =>
    typeof text === 'string' && (isOwnPath(text, scope) || isOwnId(text, name, scope));
  if (isOwn(value, field)) return ERASED;
  if (Array.isArray(value)) return value.map((member) => toErased(member, scope, field));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value);
  if (fields.some(([name, one]) => isOwn(name, '') || isOwn(one, name))) return { erased: true };
  return Object.fromEntries(fields.map(([name, one]) => [name, toErased(one, scope, name)]));
}

function isOwnId(text: string, field: string, scope: ScopeKey): boolean {
  const { spaceId } = toOwner(scope);
  const fields = spaceId === null ? ID_FIELDS.user : ID_FIELDS.space;
  return text === ownerOf(scope) && fields.includes(field);
}
