import type { Logger } from '../../contracts/logger.ts';
import type { Storage } from '../../contracts/storage.ts';
import type { ToolCall } from '../../contracts/tool.ts';
import type { EventRecord, RevisionRecord, ScopeKey } from '../../contracts/records.ts';
import { parseInboxLine, QUEUED, type SaidFact } from '../../edits/inbox-line.ts';
import { parseInSteps } from '../../edits/markdown.ts';
import { toMemoryError } from '../../errors.ts';
import { hashText } from '../../files/content.ts';
import { isFrozen } from '../../files/freeze.ts';
import { toInboxNumber } from '../../files/inbox-path.ts';
import { belowUser, toScope, toUserId, toVirtualPath } from '../../files/paths.ts';
import type { IdSource } from '../../ids/ids.ts';
import { inSlices } from '../../time/pause.ts';
import { RootTrace } from '../../telemetry/tracer.ts';
import type { BackgroundFiling } from '../remember.ts';
import { fileLine, type QueuedLine } from './file-line.ts';
import { FilingTurns } from './filing-turns.ts';
import { readInbox } from './inbox.ts';
import type { RememberDependencies } from './session.ts';

/** The actor of what is filed in the background. */
const FILING_ACTOR = 'filing-agent';

/** Files the lines of the inbox that wait, in the background. */
export interface Filing extends BackgroundFiling {
  /** Looks for lines that an earlier process left. */
  start(): void;
  /** Resolves when nothing is being filed; what waits for its turn later still waits. */
  waitIdle(): Promise<void>;
  /** Ends what is being filed: its line goes on waiting. */
  stop(): Promise<void>;
}

/** What filing works with, beside what remembering does. */
export interface FilingDependencies {
  /** `null` without a model: then nothing is filed. */
  remember: RememberDependencies | null;
  storage: Pick<Storage, 'files' | 'leases'>;
  ids: IdSource;
  log: Logger;
  record(event: EventRecord): void;
  /** Throws while the memory of a user can not be used. */
  checkScopes(scopes: readonly ScopeKey[]): void;
  /** The number of the last erasure that is known. */
  latestErasure: () => number;
  now: () => number;
  /** For tests: milliseconds before a new line is filed, and before what failed is tried again. */
  delays?: { firstMs: number; againMs: number };
}

/**
 * Leases by the hash of the user's id: one line of a user at a time, and as many lines at once as there
 * are leases, on all instances together.
 */
const LANES = 4;
const LEASE_MS = 300_000;
/** A script that tells a fact and ends is over by then: its line waits for the next process. */
const DELAYS = { firstMs: 1_000, againMs: 30_000 };
/** Newest files that are looked at after a start. */
const SCANNED = 2_000;
const PAGE = 500;
/** Texts that are kept for lines that wait. */
const CONTEXTS = 1_000;

/**
 * Creates the filing of the inbox. Each line is filed once: what comes of it and the removal of the line
 * are one transaction, and a line of which anything is refused loses its mark and waits for a dream. While
 * the model can't be reached, lines go on waiting. Nothing here keeps a process alive.
 */
export function createFiling(deps: FilingDependencies): Filing {
  const { remember, log, storage } = deps;
  const contexts = new Map<string, string>();
  const turns = new FilingTurns({ fileAll, delays: deps.delays ?? DELAYS, log });
  const { signal } = turns;
  let scanning: Promise<void> | null = null;

  /** Files the lines of a user, one by one; `false` where others do, or where it has to wait. */
  async function fileAll(userId: string): Promise<boolean> {
    if (remember === null) return true;
    const lane = Number.parseInt(hashText(userId).slice(0, 8), 16) % LANES;
    const name = `inbox:${lane}`;
    const { leases } = storage;
    const fence = await leases.claim(name, deps.ids.next(), LEASE_MS);
    if (fence === null) return false;
    try {
      for (;;) {
        if (signal.aborted) return true;
        deps.checkScopes([toScope({ userId })]);
        const { found, isStopped } = await findQueued(remember, userId);
        if (found === null) return !isStopped;
        const context = contexts.get(keyOf(userId, found.said)) ?? null;
        const line = { userId, ...found, context };
        const fate = await inCall(deps, { userId, signal }, (call) =>
          fileLine(remember, line, call),
        );
        contexts.delete(keyOf(userId, found.said));
        log.debug({ fate }, 'a line of the inbox was filed');
        if (!(await leases.renew(name, fence, LEASE_MS))) return false;
      }
    } catch (error) {
      // No failure: the line has its turn soon after the freeze has ended.
      if (isFrozen(error)) return false;
      throw error;
    } finally {
      await leases.release(name, fence).catch(() => undefined);
    }
  }

  /** Finds users whose newest files of the inbox have lines that wait. */
  async function scan({ inboxPath }: RememberDependencies): Promise<void> {
    const name = belowUser(inboxPath).slice(0, -'.md'.length);
    let after: readonly (string | number)[] | null = null;
    for (let seen = 0; seen < SCANNED; seen += PAGE) {
      const page = { limit: PAGE, order: 'desc' as const, after, sort: 'updatedAt' as const };
      const { items, next }: Awaited<ReturnType<Storage['files']['listAll']>> =
        await storage.files.listAll({ contains: `/${name}` }, page);
      for (const file of items) {
        const userId = toUserId(file.scope);
        if (userId === null || turns.isWaiting(userId) || signal.aborted) continue;
        if (toInboxNumber(toVirtualPath(file), inboxPath) === null) continue;
        const content = (await storage.files.read(file))?.content ?? '';
        if (content.includes(QUEUED)) turns.add(userId);
      }
      turns.begin();
      if (next === null) return;
      after = next;
    }
  }

  return {
    wake(userId, { fact, context }) {
      if (context !== null && contexts.size < CONTEXTS) {
        contexts.set(keyOf(userId, { text: fact }), context);
      }
      turns.wake(userId);
    },
    start() {
      if (remember === null) return;
      scanning ??= scan(remember).catch((error: unknown) => {
        log.warn({ code: toMemoryError(error).code }, 'the inbox could not be looked through');
      });
    },
    async waitIdle() {
      await scanning;
      await turns.waitIdle();
    },
    async stop() {
      turns.stop();
      await scanning;
      await turns.ended();
    },
  };
}

/** Runs something for a user as a tool call of its own. */
async function inCall<T>(
  deps: Pick<FilingDependencies, 'ids' | 'record' | 'now' | 'latestErasure'>,
  { userId, signal }: { userId: string; signal: AbortSignal },
  run: (call: ToolCall) => Promise<T>,
): Promise<T> {
  const tool = 'memory_remember';
  const toolCallId = deps.ids.next();
  const trace = new RootTrace({
    ids: deps.ids,
    kind: 'tool',
    name: `execute_tool ${tool}`,
    tool,
    scope: toScope({ userId: userId }),
    userId,
    actor: FILING_ACTOR,
    toolCallId,
    callerToolCallId: null,
    parent: null,
    startedAt: deps.now(),
    knownErasure: deps.latestErasure(),
  });
  try {
    const result = await run({ userId, actor: FILING_ACTOR, tool, toolCallId, trace, signal });
    deps.record(trace.finish(null));
    return result;
  } catch (error) {
    deps.record(trace.finish(toMemoryError(error)));
    throw error;
  }
}

function keyOf(userId: string, { text }: Pick<SaidFact, 'text'>): string {
  return hashText(JSON.stringify([userId, text.trim()]));
}

/**
 * The first line that waits and may be filed. One that is pinned or part of something else, as code, is left
 * alone. `isStopped`: no line may be filed, and a freeze is the reason.
 */
async function findQueued(
  deps: RememberDependencies,
  userId: string,
): Promise<{
  found: Pick<QueuedLine, 'file' | 'text' | 'said' | 'checkWriter'> | null;
  isStopped: boolean;
}> {
  let isStopped = false;
  for (const file of await readInbox(deps, userId)) {
    if (!file.content.includes(QUEUED)) continue;
    const { lines, isProtected } = await inSlices(parseInSteps(file.content));
    let blamed: Awaited<ReturnType<RememberDependencies['revisions']['lineWriters']>> | null = null;
    for (const [at, text] of lines.entries()) {
      const said = parseInboxLine(text);
      const hasNested = /^\s+\S/.test(lines[at + 1] ?? '');
      if (said?.isQueued !== true || isProtected[at] || hasNested) continue;
      blamed ??= await deps.revisions.lineWriters({
        scope: toScope({ userId }),
        path: belowUser(file.path),
      });
      // Somebody has written to the inbox meanwhile.
      if (blamed.version !== file.version) return await findQueued(deps, userId);
      const checkWriter = createWriterCheck(deps, userId, blamed.writers[at] ?? null);
      try {
        checkWriter();
        return { found: { file, text, said, checkWriter }, isStopped };
      } catch (error) {
        if (!isFrozen(error)) throw error;
        isStopped = true;
      }
    }
  }
  return { found: null, isStopped };
}

/** Makes a check that throws `WRITES_FROZEN` where the filing is stopped, or who told the line of an inbox is. */
function createWriterCheck(
  { files }: RememberDependencies,
  userId: string,
  writer: RevisionRecord | null,
): () => void {
  return () => {
    files.checkWrites({ userId, actor: FILING_ACTOR });
    if (writer === null) return;
    const apiKey = writer.keyId === null ? undefined : { id: writer.keyId };
    files.checkWrites({ userId, actor: writer.actor, apiKey });
  };
}
