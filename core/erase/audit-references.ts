import type { AuditRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { ErasureStore } from '../contracts/erasure.ts';
import { isUuid } from '../ids.ts';

/** Rows that one transaction reads. */
const PAGE = 200;
/** What stands in place of the user, and of the user's paths. */
const ERASED = 'erased';

/**
 * Takes a user out of the audit: the rows stay, with their action and time, and name neither the
 * user nor a path, a reason or an id of the user's memory. Rows about erasures stay as they are.
 * Returns how many rows changed.
 */
export async function eraseAuditReferences(
  { storage, erasure }: { storage: Storage; erasure: ErasureStore },
  scope: ScopeKey,
): Promise<number> {
  const isOwn = ownTest(scope.slice(2));
  const isOwnTarget = ({ action, target }: AuditRecord) =>
    targets.has(target) || isOwn(target, meansOther(action, target) ? '' : USER_ID);
  const targets = await findOwnTargets(storage, scope);
  let changed = 0;
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<ErasureStore['changeAudit']>> = await erasure.changeAudit(
      { after, limit: PAGE },
      (row) => {
        if (row.action === 'users.erase') return null;
        // What else such a row says, as a reason or a diff, is about the user too.
        if (isOwnTarget(row)) return { ...row, target: ERASED, details: { erased: true } };
        const details = toErased(row.details, isOwn) as AuditRecord['details'];
        return JSON.stringify(details) === JSON.stringify(row.details) ? null : { ...row, details };
      },
    );
    changed += page.changed;
    after = page.next;
  } while (after !== null);
  return changed;
}

/** Targets that name a revision, a dream run or a tool call of the user by its id. */
async function findOwnTargets(storage: Storage, scope: ScopeKey): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const { revisions, dreams } = storage;
  const isOwnId = async (id: string): Promise<boolean> => {
    const owner = (await revisions.get(id)) ?? (await dreams?.run(id));
    if (owner !== null && owner !== undefined) return owner.scope === scope;
    const page = { limit: 1, order: 'asc', after: null } as const;
    return (await revisions.list({ scope, toolCallId: id }, page)).items.length > 0;
  };
  let after: readonly (string | number)[] | null = null;
  do {
    const page = await storage.audit.list({}, { limit: PAGE, order: 'asc', after });
    for (const { target } of page.items) {
      // "dream run <id>" and "tool call <id>" are targets of reverts.
      const id = target.split(' ').at(-1) ?? '';
      if (isUuid(id) && !found.has(target) && (await isOwnId(id))) found.add(target);
    }
    after = page.next;
  } while (after !== null);
  return found;
}

/** The field of audit details that names a user. */
const USER_ID = 'userId';

/** Whether a target that may look like a user id is none: `all`, or the name of a setting. */
function meansOther(action: string, target: string): boolean {
  if (action === 'dream.config') return true;
  return target === 'all' && /^(?:memory|revisions|index|backup)\./.test(action);
}

/** Tells whether the text of a field is the user's id, or a path in the user's memory. */
type OwnTest = (text: string, field: string) => boolean;

function ownTest(userId: string): OwnTest {
  const places = [`users/${userId}/`, `/v1/admin/users/${userId}/`];
  return (text, field) =>
    (field === USER_ID && text === userId) || places.some((place) => text.startsWith(place));
}

/** The value with what names the user replaced; an object that does loses its other fields. */
function toErased(value: unknown, isOwn: OwnTest, field = ''): unknown {
  if (typeof value === 'string') return isOwn(value, field) ? ERASED : value;
  if (Array.isArray(value)) return value.map((member) => toErased(member, isOwn, field));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value);
  const namesUser = fields.some(
    ([key, one]) => isOwn(key, '') || (typeof one === 'string' && isOwn(one, key)),
  );
  if (namesUser) return { erased: true };
  return Object.fromEntries(fields.map(([key, one]) => [key, toErased(one, isOwn, key)]));
}
