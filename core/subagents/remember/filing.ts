import type { Logger } from '../../contracts/logger.ts';
import type { Storage } from '../../contracts/storage.ts';
import type { ToolCall } from '../../contracts/tool.ts';
import type { EventRecord } from '../../contracts/records.ts';
import type { ExaminedOperation } from '../../edits/engine.ts';
import { formatInboxLine, parseInboxLine, QUEUED, type SaidFact } from '../../edits/inbox-line.ts';
import { parseInSteps } from '../../edits/markdown.ts';
import { MemoryError, toMemoryError } from '../../errors.ts';
import { hashText } from '../../files/content.ts';
import { toInboxNumber } from '../../files/inbox-path.ts';
import { parseUserId, toScope, toUserId, toVirtualPath, type UserId } from '../../files/paths.ts';
import type { IdSource } from '../../ids/ids.ts';
import { inSlices } from '../../time/pause.ts';
import { isProviderError } from '../../providers/provider-failure.ts';
import { RootTrace } from '../../telemetry/tracer.ts';
import { type BackgroundFiling, DEFAULT_WRITES, findKnown } from '../remember.ts';
import { type Kept, type Refusal, toKept, toOutcome } from './answer.ts';
import { noteForgetting } from './forget-trail.ts';
import { type InboxFile, readInbox } from './inbox.ts';
import { askVerifier, judge } from './judge.ts';
import { look, lookAgain, replaceLine, withoutLineAndGap } from './look.ts';
import { propose, type Proposal } from './propose.ts';
import { openSession, type RememberDependencies, type Session } from './session.ts';
import { applyWithin, toContents } from './store.ts';

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
  checkUser(userId: UserId): void;
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
/** Users of this process whose lines are filed at once. */
const AT_ONCE = 2;
/** A script that tells a fact and ends is over by then: its line waits for the next process. */
const DELAYS = { firstMs: 1_000, againMs: 30_000 };
const LONGEST_DELAY_MS = 30 * 60_000;
/** Attempts to write while others change the same files. */
const ATTEMPTS = 5;
/** Newest files that are looked at after a start. */
const SCANNED = 2_000;
const PAGE = 500;
/** Texts that are kept for lines that wait. */
const CONTEXTS = 1_000;

/** What became of a line. */
type Fate = 'filed' | 'left' | 'gone';

/**
 * Creates the filing of the inbox. Each line is filed once: what comes of it and the removal of the line
 * are one transaction, and a line of which anything is refused loses its mark and waits for a dream. While
 * the model can't be reached, lines go on waiting. Nothing here keeps a process alive.
 */
export function createFiling(deps: FilingDependencies): Filing {
  const { log, storage } = deps;
  const { firstMs, againMs } = deps.delays ?? DELAYS;
  const waiting = new Set<string>();
  const active = new Map<string, Promise<void>>();
  const contexts = new Map<string, string>();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | null = null;
  let dueAt = 0;
  let failures = 0;
  let scanning: Promise<void> | null = null;

  function schedule(delayMs: number): void {
    if (stopping.signal.aborted) return;
    const at = performance.now() + delayMs;
    if (timer !== null && at >= dueAt) return;
    if (timer !== null) clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(pump, delayMs);
    timer.unref();
  }

  function pump(): void {
    timer = null;
    for (const userId of waiting) {
      if (active.size >= AT_ONCE || stopping.signal.aborted) return;
      if (active.has(userId)) continue;
      waiting.delete(userId);
      const work = fileAll(userId)
        .then((isDone) => {
          if (isDone) failures = 0;
          else waitAgain(userId, againMs);
        })
        .catch((error: unknown) => {
          const { code } = toMemoryError(error);
          log.warn({ code }, 'a line of the inbox could not be filed now: it goes on waiting');
          failures += 1;
          waitAgain(userId, againMs * 2 ** Math.min(failures - 1, 10));
        })
        .finally(() => {
          active.delete(userId);
          if (waiting.size > 0 && failures === 0) schedule(0);
        });
      active.set(userId, work);
    }
  }

  function waitAgain(userId: string, delayMs: number): void {
    waiting.add(userId);
    schedule(Math.min(LONGEST_DELAY_MS, delayMs));
  }

  /** Files the lines of a user, one by one; `false` where others do, or where it has to wait. */
  async function fileAll(userId: string): Promise<boolean> {
    const remember = deps.remember;
    if (remember === null) return true;
    const lane = Number.parseInt(hashText(userId).slice(0, 8), 16) % LANES;
    const name = `inbox:${lane}`;
    const { leases } = storage;
    const fence = await leases.claim(name, deps.ids.next(), LEASE_MS);
    if (fence === null) return false;
    try {
      for (;;) {
        if (stopping.signal.aborted) return true;
        const found = await findQueued(remember, userId);
        if (found === null) return true;
        deps.checkUser(parseUserId(userId));
        const context = contexts.get(keyOf(userId, found.said)) ?? null;
        const fate = await fileLine(remember, { userId, ...found, context });
        contexts.delete(keyOf(userId, found.said));
        log.debug({ fate }, 'a line of the inbox was filed');
        if (!(await leases.renew(name, fence, LEASE_MS))) return false;
      }
    } finally {
      await leases.release(name, fence).catch(() => undefined);
    }
  }

  /** Files one line, as a tool call of its own. */
  async function fileLine(remember: RememberDependencies, line: QueuedLine): Promise<Fate> {
    const toolCallId = deps.ids.next();
    const trace = new RootTrace({
      ids: deps.ids,
      ...{ kind: 'tool', name: 'execute_tool memory_remember', tool: 'memory_remember' },
      ...{ scope: toScope(parseUserId(line.userId)), userId: line.userId },
      ...{ actor: FILING_ACTOR, toolCallId, callerToolCallId: null, parent: null },
      startedAt: deps.now(),
    } as const);
    const call: ToolCall = {
      userId: line.userId,
      actor: FILING_ACTOR,
      tool: 'memory_remember',
      toolCallId,
      trace,
      signal: stopping.signal,
    };
    try {
      const fate = await fileOne(remember, line, call);
      deps.record(trace.finish(null));
      return fate;
    } catch (error) {
      deps.record(trace.finish(toMemoryError(error)));
      throw error;
    }
  }

  /** Users whose newest files of the inbox have lines that wait. */
  async function scan(remember: RememberDependencies): Promise<void> {
    const name = remember.inboxPath.slice('user/'.length, -'.md'.length);
    let after: readonly (string | number)[] | null = null;
    for (let seen = 0; seen < SCANNED; seen += PAGE) {
      const page = { limit: PAGE, order: 'desc' as const, after, sort: 'updatedAt' as const };
      const { items, next }: Awaited<ReturnType<Storage['files']['listAll']>> =
        await storage.files.listAll({ contains: `/${name}` }, page);
      for (const file of items) {
        const userId = toUserId(file.scope);
        if (userId === null || waiting.has(userId) || stopping.signal.aborted) continue;
        if (toInboxNumber(toVirtualPath(file), remember.inboxPath) === null) continue;
        const content = (await storage.files.read(file))?.content ?? '';
        if (content.includes(QUEUED)) waiting.add(userId);
      }
      if (waiting.size > 0) schedule(firstMs);
      if (next === null) return;
      after = next;
    }
  }

  return {
    wake(userId, { fact, context }) {
      if (context !== null && contexts.size < CONTEXTS) {
        contexts.set(keyOf(userId, { text: fact }), context);
      }
      waiting.add(userId);
      if (failures === 0) schedule(firstMs);
    },
    start() {
      const { remember } = deps;
      if (remember === null) return;
      scanning ??= scan(remember).catch((error: unknown) => {
        log.warn({ code: toMemoryError(error).code }, 'the inbox could not be looked through');
      });
    },
    async waitIdle() {
      await scanning;
      while (
        !stopping.signal.aborted &&
        (active.size > 0 || (waiting.size > 0 && failures === 0))
      ) {
        if (active.size > 0) await Promise.allSettled(active.values());
        else pump();
      }
    },
    async stop() {
      stopping.abort();
      if (timer !== null) clearTimeout(timer);
      await scanning;
      await Promise.allSettled(active.values());
    },
  };
}

/** A line that waits. */
interface QueuedLine {
  userId: string;
  file: InboxFile;
  /** As it stands in the file. */
  text: string;
  said: SaidFact;
  context: string | null;
}

function keyOf(userId: string, { text }: Pick<SaidFact, 'text'>): string {
  return hashText(JSON.stringify([userId, text.trim()]));
}

/** The first line that waits. One that is pinned or part of something else, as code, is left alone. */
async function findQueued(
  deps: RememberDependencies,
  userId: string,
): Promise<Pick<QueuedLine, 'file' | 'text' | 'said'> | null> {
  for (const file of await readInbox(deps, userId)) {
    if (!file.content.includes(QUEUED)) continue;
    const { lines, isProtected } = await inSlices(parseInSteps(file.content));
    for (const [at, text] of lines.entries()) {
      const said = parseInboxLine(text);
      const hasNested = /^\s+\S/.test(lines[at + 1] ?? '');
      if (said?.isQueued === true && !isProtected[at] && !hasNested) return { file, text, said };
    }
  }
  return null;
}

/** Asks the models as `memory_remember` does, and writes what comes of the line together with its end. */
async function fileOne(
  remember: RememberDependencies,
  line: QueuedLine,
  call: ToolCall,
): Promise<Fate> {
  const { said, text, file, context } = line;
  const deps = { ...remember, hidden: { path: file.path, text } };
  const { text: fact, speaker, day } = said;
  const told = {
    ...{ fact, speaker, day, context, timeZone: deps.timeZone },
    ...{ maxWrites: DEFAULT_WRITES, purpose: 'inbox' as const },
  };
  const shown = await look(deps, { fact, context }, call);
  const session = await openSession(deps, { told, shown, call });
  let found: Found;
  try {
    found = await ask(session, await propose(session), line);
  } catch (error) {
    // Another line may fare better with this model, and the same one later with one that is there.
    if (!isProviderError(error) || isUnreachable(error)) throw error;
    found = { proposal: null, accepted: [], refused: [], isDone: false };
  }
  return await write(session, found, line);
}

/** What the models say of a line. */
interface Found {
  proposal: Proposal | null;
  accepted: readonly ExaminedOperation[];
  refused: readonly Refusal[];
  /** Nothing has to be written: memory says so already, or the line says nothing. */
  isDone: boolean;
}

async function ask(session: Session, proposal: Proposal, line: QueuedLine): Promise<Found> {
  const { accepted, refused, failure } = await judge(session, proposal);
  if (failure !== null && isUnreachable(failure)) throw failure;
  const known = await findKnown(session, proposal);
  if (known.length > 0) return { proposal, accepted, refused, isDone: true };
  const isEmpty = proposal.examined.length === 0 && proposal.malformed === 0;
  if (!isEmpty) return { proposal, accepted, refused, isDone: false };
  const discard = toDiscard(line);
  const verdicts = await askVerifier(session, [discard], proposal.memory);
  const isDone = verdicts.get(discard.operation.number) === 'keeps';
  return { proposal, accepted, refused, isDone };
}

/** A line that says nothing, as the verifier is asked about it. */
function toDiscard({ file, said, text }: QueuedLine): ExaminedOperation {
  const shown = { path: file.path, line: null, heading: null, text: said.text, at: null };
  return {
    operation: {
      ...{ number: 1, kind: 'discard', reason: '', add: null, sources: [] },
      remove: [{ path: file.path, line: null, text }],
    },
    ...{ remove: [shown], add: null, sources: [] },
    ...{ class: 'meaning', signals: [], fault: null, knownBy: [] },
  };
}

/** Writes what passed together with the end of the line, or takes the mark off the line that stays. */
async function write(
  session: Session,
  { proposal, accepted, refused, isDone }: Found,
  { file, text, said }: QueuedLine,
): Promise<Fate> {
  const { deps, call, options } = session;
  for (let attempt = 1; ; attempt += 1) {
    const now = (await readInbox(deps, call.userId)).find(({ path }) => path === file.path);
    const rest = now === undefined ? null : withoutLineAndGap(now.content, text);
    // Another process has filed it, or somebody has edited it.
    if (now === undefined || rest === null) return 'gone';
    const operations = accepted.map(({ operation }) => operation);
    const memory =
      proposal === null ? null : await lookAgain(deps, proposal.memory, operations, call);
    const applied =
      memory === null
        ? { files: [], refused: [] }
        : await applyWithin(memory, accepted, { options, maxWrites: DEFAULT_WRITES });
    const isPart = [...refused, ...applied.refused].some(({ kind }) => kind !== 'index');
    const isFiled = isDone || (applied.files.length > 0 && !isPart);
    const changed = applied.files.find(({ path }) => path === file.path);
    const without = changed?.after ?? rest;
    const left = formatInboxLine({ ...said, isQueued: false });
    const after = isFiled
      ? without
      : changed === undefined
        ? replaceLine(now.content, text, left)
        : `${without.replace(/\n?$/, '\n')}${left}\n`;
    const files = [
      ...applied.files.filter(({ path }) => path !== file.path),
      { path: file.path, version: now.version, before: now.content, after },
    ];
    const outcome = toOutcome(files, { refused: [] });
    const reason = isFiled
      ? applied.files.length > 0
        ? 'A fact of the inbox was filed.'
        : 'Memory says so already, or the line says nothing to keep.'
      : 'The fact could not be filed; it waits for a dream.';
    try {
      await deps.files.writeAll<Kept>(
        { files: toContents(files), reason },
        (written) => toKept(outcome, written),
        call,
      );
      if (proposal?.isForget === true) {
        const memoryThen = memory ?? proposal.memory;
        const all = [...refused, ...applied.refused];
        await noteForgetting(deps, { call, memory: memoryThen, refused: all });
      }
      return isFiled ? 'filed' : 'left';
    } catch (error) {
      const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
      if (!isConflict || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Replies that a model gave, of whatever use: it was there. */
const ANSWERED = new Set(['malformed', 'empty', 'too_large', 'cut_off', 'refused', 'rejected']);

function isUnreachable(error: MemoryError): boolean {
  return !ANSWERED.has(String(error.details?.['reason']));
}
