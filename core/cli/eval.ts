import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { meanScores, type RankingScores, scoreRanking } from '../checks/ranking-scores.ts';
import { type QuestionSet, readQuestionSet, type SetQuestion } from '../checks/question-set.ts';
import { type LoadedConfig, loadConfig, openConfig } from '../config/index.ts';
import { chunk } from '../lists/group-by.ts';
import type { CheckAnswers } from '../schemas/checks.ts';
import type { Core } from '../service.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { callAdminApi, createProgress, type RunningServer } from './running-server.ts';
import { writeOutput } from './streams.ts';

/** Questions of one request. */
const AT_ONCE = 50;
const MEASURES = {
  'R@1': 'recall1',
  'R@5': 'recall5',
  'R@10': 'recall10',
  'nDCG@10': 'ndcg10',
} as const satisfies Record<string, keyof RankingScores>;
const COLUMN = 8;

/** `memory-service eval`: how well finds answer questions whose answers are known. */
export const evalCommand: Command = {
  summary: 'Measure finds on questions with known answers: recall, nDCG, by category.',
  argument: 'questions.jsonl',
  flags: {
    url: {
      value: 'address',
      summary: 'Ask the service at this address, with SERVICE_ADMIN_SECRET; it changes nothing.',
    },
    against: {
      value: 'file|address',
      summary: 'Compare with another memory.config file, .env file or service.',
    },
    skip: { value: 'categories', summary: 'Leave these out, separated by commas.' },
    json: { value: null, summary: 'Print the scores of every question as JSON.' },
  },
  run,
};

/** The scores of one configuration, in the order of the questions. */
interface Measured {
  name: string;
  scores: RankingScores[];
}

async function run(context: CommandContext): Promise<void> {
  const { flags } = context;
  const set = await readSet(context);
  const against = flags.get('against');
  // A mistake in either comes before the first question.
  const measureFirst = await prepare(context, set, flags.get('url') ?? null);
  const measureSecond = against === undefined ? null : await prepare(context, set, against);
  const first = await measureFirst();
  const second = measureSecond === null ? null : await measureSecond();
  if (flags.has('json')) {
    writeOutput(`${JSON.stringify(toJson(set.questions, first, second), null, 2)}\n`);
    return;
  }
  writeOutput(`${toLines(set.questions, first, second).join('\n')}\n`);
}

async function readSet({ argument, flags, cwd }: CommandContext): Promise<QuestionSet> {
  const name = argument ?? '';
  const bytes = await readFile(resolve(cwd, name)).catch((error: unknown) => {
    throw new StartError(`${name} can't be read: ${(error as Error).message}`);
  });
  const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const set = readQuestionSet((isZipped ? gunzipSync(bytes) : bytes).toString('utf8'));
  if (set.mistakes.length > 0) {
    const lines = set.mistakes.map(({ line, message }) => `  ${name}:${line}: ${message}`);
    throw new StartError(`${name} has mistakes:\n${lines.join('\n')}`);
  }
  const skipped = (flags.get('skip') ?? '').split(',');
  const questions = set.questions.filter(({ category }) => !skipped.includes(category));
  if (questions.length === 0) throw new StartError(`${name} has no question.`);
  return { ...set, questions };
}

/**
 * Reads what a name stands for: a service, a configuration, or (`null`) the own one. Returns what asks it all
 * questions.
 */
async function prepare(
  context: CommandContext,
  set: QuestionSet,
  name: string | null,
): Promise<() => Promise<Measured>> {
  const { questions } = set;
  const progress = createProgress('questions');
  const ask = async (answer: (some: readonly SetQuestion[]) => Promise<CheckAnswers>) => {
    const scores: RankingScores[] = [];
    for (const some of chunk(questions, AT_ONCE)) {
      const { answers } = await answer(some);
      for (const [at, { relevant }] of some.entries()) {
        scores.push(scoreRanking(answers[at] ?? [], relevant));
      }
      progress(scores.length, questions.length);
    }
    return { name: name ?? 'here', scores };
  };
  const askThere = (api: RunningServer) =>
    ask((some) => api.ask('POST', 'checks/ask', toBody(some)));
  const askHere = (core: Core) =>
    ask(async (some) => ({ answers: await core.checks.ask(toBody(some).questions) }));
  if (name !== null && /^https?:/.test(name)) {
    const { adminSecret } = (await loadConfig(context)).values;
    if (adminSecret === null) throw new StartError(`${name} needs SERVICE_ADMIN_SECRET.`);
    if (!URL.canParse(name)) throw new StartError(`${name} is not an address.`);
    return () => askThere(callAdminApi(name.replace(/\/$/, ''), adminSecret));
  }
  const loaded = await loadConfig(name === null ? context : await withConfig(context, name));
  if (set.files.length > 0) return () => askInMemory(loaded, set, askHere);
  return () =>
    workOnMemory(loaded, {
      there: askThere,
      here: (config) => onCore(loaded, config, askHere),
    });
}

function toBody(some: readonly SetQuestion[]) {
  return { questions: some.map(({ user, query }) => ({ user, query })) };
}

/** The context of a command with another config file, or other variables. */
async function withConfig(context: CommandContext, name: string): Promise<CommandContext> {
  const path = resolve(context.cwd, name);
  if (!existsSync(path)) {
    throw new StartError(`--against names ${path}, and there is no such file.`);
  }
  if (!/(?:^|[/.])env$/.test(path)) {
    const others = context.argv.filter((flag) => !flag.startsWith('--config='));
    return { ...context, argv: [...others, `--config=${path}`] };
  }
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new StartError(`--against: ${name} can't be read: ${(error as Error).message}`);
  });
  return { ...context, env: { ...context.env, ...parseEnv(text) } };
}

/** Writes the files of the set into a service in memory, and asks there. No database is touched. */
async function askInMemory<T>(
  loaded: LoadedConfig,
  { files }: QuestionSet,
  ask: (core: Core) => Promise<T>,
): Promise<T> {
  const { service } = await openConfig({
    ...loaded,
    values: { ...loaded.values, databaseUrl: 'sqlite::memory:', 'screen.secrets': 'off' },
    origins: { ...loaded.origins, databaseUrl: { source: 'flag', name: 'eval' } },
  });
  const own = { ...service, model: null, verifier: null, exporters: [], plugins: [] };
  return await onCore(loaded, own, async (core) => {
    const written = createProgress('files');
    for (const [at, { user, path, text }] of files.entries()) {
      await core.tools.execute('memory_write', {
        context: { userId: user },
        arguments: { path, content: text },
      });
      written(at + 1, files.length);
    }
    await core.indexer.drain();
    const embedded = createProgress('texts');
    await core.embeddings?.drain((done) => embedded(done, null));
    return await ask(core);
  });
}

function groupScores(questions: readonly SetQuestion[], { scores }: Measured) {
  const groups = new Map<string, RankingScores[]>([['all', []]]);
  for (const [at, { category }] of questions.entries()) {
    const one = scores[at] as RankingScores;
    groups.get('all')?.push(one);
    if (category === 'all') continue;
    groups.set(category, [...(groups.get(category) ?? []), one]);
  }
  return groups;
}

/** A table by category; with another configuration, its scores less those of the first. */
function toLines(
  questions: readonly SetQuestion[],
  first: Measured,
  second: Measured | null,
): string[] {
  const groups = groupScores(questions, first);
  const others = second === null ? null : groupScores(questions, second);
  const width = Math.max(9, ...[...groups.keys()].map((name) => name.length)) + 2;
  const toRow = (name: string, cells: readonly string[]) =>
    `${name.padEnd(width)}${cells.map((cell) => cell.padStart(COLUMN + 1)).join('')}`.trimEnd();
  const head = toRow('', ['questions', ...Object.keys(MEASURES)]);
  const toCells = (scores: readonly RankingScores[]) => {
    const mean = meanScores(scores);
    return Object.values(MEASURES).map((key) => mean[key].toFixed(3));
  };
  const toTable = (of: ReturnType<typeof groupScores>) =>
    [...of].map(([name, own]) => toRow(name, [String(own.length), ...toCells(own)]));
  if (second === null || others === null) return [head, ...toTable(groups)];
  const differences = [...groups].map(([name, own]) => {
    const [before, after] = [meanScores(own), meanScores(others.get(name) ?? [])];
    const cells = Object.values(MEASURES).map((key) => sign(after[key] - before[key]));
    return toRow(name, [String(own.length), ...cells]);
  });
  const { better, worse } = countChanges(first, second);
  return [
    `${first.name}:`,
    head,
    ...toTable(groups),
    `${second.name}:`,
    head,
    ...toTable(others),
    `${second.name} less ${first.name}:`,
    head,
    ...differences,
    `${second.name} is better on ${better} of ${questions.length} questions, and worse on ${worse}.`,
  ];
}

function sign(value: number): string {
  const text = value.toFixed(3);
  return Number(text) > 0 ? `+${text}` : text.replace('-0.000', '0.000');
}

function countChanges(first: Measured, second: Measured): { better: number; worse: number } {
  const changes = first.scores.map((one, at) => (second.scores[at]?.ndcg10 ?? 0) - one.ndcg10);
  return {
    better: changes.filter((change) => change > 0).length,
    worse: changes.filter((change) => change < 0).length,
  };
}

function toJson(questions: readonly SetQuestion[], first: Measured, second: Measured | null) {
  const toMeans = (one: Measured) =>
    Object.fromEntries(
      [...groupScores(questions, one)].map(([name, own]) => [
        name,
        { questions: own.length, ...meanScores(own) },
      ]),
    );
  return {
    name: first.name,
    categories: toMeans(first),
    ...(second !== null && {
      against: { name: second.name, categories: toMeans(second) },
      ...countChanges(first, second),
    }),
    questions: questions.map(({ id, category }, at) => ({
      id,
      category,
      ...first.scores[at],
      ...(second !== null && { against: second.scores[at] }),
    })),
  };
}
