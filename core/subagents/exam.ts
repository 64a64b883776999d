import { randomBytes } from 'node:crypto';
import type { AuditCaller, ModelStanding, PromptUse } from '../contracts/plugin.ts';
import type { ConfigStore } from '../contracts/storage.ts';
import { createFence } from '../edits/fence.ts';
import { SHORT_VERIFIER_PROMPT_VERSION, VERIFIER_PROMPT_VERSION } from '../edits/verify.ts';
import { MemoryError } from '../errors.ts';
import { takeStart } from '../encoding/take-text.ts';
import { hashText } from '../files/content.ts';
import type { IdSource } from '../ids/ids.ts';
import type { ExamPart, ExamPartName, ModelExam } from '../schemas/model-exam.ts';
import { toAuditRecord } from '../telemetry/audit.ts';
import { toLocalDay, toTime } from '../time/time.ts';
import { askInExam, type ExamQuestion, type ExamUsage } from './exam/ask.ts';
import { checkFiling, drawFilingCases, toFilingQuestion } from './exam/filing.ts';
import { checkJudging, drawJudgingCases, toJudgingQuestion } from './exam/judging.ts';
import { checkInTime, type GuardedModel } from './guarded-model.ts';
import { limitReply } from '../edits/prompt-budget.ts';
import {
  REMEMBER_PROMPT_VERSION,
  SHORT_PROMPT_VERSION as SHORT_REMEMBER_PROMPT_VERSION,
} from './remember/prompt.ts';

/** The exam of the models that are configured. */
export interface Exam {
  /** How the models are asked, and what their exams say of them. */
  standing(): Promise<ModelStanding>;
  /** What exams say of the models that are configured now. */
  read(): Promise<ModelExam>;
  /**
   * Examines the models, and keeps the result. Throws `MODEL_NOT_CONFIGURED`, and `MODEL_FAILED` or
   * `MODEL_TIMEOUT` where one can't be reached: then nothing is kept.
   */
  run(caller: AuditCaller, progress?: (done: number, total: number) => void): Promise<ModelExam>;
}

/** What an exam works with. */
export interface ExamDependencies {
  config: ConfigStore;
  model: GuardedModel | null;
  /** `null` where the model judges its own edits. */
  verifier: GuardedModel | null;
  settings: {
    modelContext: number;
    modelPrompts: 'auto' | 'full' | 'short';
    replyTokens: number;
  };
  ids: IdSource;
  now: () => number;
}

/** The prompts that a part is asked with. A result holds for these alone. */
const VERSIONS: Readonly<Record<ExamPartName, string>> = {
  files: `${REMEMBER_PROMPT_VERSION}, ${SHORT_REMEMBER_PROMPT_VERSION}, exam-1`,
  judges: `${VERIFIER_PROMPT_VERSION}, ${SHORT_VERIFIER_PROMPT_VERSION}, exam-1`,
};
const KEY = 'model_exam_';
/** Below these tokens, the full prompts leave little room for memory. */
const SHORT_BELOW = 8_192;
/** Edits of one question. */
const JUDGED_AT_ONCE = 4;

/** Creates the exam of the configured models. It never runs by itself. */
export function createExam(deps: ExamDependencies): Exam {
  const { config, settings } = deps;
  const examined: Readonly<Record<ExamPartName, GuardedModel | null>> = {
    files: deps.model,
    judges: deps.verifier ?? deps.model,
  };

  async function readPart(part: ExamPartName): Promise<ExamPart | null> {
    const model = examined[part];
    if (model === null) return null;
    const key = toKey(part, model);
    const kept = (await config.entries(key))[key] as Partial<ExamPart> | undefined;
    return typeof kept?.passed === 'boolean' ? (kept as ExamPart) : null;
  }

  function toUse(model: GuardedModel | null, exam: ExamPart | null): PromptUse {
    const told = model?.contextTokens ?? null;
    const contextTokens = settings.modelContext === 0 ? told : settings.modelContext;
    const guessed = (contextTokens ?? Infinity) < SHORT_BELOW ? 'short' : 'full';
    const { modelPrompts } = settings;
    return {
      contextTokens,
      form: modelPrompts === 'auto' ? (exam?.form ?? guessed) : modelPrompts,
    };
  }

  async function read(): Promise<ModelExam> {
    const [files, judges] = await Promise.all([readPart('files'), readPart('judges')]);
    const parts = [files, judges].filter((part) => part !== null);
    return { parts, expect: toExpectations(parts) };
  }

  return {
    read,
    async standing() {
      const [files, judges] = await Promise.all([readPart('files'), readPart('judges')]);
      return {
        model: toUse(examined.files, files),
        verifier: toUse(examined.judges, judges),
        files: files?.passed ?? null,
        judges: judges?.passed ?? null,
      };
    },
    async run(caller, progress = () => undefined) {
      if (examined.files === null) throw new MemoryError('MODEL_NOT_CONFIGURED');
      const { modelPrompts } = settings;
      const steps = { done: 0, total: (FILING_CASES + JUDGING_QUESTIONS) * 2 };
      const parts: ExamPart[] = [];
      for (const part of ['files', 'judges'] as const) {
        const model = examined[part] as GuardedModel;
        // Its server may say then how much the model reads. The cases tell whether it answers.
        await checkInTime(model).catch(() => undefined);
        const use = toUse(model, null);
        const onStep = () => progress(Math.min((steps.done += 1), steps.total), steps.total);
        const examine = (form: PromptUse['form']) =>
          examinePart(deps, { part, model, use: { ...use, form }, onStep });
        const first = await examine(use.form);
        // A model that fails with all rules may pass with fewer.
        const isTriedAgain = !first.passed && use.form === 'full' && modelPrompts === 'auto';
        const second = isTriedAgain ? await examine('short') : null;
        parts.push(second !== null && second.score >= first.score ? second : first);
      }
      const entries = Object.fromEntries(
        parts.map((result) => [toKey(result.part, examined[result.part] as GuardedModel), result]),
      );
      const details = Object.fromEntries(parts.map(({ part, passed }) => [part, passed]));
      const audit = { action: 'model.exam', target: examined.files.model, details, ...caller };
      await config.set(entries, toAuditRecord(deps.ids, audit));
      progress(steps.total, steps.total);
      return await read();
    },
  };
}

type Ask = (question: ExamQuestion) => Promise<string>;

interface CaseResult {
  kind: string;
  isGood: boolean;
  isRight: boolean;
}

const FILING_CASES = 5;
const JUDGING_QUESTIONS = 2;

/** Asks a model all questions of a part. */
async function examinePart(
  { settings, now }: Pick<ExamDependencies, 'settings' | 'now'>,
  {
    part,
    model,
    use,
    onStep,
  }: { part: ExamPartName; model: GuardedModel; use: PromptUse; onStep(): void },
): Promise<ExamPart> {
  const usage: ExamUsage = { inputTokens: 0, outputTokens: 0 };
  const maxTokens = limitReply(use, settings.replyTokens);
  const startedAt = performance.now();
  const ask = async (question: ExamQuestion) => {
    const reply = await askInExam(model, question, { maxTokens, usage });
    onStep();
    return reply;
  };
  const results = part === 'files' ? await fileAll(use, { ask, now }) : await judgeAll(use, ask);
  const failed = results.filter(({ isRight }) => !isRight);
  return {
    part,
    provider: model.name,
    address: model.address ?? null,
    model: model.model,
    promptsVersion: VERSIONS[part],
    form: use.form,
    passed: part === 'files' ? failed.length <= 1 : isJudge(results),
    score: results.length - failed.length,
    of: results.length,
    failed: failed.map(({ kind }) => kind),
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    ...usage,
    at: toTime(now()),
  };
}

async function fileAll(
  use: PromptUse,
  { ask, now }: { ask: Ask; now: () => number },
): Promise<CaseResult[]> {
  const day = toLocalDay(now(), 'UTC');
  const results: CaseResult[] = [];
  for (const one of drawFilingCases()) {
    const texts = [one.fact, ...one.memory.files.map(({ content }) => content)];
    const reply = await ask(await toFilingQuestion(one, { use, mark: toMark(texts), day }));
    results.push({ kind: one.kind, isGood: true, isRight: await checkFiling(one, reply, day) });
  }
  return results;
}

async function judgeAll(use: PromptUse, ask: Ask): Promise<CaseResult[]> {
  const all = await drawJudgingCases();
  const results: CaseResult[] = [];
  for (let from = 0; from < all.length; from += JUDGED_AT_ONCE) {
    const cases = all.slice(from, from + JUDGED_AT_ONCE);
    const reply = await ask(await toJudgingQuestion(cases, { use, mark: toMark([]) }));
    const right = checkJudging(cases, reply);
    results.push(
      ...cases.map(({ kind, isGood }, at) => ({ kind, isGood, isRight: right[at] === true })),
    );
  }
  return results;
}

/** A judge lets no harm pass, and two of three good edits. */
function isJudge(results: readonly CaseResult[]): boolean {
  const wrong = results.filter(({ isRight }) => !isRight);
  return wrong.every(({ isGood }) => isGood) && wrong.length <= 1;
}

/** Memory of an exam is nobody's, so its marks need no key that stays. */
function toMark(texts: readonly string[]) {
  return createFence(randomBytes(32), { userId: 'exam', purpose: 'verify' }, texts);
}

function toKey(part: ExamPartName, { name, address, model }: GuardedModel): string {
  const identity = JSON.stringify([part, name, address ?? null, model, VERSIONS[part]]);
  return `${KEY}${takeStart(hashText(identity), 32)}`;
}

function toExpectations(parts: readonly ExamPart[]): string[] {
  return parts.map(({ part, passed, score, of }) => {
    const scored = `(${score} of ${of})`;
    if (part === 'files') {
      return passed
        ? `Files facts: yes ${scored}.`
        : `Files facts: no ${scored}. Most facts will stay in the inbox.`;
    }
    return passed
      ? `Judges edits: yes ${scored}.`
      : `Judges edits: no ${scored}. It is not asked: edits wait for a person, and facts stay in the inbox. SERVICE_VERIFIER_NAME names another model.`;
  });
}
