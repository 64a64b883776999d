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
  const targets = await findOwnTargets(storage, scope);
  let changed = 0;
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<ErasureStore['changeAudit']>> = await erasure.changeAudit(
      { after, limit: PAGE },
      (row) => {
        if (row.action === 'users.erase') return null;
        const isAboutUser = targets.has(row.target) || mentions([row.target, row.details], isOwn);
        if (!isAboutUser) return null;
        const details = toErased(row.details, isOwn) as AuditRecord['details'];
        const next: AuditRecord = {
          ...row,
          target: isOwn(row.target) || targets.has(row.target) ? ERASED : row.target,
          // What else such a row says, as a reason or a diff, is about the user too.
          details: targets.has(row.target) || isOwn(row.target) ? { erased: true } : details,
        };
        return JSON.stringify(next) === JSON.stringify(row) ? null : next;
      },
    );
    changed += page.changed;
    after = page.next;
  } while (after !== null);
  return changed;
}

/** Targets that are ids of the user's revisions and dream runs. */
async function findOwnTargets(storage: Storage, scope: ScopeKey): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  let after: readonly (string | number)[] | null = null;
  do {
    const page = await storage.audit.list({}, { limit: PAGE, order: 'asc', after });
    for (const { target } of page.items) {
      if (!isUuid(target) || found.has(target)) continue;
      const owner = (await storage.revisions.get(target)) ?? (await storage.dreams?.run(target));
      if (owner?.scope === scope) found.add(target);
    }
    after = page.next;
  } while (after !== null);
  return found;
}

/** Tells whether a text is the user's id, or a path in the user's memory. */
function ownTest(userId: string): (text: string) => boolean {
  const own = [userId, `u:${userId}`];
  const places = [`users/${userId}/`, `/v1/admin/users/${userId}/`];
  return (text) => own.includes(text) || places.some((place) => text.startsWith(place));
}

function mentions(value: unknown, isOwn: (text: string) => boolean): boolean {
  if (typeof value === 'string') return isOwn(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, member]) => isOwn(key) || mentions(member, isOwn));
}

/** The value with what names the user replaced; an object that does loses its other fields. */
function toErased(value: unknown, isOwn: (text: string) => boolean): unknown {
  if (typeof value === 'string') return isOwn(value) ? ERASED : value;
  if (Array.isArray(value)) return value.map((member) => toErased(member, isOwn));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value);
  const namesUser = fields.some(
    ([key, one]) => isOwn(key) || (typeof one === 'string' && isOwn(one)),
  );
  if (namesUser) return { erased: true };
  return Object.fromEntries(fields.map(([key, one]) => [key, toErased(one, isOwn)]));
}
