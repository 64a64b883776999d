import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  BAD_REPLIES,
  BAD_REPLY_FACT,
  BAD_REPLY_MEMORY,
  BAD_REPLY_PATH,
  type BadReply,
} from '../support/bad-replies.ts';
import { startProviderServer } from '../support/provider-server/server.ts';
import type { Bench, Opened, Suite } from './support/bench.ts';
import { callTool, importService, startService, untilEmbedded } from './support/service.ts';

/** A small memory, and what people ask it. */
interface Memory {
  id: string;
  language: string;
  files: Record<string, string>;
  /** Each with the line that answers it, as it stands in a file. */
  questions: { ask: string; line: string }[];
}

const DATA = path.resolve(import.meta.dirname, 'answers.json');
const TOOLS = 'SERVICE_EMBEDDING_NAME and SERVICE_EMBEDDING_API_KEY name the model and its key';

/**
 * Whether a small memory answers: natural questions, in words that mostly are not those of the line that
 * is needed, with the default arguments of `memory_context` and no model. And what becomes of a fact for each
 * way in which the model of `memory_remember` fails.
 */
export const suite: Suite = {
  about: 'natural questions over small memories, and facts that a model fails to file',
  isAlone: true,
  options: {
    data: 'the memories and questions, as JSON (default answers.json)',
    embedder: `the base URL of an OpenAI-compatible server; ${TOOLS}`,
  },
  async run(bench) {
    const { data = DATA, embedder } = bench.options;
    const { memories } = JSON.parse(readFileSync(data, 'utf8')) as { memories: Memory[] };
    const questions = memories.flatMap((memory) => memory.questions);
    bench.report.note(`${questions.length} questions over ${memories.length} memories, no model.`);
    bench.report.row('The needed line is in memory_context', []);
    bench.report.note('| embedder | fill | answered | characters | by language |');
    bench.report.note('| --- | --- | --- | --- | --- |');
    await measureAnswers(bench, memories, { name: 'none', environment: {} });
    if (embedder === undefined) {
      const command = 'npm run bench -- answers --embedder http://127.0.0.1:9901/v1';
      bench.report.note(`| with one | | not measured: ${command} | | |`);
    } else {
      const name = process.env['SERVICE_EMBEDDING_NAME'] ?? 'embedder';
      const environment = {
        ...pickEmbedding(process.env),
        SERVICE_EMBEDDING_PROVIDER: 'openai',
        SERVICE_EMBEDDING_BASE_URL: embedder,
        SERVICE_EMBEDDING_NAME: name,
      };
      await measureAnswers(bench, memories, { name, environment });
    }
    bench.report.row('What becomes of a fact', []);
    await measureFacts(bench);
  },
};

function pickEmbedding(environment: NodeJS.ProcessEnv): Record<string, string> {
  const own = Object.entries(environment).filter(([name]) => name.startsWith('SERVICE_EMBEDDING_'));
  return Object.fromEntries(own) as Record<string, string>;
}

async function measureAnswers(
  bench: Bench,
  memories: readonly Memory[],
  { name, environment }: { name: string; environment: Record<string, string> },
): Promise<void> {
  const directory = await bench.makeDirectory('service');
  const service = await startService(bench, 'memory-service', directory, environment);
  for (const { id, files } of memories) {
    for (const [file, content] of Object.entries(files)) {
      await callTool(service, 'memory_write', id, { path: file, content });
    }
  }
  if (name !== 'none') await untilEmbedded(service);
  for (const fill of [true, false]) await measureFilled(bench, service, { memories, name, fill });
}

async function measureFilled(
  { report }: Bench,
  service: Opened,
  { memories, name, fill }: { memories: readonly Memory[]; name: string; fill: boolean },
): Promise<void> {
  const answered = new Map<string, boolean[]>();
  const missed: string[] = [];
  let characters = 0;
  for (const { id, language, questions } of memories) {
    for (const { ask, line } of questions) {
      const args = { query: ask, ...(fill ? {} : { fill }) };
      const { context } = await callTool<{ context: string }>(service, 'memory_context', id, args);
      const isThere = context.split('\n').includes(line);
      characters += context.length;
      answered.set(language, [...(answered.get(language) ?? []), isThere]);
      if (!isThere) missed.push(`${id}: ${ask}`);
    }
  }
  const all = [...answered.values()].flat();
  const count = (list: readonly boolean[]) => `${list.filter(Boolean).length} of ${list.length}`;
  const languages = [...answered].map(([language, list]) => `${language} ${count(list)}`);
  const share = ((100 * all.filter(Boolean).length) / all.length).toFixed(0);
  const mean = (characters / all.length).toFixed(0);
  report.note(
    `| ${name} | ${fill ? 'default' : 'off'} | ${count(all)} (${share}%) | ${mean} | ${languages.join(', ')} |`,
  );
  if (fill) for (const one of missed) report.note(`  not answered: ${one}`);
}

/** Tells a fact to a service whose model fails, in each way that there is. */
async function measureFacts(bench: Bench): Promise<void> {
  bench.report.note('| the model | filed | degraded | the fact is in | the rest of memory |');
  bench.report.note('| --- | --- | --- | --- | --- |');
  let lost = 0;
  for (const reply of BAD_REPLIES) {
    const { filed, degraded, places, isSame } = await tellFact(bench, reply);
    if (places.length === 0) lost += 1;
    bench.report.note(
      `| ${reply.name} | ${filed} | ${degraded} | ${places.join(', ') || 'nowhere'} | ${isSame ? 'as it was' : 'changed'} |`,
    );
  }
  bench.report.note(`${lost} of ${BAD_REPLIES.length} facts were lost.`);
}

type Model = Parameters<BadReply['arrange']>[0];
type Answer = Parameters<Model['says']>[0];

/** What became of it: where the fact stands, and whether the rest of memory is the same. */
async function tellFact(bench: Bench, { arrange }: BadReply) {
  const { createMemoryService, sqlite, openai } = await importService();
  let says: Answer = () => ({ operations: [] });
  let judges: Answer = () => ({ verdicts: [] });
  const provider = await startProviderServer({
    reply({ messages, response_format: format }) {
      const toText = (role: string): string =>
        (messages as { role: string; content: string }[]).find((one) => one.role === role)
          ?.content ?? '';
      const asked = { system: toText('system'), prompt: toText('user'), round: 0 };
      const isVerdict = format?.json_schema?.name === 'memory_edit_verdicts';
      const answer = (isVerdict ? judges : says)(asked);
      return typeof answer === 'string' ? answer : JSON.stringify(answer);
    },
  });
  const { baseUrl } = provider;
  const service = createMemoryService({
    storage: sqlite({ filename: path.join(await bench.makeDirectory('facts'), 'memory.db') }),
    model: openai({ baseUrl, name: 'scripted', maxRetries: 0, timeoutMs: 2_000 }),
  });
  try {
    await service.ready();
    const model = {
      provider,
      says: (answer: Answer) => (says = answer),
      judges: (answer: Answer) => (judges = answer),
    };
    arrange(model as unknown as Model);
    const context = { userId: 'ann' };
    const run = async <Result>(tool: string, args: object): Promise<Result> =>
      (await service.tools.execute(tool, { context, arguments: args })).result as Result;
    await run('memory_write', { path: BAD_REPLY_PATH, content: BAD_REPLY_MEMORY });
    const { filed = 'nothing', degraded = '' } = await run<{ filed?: string; degraded?: string }>(
      'memory_remember',
      { text: BAD_REPLY_FACT },
    ).catch((error: unknown) => ({ filed: String(error), degraded: '' }));
    const { files } = await run<{ files: { path: string }[] }>('memory_list', {});
    const places: string[] = [];
    let isSame = false;
    for (const { path: file } of files) {
      const { content } = await run<{ content: string }>('memory_read', { path: file });
      if (content.includes(BAD_REPLY_FACT)) places.push(file);
      if (file === BAD_REPLY_PATH) isSame = content === BAD_REPLY_MEMORY;
    }
    return { filed, degraded, places, isSame };
  } finally {
    await service.close();
    await provider.close();
  }
}
