import type { AuditCaller } from '../contracts/plugin.ts';
import type { FreezeRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { takeStart } from '../encoding/take-text.ts';
import type { IdSource } from '../ids/ids.ts';
import type { AdminFreeze, FreezeRequest } from '../schemas/freezes.ts';
import { toAuditRecord } from '../telemetry/audit.ts';
import { toTime } from '../time/time.ts';
import { parseHostActor } from './actor.ts';
import { OPERATOR_ACTOR } from './service-actors.ts';
import { checkReason } from './content.ts';
import {
  FREEZE_PREFIX,
  fromFreezeSetting,
  MAX_FREEZES,
  toFreezeKey,
  toFreezeSetting,
} from './freeze.ts';
import type { KnownErasures } from './known-erasures.ts';
import { labelOf, parseSpaceId, parseUserId, toScope } from './paths.ts';

/** Names the lease whose only use is that the database's clock is read with it. */
const CLOCK = 'freezes';
const MINUTE_MS = 60_000;

/** What operators do to stop writes, and to allow them again. */
export interface Freezes {
  /**
   * Stops the writes of a user, of an actor, or all, for some minutes. It is in force here when this
   * resolves, and on the other instances within a second. Throws `QUOTA_EXCEEDED` where too many are in
   * force.
   */
  freeze(request: FreezeRequest, caller: AuditCaller): Promise<AdminFreeze>;
  /** The freezes that are in force, oldest first. */
  list(): Promise<AdminFreeze[]>;
  /** Ends a freeze. Throws `FREEZE_NOT_FOUND` for one that is over, or never was. */
  thaw(id: string, caller: AuditCaller): Promise<AdminFreeze>;
}

/** Creates the freezes of a storage. Each is a setting; nothing has to run for one to end. */
export function createFreezes(deps: {
  storage: Pick<Storage, 'mutate' | 'config'>;
  known: Pick<KnownErasures, 'freezes' | 'lookAgain' | 'time'>;
  ids: IdSource;
  now: () => number;
}): Freezes {
  const { storage, known, ids } = deps;
  const base = { scopes: [], files: [], leases: [CLOCK] };

  return {
    async freeze({ minutes, ...request }, caller) {
      const target = parseTarget(request);
      const reason = checkReason(request.reason) ?? '';
      await known.lookAgain();
      if (known.freezes().length >= MAX_FREEZES) {
        throw new MemoryError('QUOTA_EXCEEDED', 'Too many freezes are in force.', {
          details: { limit: 'freezes', max: MAX_FREEZES },
        });
      }
      const id = ids.next();
      const stored = Object.keys(await storage.config.entries(FREEZE_PREFIX));
      const made = await storage.mutate(
        { ...base, settings: [toFreezeKey(id), ...stored] },
        (current) => {
          const at = known.time(deps.now(), () => current.now());
          const freeze: FreezeRecord = {
            id,
            target,
            reason,
            at,
            until: at + minutes * MINUTE_MS,
            address: caller.address,
          };
          const over = stored.filter((key) => {
            const old = fromFreezeSetting(key, current.setting(key)?.value);
            return old === null || old.until <= at;
          });
          const audit = toAuditRecord(ids, {
            action: 'writes.freeze',
            target: nameTarget(freeze),
            details: { ...target, freezeId: id, reason, minutes, until: toTime(freeze.until) },
            ...caller,
          });
          const settings = [
            toFreezeSetting(freeze),
            ...over.map((key) => ({ key, setting: null })),
          ];
          return { result: freeze, writes: 0, changes: { settings, audit: [audit] } };
        },
      );
      await known.lookAgain();
      return toAnswer(made);
    },

    async list() {
      await known.lookAgain();
      return known.freezes().map(toAnswer);
    },

    async thaw(id, caller) {
      const key = toFreezeKey(id);
      const ended = await storage.mutate({ ...base, settings: [key] }, (current) => {
        const freeze = fromFreezeSetting(key, current.setting(key)?.value);
        const at = known.time(deps.now(), () => current.now());
        if (freeze === null || freeze.until <= at) {
          throw new MemoryError('FREEZE_NOT_FOUND', undefined, {
            details: { id: takeStart(id, 64) },
          });
        }
        const { target } = freeze;
        const audit = toAuditRecord(ids, {
          action: 'writes.thaw',
          target: nameTarget(freeze),
          details: { ...target, freezeId: id },
          ...caller,
        });
        const settings = [{ key, setting: null }];
        return { result: freeze, writes: 0, changes: { settings, audit: [audit] } };
      });
      await known.lookAgain();
      return toAnswer(ended);
    },
  };
}

/** A freeze as the admin API answers it. */
function toAnswer({ id, target, reason, at, until, address }: FreezeRecord): AdminFreeze {
  return {
    id,
    userId: 'userId' in target ? target.userId : null,
    spaceId: 'spaceId' in target ? target.spaceId : null,
    actor: 'actor' in target ? target.actor : null,
    keyId: 'keyId' in target ? target.keyId : null,
    all: 'all' in target,
    reason,
    at: toTime(at),
    until: toTime(until),
    address,
  };
}

/** Throws `INVALID_REQUEST` unless exactly one of the four is named. */
function parseTarget({
  userId,
  spaceId,
  actor,
  keyId,
  all,
}: Pick<FreezeRequest, 'userId' | 'spaceId' | 'actor' | 'keyId' | 'all'>): FreezeRecord['target'] {
  const named = [userId, spaceId, actor, keyId, all].filter((one) => one !== undefined);
  if (named.length !== 1) {
    throw new MemoryError(
      'INVALID_REQUEST',
      'Name one of userId, spaceId, actor, keyId and all: true.',
    );
  }
  if (userId !== undefined) return { userId: parseUserId(userId) };
  if (spaceId !== undefined) return { spaceId: parseSpaceId(spaceId) };
  if (keyId !== undefined) return { keyId };
  if (actor === undefined) return { all: true };
  if (actor === OPERATOR_ACTOR) {
    throw invalidField('/actor', 'is the operator, whose writes are not stopped', 'actor');
  }
  return { actor: parseHostActor(actor) };
}

/** The target of an audit row. */
function nameTarget({ target }: FreezeRecord): string {
  if ('userId' in target || 'spaceId' in target) return labelOf(toScope(target));
  if ('keyId' in target) return `key ${target.keyId}`;
  return 'actor' in target ? `actor ${target.actor}` : 'all';
}
