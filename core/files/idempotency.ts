import type { IdempotencyRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { ToolCall } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { hashText } from './content.ts';
import { checkNotErased } from './hold.ts';
import { SHARED, toOwner, toScope } from './paths.ts';

/** How long an idempotency key is stored. */
export const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;
/** Stored in place of the answer while the call runs. */
const BEGUN = '';

/** The key of a call, before there is an answer. */
type OpenKey = Omit<IdempotencyRecord, 'result' | 'createdAt'>;

/** Answers repeated calls with the first answer, for tools that don't write files themselves. */
export interface Idempotency {
  /**
   * The first answer under the call's idempotency key; `null` if there is none yet. `written`: of a call
   * that writes this memory alone.
   */
  replay<R extends object>(call: WritingCall, written?: ScopeKey): Promise<R | null>;
  /**
   * Runs a tool once per idempotency key. A repeat gets the first answer, and waits for it if the first
   * call still runs in this process. Rejects with `IDEMPOTENCY_KEY_REUSED` and
   * `details.reason: 'outcome_unknown'` if the first call failed, was interrupted, or runs in another
   * process. Always runs a call without a key.
   */
  once(call: WritingCall, run: () => Promise<unknown>): Promise<unknown>;
}

/** Stores answers by idempotency key. File writes store theirs in their own transaction instead. */
export function createIdempotency({
  storage,
  now,
  confirmedNow,
}: {
  storage: Storage;
  now: () => number;
  /** Expires keys: a jump of the clock must not turn a repeat into a second run. */
  confirmedNow: () => number;
}): Idempotency {
  /** Running calls by scope and key. */
  const running = new Map<string, { first: OpenKey; answer: Promise<unknown> }>();

  async function runOnce(
    call: WritingCall,
    idempotency: OpenKey,
    run: () => Promise<unknown>,
  ): Promise<unknown> {
    const place = placeOf(idempotency);
    const { knownErasure = Infinity } = call.trace;
    const keep = (result: string) => ({
      idempotency: { ...idempotency, result, createdAt: now() },
    });
    // Stored before the run, so that a repeat after a crash learns that the call may have run.
    const first = await storage.mutate(place, (current) => {
      const record = findReplay(current.idempotency, { wanted: idempotency, now: confirmedNow() });
      checkNotErased(current, place.scopes, knownErasure);
      return { result: record, writes: 0, changes: record === null ? keep(BEGUN) : {} };
    });
    if (first?.result === BEGUN) {
      throw new MemoryError(
        'IDEMPOTENCY_KEY_REUSED',
        'A call under this idempotency key was begun, and whether it was carried out is not known.',
        { details: { reason: 'outcome_unknown', toolCallId: first.toolCallId } },
      );
    }
    if (first !== null) {
      call.onReplay?.(first);
      // eslint-disable-next-line no-restricted-syntax -- this service wrote it
      return JSON.parse(first.result) as unknown;
    }
    const result = await run();
    const text = JSON.stringify(result ?? null);
    await storage.mutate(place, (current) => {
      // The tool did its work: only what it answered is not kept of an erased user.
      const isErased = knownErasure < current.scope(idempotency.scope).erasureNumber;
      return { result: null, writes: 0, changes: isErased ? {} : keep(text) };
    });
    return result;
  }

  return {
    async replay<R extends object>(call: WritingCall, written?: ScopeKey) {
      const idempotency = toOpenKey(call, written === undefined ? {} : { written: [written] });
      if (idempotency === null) return null;
      const first = await storage.mutate(placeOf(idempotency), (current) => ({
        result: findReplay(current.idempotency, { wanted: idempotency, now: confirmedNow() }),
        writes: 0,
        changes: {},
      }));
      if (first === null) return null;
      call.onReplay?.(first);
      // eslint-disable-next-line no-restricted-syntax -- this service wrote it
      return JSON.parse(first.result) as R;
    },

    async once(call, run) {
      const idempotency = toOpenKey(call, { nth: 'run' });
      if (idempotency === null) return run();
      const slot = `${idempotency.scope} ${idempotency.keyHash}`;
      const other = running.get(slot);
      if (other === undefined) {
        const answer = runOnce(call, idempotency, run).finally(() => running.delete(slot));
        running.set(slot, { first: idempotency, answer });
        return answer;
      }
      const { first, answer } = other;
      if (first.requestHash !== idempotency.requestHash) {
        throw new MemoryError('IDEMPOTENCY_KEY_REUSED');
      }
      const result = await answer;
      call.onReplay?.(first);
      return result;
    },
  };
}

/** A call that writes: of a tool, or of a client that is no user. */
export type WritingCall = Omit<ToolCall, 'userId'> & { userId: string | null };

/**
 * The key of a call; `null` if it has none. It belongs to the user, also if the call writes shared
 * memory. A write to a space keeps it there, since it locks nothing else: the hash has the user's id.
 * Each write of a call has a key of its own, derived from `nth`.
 */
export function toOpenKey(
  call: WritingCall | undefined,
  { nth = 0, written = [] }: { nth?: number | 'run'; written?: readonly ScopeKey[] } = {},
): OpenKey | null {
  if (call?.idempotency === undefined) return null;
  const [only] = written;
  const isInSpace = only !== undefined && toOwner(only).spaceId !== null;
  const { keyHash, requestHash } = call.idempotency;
  return {
    scope: isInSpace || call.userId === null ? (only ?? SHARED) : toScope({ userId: call.userId }),
    keyHash: nth === 0 ? keyHash : hashText(`${keyHash} ${nth}`),
    requestHash,
    toolCallId: call.toolCallId,
    traceId: call.trace.traceId,
  };
}

/**
 * The stored answer under a key, unless it has expired. Throws `IDEMPOTENCY_KEY_REUSED` if it belongs
 * to another request.
 */
export function findReplay(
  record: IdempotencyRecord | null,
  { wanted, now }: { wanted: { requestHash: string } | null; now: number },
): IdempotencyRecord | null {
  if (record === null || wanted === null) return null;
  if (record.createdAt <= now - IDEMPOTENCY_MS) return null;
  if (record.requestHash !== wanted.requestHash) throw new MemoryError('IDEMPOTENCY_KEY_REUSED');
  return record;
}

/** The mutation request of a key: its user's scope, without files. */
function placeOf(idempotency: OpenKey) {
  return { scopes: [idempotency.scope], files: [], idempotency };
}
