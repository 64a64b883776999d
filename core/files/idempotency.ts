import type { IdempotencyRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { ToolCall } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { hashText } from './content.ts';
import { parseUserId, toScope } from './paths.ts';

/** An idempotency key is remembered so long. */
export const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;
/** Kept in the place of an answer until there is one. */
const BEGUN = '';

/** The key of a call, before there is an answer. */
type OpenKey = Omit<IdempotencyRecord, 'result' | 'createdAt'>;

/** The calls that answer a repeat with the first answer, where they write nothing themselves. */
export interface Idempotency {
  /** The first answer to the idempotency key of a call; `null` when there is none yet. */
  replay<R extends object>(call: ToolCall): Promise<R | null>;
  /**
   * Runs a tool once under the idempotency key of its call: a repeat gets the answer of the first, or
   * the one that is under way in this process. Rejects with `IDEMPOTENCY_KEY_REUSED` and
   * `details.reason: 'outcome_unknown'` where the first has failed, is under way elsewhere, or was cut
   * off. Without a key it is run.
   */
  once(call: ToolCall, run: () => Promise<unknown>): Promise<unknown>;
}

/** Keeps answers by the keys of their calls. Writes of files keep theirs with what they write. */
export function createIdempotency({
  storage,
  now,
  confirmedNow,
}: {
  storage: Storage;
  now: () => number;
  /** Keys end by it: a jump of the clock must not make a repeat a second run. */
  confirmedNow: () => number;
}): Idempotency {
  /** Calls under way that are run once, by scope and key. */
  const running = new Map<string, { first: OpenKey; answer: Promise<unknown> }>();

  async function runOnce(
    call: ToolCall,
    idempotency: OpenKey,
    run: () => Promise<unknown>,
  ): Promise<unknown> {
    const place = placeOf(idempotency);
    const keep = (result: string) => ({
      idempotency: { ...idempotency, result, createdAt: now() },
    });
    // Kept before it is run: whoever comes after a crash learns that it may have been carried out.
    const first = await storage.mutate(place, (current) => {
      const record = findReplay(current.idempotency, idempotency, confirmedNow());
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
      return JSON.parse(first.result) as unknown;
    }
    const result = await run();
    const text = JSON.stringify(result ?? null);
    await storage.mutate(place, () => ({ result: null, writes: 0, changes: keep(text) }));
    return result;
  }

  return {
    async replay<R extends object>(call: ToolCall) {
      const idempotency = toOpenKey(call);
      if (idempotency === null) return null;
      const first = await storage.mutate(placeOf(idempotency), (current) => ({
        result: findReplay(current.idempotency, idempotency, confirmedNow()),
        writes: 0,
        changes: {},
      }));
      if (first === null) return null;
      call.onReplay?.(first);
      return JSON.parse(first.result) as R;
    },

    async once(call, run) {
      const idempotency = toOpenKey(call, 'run');
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

/**
 * The key of a call, `null` without one. It belongs to its user, whichever memory the call writes, and
 * each write of a call has its own.
 */
export function toOpenKey(call: ToolCall | undefined, nth: number | 'run' = 0): OpenKey | null {
  if (call?.idempotency === undefined) return null;
  const { keyHash, requestHash } = call.idempotency;
  return {
    scope: toScope(parseUserId(call.userId)),
    keyHash: nth === 0 ? keyHash : hashText(`${keyHash} ${nth}`),
    requestHash,
    toolCallId: call.toolCallId,
    traceId: call.trace.traceId,
  };
}

/**
 * The answer that is kept under a key, while it counts. Throws `IDEMPOTENCY_KEY_REUSED` where another
 * request was made under it.
 */
export function findReplay(
  record: IdempotencyRecord | null,
  wanted: { requestHash: string } | null,
  now: number,
): IdempotencyRecord | null {
  if (record === null || wanted === null) return null;
  if (record.createdAt <= now - IDEMPOTENCY_MS) return null;
  if (record.requestHash !== wanted.requestHash) throw new MemoryError('IDEMPOTENCY_KEY_REUSED');
  return record;
}

/** Where a key stands: in its user's scope, with no file. */
function placeOf(idempotency: OpenKey) {
  return { scopes: [idempotency.scope], files: [], idempotency };
}
