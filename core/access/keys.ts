import type { KeyRecord } from '../contracts/access.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type { Storage } from '../contracts/storage.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { findNameFault } from '../files/actor.ts';
import type { IdSource } from '../ids/ids.ts';
import { takeStart } from '../encoding/take-text.ts';
import { toAuditRecord } from '../telemetry/audit.ts';
import { toTime } from '../time/time.ts';
import { KEYS_GENERATION, makeKey } from './key-text.ts';
import type { KnownKeys } from './known-keys.ts';

/** Keys of each kind. */
const MAX_KEYS = 1_000;
const MINUTE_MS = 60_000;
/** Names the lease whose only use is that the database's clock is read with it. */
export const KEYS_CLOCK = 'keys';

/** A key as its list shows it, and the whole of it, which is shown this once. */
export interface MadeKey<Kind extends KeyRecord['kind']> {
  record: KeyRecord & { kind: Kind };
  text: string;
}

/** What operators do with the keys of one kind. */
export interface Keys<Kind extends KeyRecord['kind']> {
  /** Throws `INVALID_REQUEST` for a name that another key has, and `QUOTA_EXCEEDED` for too many keys. */
  create(
    key: { name: string; rules: (KeyRecord & { kind: Kind })['rules']; expiresAt: number | null },
    caller: AuditCaller,
  ): Promise<MadeKey<Kind>>;
  /** By name. */
  list(): Promise<(KeyRecord & { kind: Kind })[]>;
  /** Throws `KEY_NOT_FOUND`. */
  get(id: string): Promise<KeyRecord & { kind: Kind }>;
  /** Makes a new text for a key. The present one is valid for some minutes more. Throws `KEY_NOT_FOUND`. */
  rotate(
    id: string,
    options: { overlapMinutes: number },
    caller: AuditCaller,
  ): Promise<MadeKey<Kind>>;
  /** From now on the key is refused here, and within a second on the other instances. Throws `KEY_NOT_FOUND`. */
  revoke(id: string, caller: AuditCaller): Promise<KeyRecord & { kind: Kind }>;
}

/** What keys of one kind need. */
interface KeysDependencies {
  storage: Pick<Storage, 'mutate'>;
  known: Pick<KnownKeys, 'list' | 'lookAgain' | 'generation'>;
  ids: IdSource;
  now: () => number;
}

/** What a change makes of a key, and which key its audit row is about; `null` changes nothing. */
type Decide<Own> = (current: { key: Own | null; time: number; generation: number }) => {
  key: Own | null;
  audited: Own;
  details?: Record<string, unknown>;
} | null;

/** Creates what operators do with keys. Each change is one transaction, with its audit row. */
export function createKeys<Kind extends KeyRecord['kind']>(
  kind: Kind,
  deps: KeysDependencies,
): Keys<Kind> {
  type Own = KeyRecord & { kind: Kind };
  const { known } = deps;
  const changes = createKeyChanges(kind, deps);
  const { listOwn, notFound } = changes;
  return {
    async create({ name, rules, expiresAt }, caller) {
      const { text, kept } = makeKey(kind);
      const made = { ...kept, id: deps.ids.next(), kind, name, rules, expiresAt };
      const toNew = (tokensAt: number) =>
        toRecord(made, { createdAt: deps.now(), createdBy: caller.operator, tokensAt }) as Own;
      const ends = expiresAt === null ? {} : { expiresAt: toTime(expiresAt) };
      const options = { action: 'create', caller };
      for (;;) {
        await known.lookAgain();
        checkNew({ name, expiresAt }, { others: listOwn(), area: areaOf(kind), now: deps.now() });
        const seen = known.generation();
        const record = await changes.change(made.id, options, ({ time, generation }) => {
          // Another key was made meanwhile, which may have the name.
          if (generation !== seen) return null;
          const key = toNew(time);
          return { key, audited: key, details: { ...rules, ...ends } };
        });
        if (record !== null) return { record, text };
      }
    },

    async list() {
      // Their last use is no change that others look for.
      await known.lookAgain({ isWhole: true });
      return listOwn().sort((one, other) => (one.name < other.name ? -1 : 1));
    },

    async get(id) {
      await known.lookAgain();
      const found = listOwn().find((key) => key.id === id);
      if (found === undefined) throw notFound(id);
      return found;
    },

    async rotate(id, { overlapMinutes }, caller) {
      const { text, kept } = makeKey(kind);
      const options = { action: 'rotate', caller, details: { overlapMinutes } };
      const record = await changes.changeKnown(id, options, (key) => ({
        ...key,
        ...kept,
        previousPrefix: key.prefix,
        previousHash: key.hash,
        previousUntil: deps.now() + overlapMinutes * MINUTE_MS,
      }));
      return { record, text };
    },

    revoke: (id, caller) => changes.changeKnown(id, { action: 'revoke', caller }, () => null),
  };
}

/** Creates the changes of one key. All of them are in one order, by the setting that counts them. */
function createKeyChanges<Kind extends KeyRecord['kind']>(
  kind: Kind,
  { storage, known, ids }: KeysDependencies,
) {
  type Own = KeyRecord & { kind: Kind };
  const listOwn = (): Own[] => known.list().filter((key): key is Own => key.kind === kind);

  async function change(
    id: string,
    { action, caller }: { action: string; caller: AuditCaller },
    decide: Decide<Own>,
  ): Promise<Own | null> {
    const request = { scopes: [], files: [], settings: [KEYS_GENERATION], leases: [KEYS_CLOCK] };
    const audited = await storage.mutate({ ...request, keys: [id] }, (current) => {
      const generation = Number(current.setting(KEYS_GENERATION)?.value ?? 0);
      const found = current.key(id);
      const present = found?.kind === kind ? (found as Own) : null;
      const decided = decide({ key: present, time: current.now(), generation });
      if (decided === null) return { result: null, writes: 0, changes: {} };
      const audit = toAuditRecord(ids, {
        action: `${areaOf(kind)}.${action}`,
        target: decided.audited.name,
        details: { id, ...decided.details },
        ...caller,
      });
      return {
        result: decided.audited,
        writes: 0,
        changes: {
          keys: [{ id, key: decided.key }],
          settings: [{ key: KEYS_GENERATION, setting: { value: generation + 1 } }],
          audit: [audit],
        },
      };
    });
    await known.lookAgain();
    return audited;
  }

  function notFound(id: string): MemoryError {
    const code = kind === 'tools' ? 'KEY_NOT_FOUND' : 'OPERATOR_NOT_FOUND';
    return new MemoryError(code, undefined, { details: { id: takeStart(id, 64) } });
  }

  /** Changes a key that exists, so that no other id reaches the database. */
  async function changeKnown(
    id: string,
    options: Parameters<typeof change>[1] & { details?: Record<string, unknown> },
    toNext: (key: Own) => Own | null,
  ): Promise<Own> {
    await known.lookAgain();
    const isKnown = listOwn().some((key) => key.id === id);
    const { details = {} } = options;
    const changed = isKnown
      ? await change(id, options, ({ key }) => {
          if (key === null) return null;
          const next = toNext(key);
          return { key: next, audited: next ?? key, details };
        })
      : null;
    if (changed === null) throw notFound(id);
    return changed;
  }

  return { listOwn, change, changeKnown, notFound };
}

/** What the audit calls keys of a kind. */
function areaOf(kind: KeyRecord['kind']): 'keys' | 'operators' {
  return kind === 'tools' ? 'keys' : 'operators';
}

/** The record of a new key, which nobody has used. */
function toRecord(
  made: Pick<KeyRecord, 'id' | 'kind' | 'name' | 'rules' | 'prefix' | 'hash' | 'expiresAt'>,
  {
    createdAt,
    createdBy = null,
    tokensAt,
  }: { createdAt: number; createdBy: string | null | undefined; tokensAt: number },
): KeyRecord {
  return {
    ...made,
    previousPrefix: null,
    previousHash: null,
    previousUntil: null,
    createdAt,
    createdBy,
    lastUsedAt: null,
    tokens: 'rateLimit' in made.rules ? (made.rules.rateLimit ?? 0) : 0,
    tokensAt,
  } as KeyRecord;
}

/** Throws `INVALID_REQUEST` or `QUOTA_EXCEEDED` for a key that cannot be made. */
function checkNew(
  { name, expiresAt }: Pick<KeyRecord, 'name' | 'expiresAt'>,
  { others, area, now }: { others: readonly KeyRecord[]; area: string; now: number },
): void {
  const fault = findNameFault(name);
  if (fault !== null) throw invalidField('/name', fault, 'name');
  if (expiresAt !== null && expiresAt <= now) {
    throw invalidField('/expiresAt', 'must be in the future', 'expiresAt');
  }
  if (others.some((key) => key.name === name)) {
    throw invalidField('/name', 'is the name of another one', 'name');
  }
  if (others.length >= MAX_KEYS) {
    throw new MemoryError('QUOTA_EXCEEDED', `There are ${MAX_KEYS} ${area} already.`, {
      details: { limit: area, max: MAX_KEYS },
    });
  }
}
