import type { ModelStanding, PromptUse } from '../../core/contracts/plugin.ts';
import type { RunUserRecord } from '../../core/contracts/runs.ts';
import { decide, examine, type ExaminedOperation } from '../../core/edits/engine.ts';
import { createFence } from '../../core/edits/fence.ts';
import { isOfItself } from '../../core/edits/guards.ts';
import { nameLines } from '../../core/edits/numbered.ts';
import { repair } from '../../core/edits/repair.ts';
import { DREAM_KINDS, parseEdits, type Verdict } from '../../core/edits/operations.ts';
import {
  parseVerdicts,
  toVerifierPrompt,
  VERDICTS_SCHEMA,
  verifierPrompt,
} from '../../core/edits/verify.ts';
import type { PromptText } from '../../core/edits/prompt-text.ts';
import type { EditedMemory } from '../../core/edits/edited-memory.ts';
import { toMemoryError } from '../../core/errors.ts';
import { countLines } from '../../core/files/content.ts';
import { parseReply } from '../../core/encoding/json-reply.ts';
import { createProviderError } from '../../core/providers/provider-failure.ts';
import { toLineRanges } from '../../core/telemetry/shown-lines.ts';
import { askModel, type TokenMeter } from './ask.ts';
import { rejectedKeys } from './life-cycle.ts';
import { detailsOf, keyOf, type RunOperation } from './operations.ts';
import { REPLY_SCHEMA, systemPrompt, toPrompt } from './prompt.ts';
import { ACTOR, checkStop, type ActiveRun, type RunContext } from './run.ts';
import type { DreamSettings } from './settings.ts';
import { type SnapshotFile, takeSnapshot, type TakenSnapshot } from './snapshot.ts';
import { estimateTokens, limitReply } from '../../core/edits/prompt-budget.ts';
import { planReply, planTokens } from './tokens.ts';
import { labelOf, virtualHomeOf } from '../../core/plugin.ts';

/** What a run proposes, before anything is written. */
export interface Proposal {
  snapshot: TakenSnapshot;
  memory: EditedMemory;
  /** Those to be applied now have the status `applied`. */
  operations: RunOperation[];
  malformed: number;
  repeated: number;
  /** The model that gave verdicts; `null` where it was not asked. */
  verifier: string | null;
}

interface ProposeRequest {
  user: RunUserRecord;
  mode: 'auto' | 'review';
  dryRun: boolean;
  /** A person asked for the run: it looks at files although none changed. */
  isAsked: boolean;
  settings: DreamSettings;
  /** When the run is aborted, as a point of `performance.now()`. */
  deadline: number;
  /** Counts tokens; `left` is what this run may still use today. */
  meter: TokenMeter & { left(): number };
}

/**
 * Makes the operations of a run:
 *
 * 1. reads the memory that is due;
 * 2. asks the model for operations;
 * 3. leaves out what waits already, or what a person rejected;
 * 4. locates, guards and classifies each operation;
 * 5. asks the verifier for a verdict on those whose meaning counts;
 * 6. decides what is applied, waits, or is dropped.
 *
 * @throws MemoryError `MODEL_FAILED`, also for a reply of another form; Stopped.
 */
export async function propose(
  context: RunContext,
  run: ActiveRun,
  request: ProposeRequest,
): Promise<Proposal> {
  const { host, maxSnapshotTokens } = context;
  const { settings, meter, mode, dryRun } = request;
  const standing = await host.models.standing();
  const limits = {
    maxSnapshot: maxSnapshotTokens,
    maxReply: settings.dream_max_reply_tokens,
    use: standing.model,
  };
  const tokens = planTokens(meter.left(), limits);
  const { snapshot, memory } = await readSnapshot(context, run, request, tokens.snapshot);
  const nothing = { operations: [], malformed: 0, repeated: 0, verifier: null };
  if (snapshot.shown.length === 0 || host.models.model === null)
    return { snapshot, memory, ...nothing };
  checkStop(run);

  const { timeZone } = host.settings;
  const mark = await toMark(context, run, { purpose: 'dream', memory });
  const prompt = { mark, changed: snapshot.changed, now: host.now(), timeZone };
  const reply = await askModel(
    host.models.model,
    {
      system: systemPrompt(standing.model, run.scope),
      prompt: toPrompt(memory.files, prompt),
      schema: REPLY_SCHEMA,
      maxTokens: tokens.reply,
    },
    { run, meter, signal: run.stopping.signal },
  );
  checkStop(run);
  const parsed = parseEdits(reply.text, DREAM_KINDS, memory);
  if (parsed === null) {
    const isJson = parseReply(reply.text) !== undefined;
    throw createProviderError(
      'MODEL_FAILED',
      { reason: 'malformed', ...(isJson ? {} : { problem: 'not_json' as const }) },
      { provider: host.models.model.name },
    );
  }

  const known = await findKnown(context, run, request.user);
  const mended = await repair(memory, parsed.operations);
  const fresh = mended.filter((operation) => !known.has(keyOf(operation)));
  const checking = run.trace.start('dream.check', 'check operations');
  const editLimits = { maxFileBytes: host.settings.maxFileBytes, mayCreate: false };
  const moment = { at: host.now(), timeZone };
  const examined = await examine(memory, fresh, { limits: editLimits, moment });
  const faulty = examined.filter(({ fault }) => fault !== null).length;
  checking.end({
    applied: examined.length - faulty,
    dropped: faulty,
    malformed: parsed.malformed.length,
  });
  checkStop(run);

  const isExpiry = (one: ExaminedOperation) => one.fault === null && isOfItself(one);
  const toJudge = examined.filter(
    (one) => one.fault === null && one.class === 'meaning' && !isExpiry(one),
  );
  const unjudged = whyUnjudged(standing, settings);
  const verdicts =
    unjudged === null
      ? await askVerifier(context, run, request, { toJudge, memory, use: standing.verifier })
      : null;
  const operations = examined.map((one) => {
    if (isExpiry(one)) return toWaiting(one, dryRun);
    const isJudged = toJudge.includes(one);
    const said = isJudged ? (verdicts?.get(one.operation.number) ?? 'unsure') : null;
    const operation = toRunOperation(one, { verdict: said, mode, dryRun });
    return isJudged && unjudged !== null
      ? { ...operation, verdict: null, why: unjudged }
      : operation;
  });
  return {
    snapshot,
    memory,
    operations,
    malformed: parsed.malformed.length,
    repeated: mended.length - fresh.length,
    verifier: verdicts === null ? null : (host.models.verifier?.model ?? null),
  };
}

/** Why the verifier is not asked, so that operations of class `meaning` wait; `null` if it is. */
function whyUnjudged(
  { files, judges }: ModelStanding,
  { dream_require_exam: isRequired }: Pick<DreamSettings, 'dream_require_exam'>,
): string | null {
  if (judges === false) return 'The verifier failed its exam at judging edits.';
  if (!isRequired || (judges === true && files !== null)) return null;
  return 'The models have not been examined, and dream_require_exam asks for it.';
}

/** Nothing that has expired vanishes by itself: a person decides, whatever the mode is. */
function toWaiting(examined: ExaminedOperation, dryRun: boolean): RunOperation {
  const operation = toRunOperation(examined, { verdict: null, mode: 'review', dryRun });
  const why = dryRun ? `${LEFT_TO_PERSON} ${EXPIRED}` : EXPIRED;
  return { ...operation, isPreselected: false, why };
}

/** What a dry run says of an operation that would wait. */
export const LEFT_TO_PERSON = 'A run that writes would leave this to a person.';
const EXPIRED = 'Its lines say that they have expired. A person decides whether they go.';

function toRunOperation(
  examined: ExaminedOperation,
  { verdict, mode, dryRun }: { verdict: Verdict | null; mode: 'auto' | 'review'; dryRun: boolean },
): RunOperation {
  const { fault, knownBy: _knownBy, values: _values, ...rest } = examined;
  const { status, isPreselected, why } = decide(examined, { verdict, mode });
  const decided = { ...rest, verdict, guard: fault?.guard ?? null };
  if (dryRun && status === 'waiting') {
    const words = [LEFT_TO_PERSON, why ?? ''].join(' ').trim();
    return { ...decided, status: 'dropped', isPreselected: false, why: words };
  }
  return { ...decided, status, isPreselected: isPreselected && status === 'waiting', why };
}

/** Reads memory within the tokens that there are, with the date of each line. */
async function readSnapshot(
  { host }: RunContext,
  { scope, id, trace }: ActiveRun,
  { user, isAsked }: ProposeRequest,
  maxTokens: number,
): Promise<{ snapshot: TakenSnapshot; memory: EditedMemory }> {
  const home = virtualHomeOf(scope);
  const reading = trace.start('db.read', 'snapshot');
  const snapshot = await takeSnapshot(host, scope, { record: user, maxTokens, isAsked });
  const files: SnapshotFile[] = [];
  for (const file of snapshot.shown) {
    const { version, times } = await host.memory.history.lineTimes(
      scope,
      file.path.slice(home.length),
    );
    // If the file was written in between, these are the times of other lines.
    files.push(version === file.version ? { ...file, times } : file);
  }
  reading.end({ files: files.length });
  await host.memory.logReads(
    files.map(({ path, fileNo, revisionId, version, content, shown }) => ({
      scope,
      path: path.slice(home.length),
      fileNo,
      revisionId,
      version,
      lines:
        shown === undefined
          ? [{ startLine: 1, endLine: countLines(content) }]
          : toLineRanges(shown),
    })),
    { actor: ACTOR, runId: id, trace },
  );
  return { snapshot, memory: { home, files: nameLines(files), paths: snapshot.paths } };
}

/** Keys of proposals that wait in an earlier run, or that a person rejected. */
async function findKnown(
  { dreams }: RunContext,
  { scope }: ActiveRun,
  user: RunUserRecord,
): Promise<Set<string>> {
  const keys = new Set(rejectedKeys(user));
  let after: readonly (string | number)[] | null = null;
  do {
    const page: Awaited<ReturnType<typeof dreams.listRuns>> = await dreams.listRuns(
      { scope, isWaiting: true },
      { limit: 100, order: 'desc', after },
    );
    for (const { id } of page.items) {
      const run = await dreams.run(id);
      if (run === null) continue;
      for (const { status, operation } of detailsOf(run).operations) {
        if (status === 'waiting') keys.add(keyOf(operation));
      }
    }
    after = page.next;
  } while (after !== null);
  return keys;
}

/**
 * Verdicts by the numbers of operations; `null` where nobody was asked or answered. A verifier that
 * is slow, fails, or has no tokens left does not fail the run: its operations wait for a person.
 */
async function askVerifier(
  context: RunContext,
  run: ActiveRun,
  { settings, meter, deadline }: ProposeRequest,
  {
    toJudge,
    memory,
    use,
  }: { toJudge: readonly ExaminedOperation[]; memory: EditedMemory; use: PromptUse },
): Promise<Map<number, Verdict> | null> {
  const { host } = context;
  if (toJudge.length === 0 || host.models.verifier === null) return null;
  const mark = await toMark(context, run, { purpose: 'verify', memory, operations: toJudge });
  const prompt = await toVerifierPrompt(toJudge, { mark });
  const system = verifierPrompt(use);
  const asked = estimateTokens([system, prompt]);
  const most = limitReply(use, settings.dream_max_reply_tokens);
  // What does not fit into its context, nobody judges.
  const isTooLong = asked + most > (use.contextTokens ?? Infinity);
  const maxTokens = isTooLong ? null : planReply(meter.left(), asked, most);
  if (maxTokens === null) return null;
  // Enough time is left after it to write what needs no verdict.
  const patience = AbortSignal.timeout(
    Math.max(1, Math.floor((deadline - performance.now()) * VERIFIER_SHARE)),
  );
  const signal = AbortSignal.any([run.stopping.signal, patience]);
  const request = { system, prompt, schema: VERDICTS_SCHEMA, maxTokens };
  try {
    return parseVerdicts(
      (await askModel(host.models.verifier, request, { run, meter, signal })).text,
      toJudge,
    );
  } catch (error) {
    checkStop(run);
    const { code } = toMemoryError(error);
    if (code !== 'MODEL_FAILED' && code !== 'MODEL_TIMEOUT' && !patience.aborted) throw error;
    host.log.warn({ runId: run.id, code }, 'the verifier gave no verdicts: operations wait');
    return null;
  }
}

const VERIFIER_SHARE = 0.75;

async function toMark(
  { host }: RunContext,
  { scope }: ActiveRun,
  {
    purpose,
    memory,
    operations = [],
  }: {
    purpose: 'dream' | 'verify';
    memory: EditedMemory;
    operations?: readonly ExaminedOperation[];
  },
): Promise<PromptText> {
  return createFence(await host.models.fenceKey(), { userId: labelOf(scope), purpose }, [
    ...memory.paths,
    ...memory.files.map(({ content }) => content),
    JSON.stringify(operations),
  ]);
}
