import type { DreamUserRecord } from '../../core/contracts/dreams.ts';
import type { Host, RunTrace } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { countLines } from '../../core/files/content.ts';
import { createProviderError } from '../../core/provider-failure.ts';
import { ACTOR } from './apply.ts';
import { askModel } from './ask-model.ts';
import { CHECKS } from './checks/list.ts';
import { parseReply, type Operation } from './operations.ts';
import { planOperations, type Plan } from './plan.ts';
import { SYSTEM_PROMPT, toPrompt } from './prompt.ts';
import type { SnapshotFile } from './snapshot-file.ts';
import { takeSnapshot, type TakenSnapshot } from './snapshot.ts';
import { estimateTokens, INSTRUCTION_TOKENS, REPLY_TOKENS } from './tokens.ts';

/** What a model proposed, and what is left of it after the checks. */
export interface Proposal {
  snapshot: TakenSnapshot;
  plan: Plan;
  malformed: number;
  /** `false` where there was nothing to look at. */
  wasAsked: boolean;
}

/** What a proposal works with. */
export interface ProposeDependencies {
  host: Host;
  trace: RunTrace;
  maxSnapshotTokens: number;
  /** Counts tokens of the day before they are spent: a crash leaves them counted. */
  reserve(tokens: number): Promise<void>;
  /** Counts what the call took more, or less, and keeps what the provider says it has used. */
  settle(difference: number, used: UsedTokens): Promise<void>;
}

/** Tokens of one call. */
export interface UsedTokens {
  input: number;
  output: number;
}

/**
 * Reads a user's memory, asks the model once, and checks what it says. Nothing is written.
 *
 * @throws MemoryError `MODEL_FAILED`, also for a reply that is not of the form that it must be.
 */
export async function propose(
  deps: ProposeDependencies,
  run: {
    scope: ScopeKey;
    userId: string;
    runId: string;
    record: DreamUserRecord;
    isAsked: boolean;
    tokensLeft: number;
    /** Of a day on which nothing was used yet; `Infinity` without a limit. */
    tokensPerDay: number;
    maxFiles: number;
    signal: AbortSignal;
    checkStop: () => void;
  },
): Promise<Proposal> {
  const { host, trace } = deps;
  const roomOf = (tokens: number) =>
    Math.max(0, Math.min(deps.maxSnapshotTokens, tokens - REPLY_TOKENS - INSTRUCTION_TOKENS));
  const reading = trace.start('db.read', 'snapshot');
  const snapshot = await takeSnapshot(host, run.scope, {
    record: run.record,
    maxTokens: roomOf(run.tokensLeft),
    mostTokens: roomOf(run.tokensPerDay),
    isAsked: run.isAsked,
  });
  reading.end({ files: snapshot.shown.length });
  const nothing: Plan = { applied: [], dropped: [], files: [] };
  if (snapshot.shown.length === 0 || host.model === null) {
    return { snapshot, plan: nothing, malformed: 0, wasAsked: false };
  }
  const { userId, runId } = run;
  await host.logReads(
    snapshot.shown.map(({ path, fileNo, revisionId, version, content }) => ({
      userId,
      path: path.slice('user/'.length),
      fileNo,
      revisionId,
      version,
      lines: [{ startLine: 1, endLine: countLines(content) }],
    })),
    { actor: ACTOR, runId, trace },
  );
  run.checkStop();
  const prompt = toPrompt(snapshot.shown, { changed: snapshot.changed, now: host.now() });
  const asked = { input: estimateTokens(SYSTEM_PROMPT + prompt), output: REPLY_TOKENS };
  await deps.reserve(asked.input + asked.output);
  const reply = await askModel(host.model, prompt, { signal: run.signal, trace });
  const used = { input: reply.inputTokens, output: reply.outputTokens };
  await deps.settle(differenceOf(asked, used), used);
  run.checkStop();
  const parsed = parseReply(reply.text);
  if (parsed === null) {
    throw createProviderError(
      'MODEL_FAILED',
      { reason: 'malformed', ...(isJson(reply.text) ? {} : { problem: 'not_json' }) },
      { provider: host.model.name },
    );
  }
  const { operations, malformed } = parsed;
  const checking = trace.start('dream.check', 'check operations');
  const dated = await dateLines(host, run.scope, snapshot, operations);
  const plan = planOperations({ files: dated, paths: snapshot.paths }, operations, {
    checks: CHECKS,
    limits: { maxFiles: run.maxFiles },
  });
  checking.end({ applied: plan.applied.length, dropped: plan.dropped.length, malformed });
  return { snapshot, plan, malformed, wasAsked: true };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What a call took beyond what was counted for it: a number that no provider gave stays as it was. */
function differenceOf(asked: UsedTokens, used: UsedTokens): number {
  const input = used.input > 0 ? used.input - asked.input : 0;
  const output = used.output > 0 ? used.output - asked.output : 0;
  return input + output;
}

/** Looks up when the lines came, for the files in which something is to be superseded. */
async function dateLines(
  host: Pick<Host, 'history'>,
  scope: ScopeKey,
  snapshot: TakenSnapshot,
  operations: readonly Operation[],
): Promise<Map<string, SnapshotFile>> {
  const files = new Map(snapshot.files);
  const named = operations
    .filter(({ kind }) => kind === 'supersede')
    .flatMap(({ remove, sources }) => [...remove, ...sources].map(({ path }) => path));
  for (const path of new Set(named)) {
    const file = files.get(path);
    if (file === undefined) continue;
    const { version, times } = await host.history.lineTimes(scope, path.slice('user/'.length));
    // Of another version they would be those of other lines: then nothing is known to be newer.
    if (version === file.version) files.set(path, { ...file, times });
  }
  return files;
}
