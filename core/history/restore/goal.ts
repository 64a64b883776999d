import type { RestoreRequest } from '../../contracts/admin.ts';
import type { HoldRecord, ScopeKey } from '../../contracts/records.ts';
import { invalidField, MemoryError } from '../../errors.ts';
import type { HeldWrite } from '../../files/hold.ts';
import {
  parsePhysicalPath,
  parsePhysicalPrefix,
  homeOf,
  labelOf,
  SHARED,
  toOwner,
  toPhysicalPath,
} from '../../files/paths.ts';
import { parseTime, toTime } from '../../time/time.ts';

/** What is to be restored. */
export interface Goal {
  scope: ScopeKey;
  at: number;
  /** A path of the scope; `''` for all, a folder ends in `/`. */
  path: string;
}

/** The goal of a request. Throws for a time that is to come, and for a path of another scope. */
export function parseGoal(
  scope: ScopeKey,
  { at, path }: Pick<RestoreRequest, 'at' | 'path'>,
  now: number,
): Goal {
  const time = parseTime(at, 'at');
  if (time > now) throw invalidTime(`${at} is in the future`);
  if (path === undefined) return { scope, at: time, path: '' };
  const home = homeOf(scope);
  if (!path.startsWith(home)) {
    throw new MemoryError('INVALID_PATH', `path must start with ${home}.`, { details: { path } });
  }
  const inside = path.endsWith('/')
    ? parsePhysicalPrefix(path).slice(home.length)
    : parsePhysicalPath(path).path;
  return { scope, at: time, path: inside };
}

/** The goal of a restore that was cut off. */
export function toGoal({ scope, details }: HoldRecord): Goal {
  return { scope, at: Number(details['at']), path: String(details['path']) };
}

export function isSameGoal(one: Goal, other: Goal): boolean {
  return one.scope === other.scope && one.at === other.at && one.path === other.path;
}

/** What the revisions and the audit say of a restore. */
export function toOptions({ scope, at, path }: Goal, held?: HeldWrite) {
  const step = held === undefined ? {} : { step: held.step };
  return {
    action: toAction(scope, 'restore'),
    target: nameScope(scope),
    reason: `Restores the memory as of ${toTime(at)}.`,
    details: {
      at: toTime(at),
      path: path === '' ? null : toPhysicalPath({ scope, path }),
      ...step,
    },
    qualifies: true,
    held,
  };
}

/** A scope as the audit and messages name it: shared memory is `shared`. */
export function nameScope(scope: ScopeKey): string {
  return scope === SHARED ? 'shared' : labelOf(scope);
}

/** The audit action of work on a whole memory: `users.restore`, `spaces.release`. */
export function toAction(scope: ScopeKey, work: 'restore' | 'release'): string {
  if (scope === SHARED) return `shared.${work}`;
  return `${toOwner(scope).spaceId === null ? 'users' : 'spaces'}.${work}`;
}

/** The error for a time that can't be restored. */
export function invalidTime(message: string): MemoryError {
  return invalidField('/at', message, 'The time');
}
