import type { FreezeRecord, FreezeTarget, ScopeKey } from '../contracts/records.ts';
import { isUuid } from '../ids/ids.ts';
import { MemoryError } from '../errors.ts';
import { isUserId, toScope } from './paths.ts';
import { toTime } from '../time/time.ts';

/** A setting for each freeze, so that each is written and removed alone. */
export const FREEZE_PREFIX = 'service_freeze:';
/** Freezes that are in force at once. */
export const MAX_FREEZES = 1_000;

/** Who would write, and where. */
export interface FrozenWrite {
  /** For whom; `null` for nobody in particular. */
  userId: string | null;
  actor: string;
  /** The named key of the call. */
  apiKey?: { id: string } | undefined;
  scopes?: Iterable<ScopeKey>;
}

/** Whether a freeze stops a write. */
export function isFrozenBy(
  { target }: FreezeRecord,
  { userId, actor, apiKey, scopes = [] }: FrozenWrite,
) {
  if ('all' in target) return true;
  if ('actor' in target) return target.actor === actor;
  if ('keyId' in target) return target.keyId === apiKey?.id;
  if ('userId' in target && target.userId === userId) return true;
  return [...scopes].includes(toScope(target));
}

/** The error of a write that an operator has stopped. It names no reason: that is for operators. */
export function writesFrozen(freezes: readonly FreezeRecord[]): MemoryError {
  const until = toTime(Math.max(...freezes.map((freeze) => freeze.until)));
  return new MemoryError('WRITES_FROZEN', `An operator has stopped writes here until ${until}.`, {
    details: { until },
  });
}

/** Whether an error is that of a write that an operator has stopped. */
export function isFrozen(error: unknown): boolean {
  return error instanceof MemoryError && error.code === 'WRITES_FROZEN';
}

/** The setting of a freeze. */
export function toFreezeSetting({ id, ...value }: FreezeRecord): {
  key: string;
  setting: { value: object };
} {
  return { key: toFreezeKey(id), setting: { value } };
}

/** The key of a freeze's setting. */
export function toFreezeKey(id: string): string {
  return `${FREEZE_PREFIX}${id}`;
}

/** The freeze of a setting; `null` for one that was damaged by hand. */
export function fromFreezeSetting(key: string, value: unknown): FreezeRecord | null {
  const id = key.slice(FREEZE_PREFIX.length);
  const { target, reason, at, until, address = null } = (value ?? {}) as Partial<FreezeRecord>;
  const isWhole =
    isUuid(id) &&
    isTarget(target) &&
    typeof reason === 'string' &&
    typeof at === 'number' &&
    typeof until === 'number';
  return isWhole ? { id, target, reason, at, until, address } : null;
}

function isTarget(value: unknown): value is FreezeTarget {
  if (typeof value !== 'object' || value === null) return false;
  const { userId, spaceId, actor, keyId, all } = value as Record<string, unknown>;
  if ([actor, keyId].some((name) => typeof name === 'string') || all === true) return true;
  return isUserId(userId) || isUserId(spaceId);
}
