import { readDotEnv } from '../../config/environment.ts';
import type { LoadedConfig } from '../../config/index.ts';
import type { SettingKey } from '../../config/settings.ts';
import { findPeerVersion } from '../../packages/import-peer.ts';
import type { CommandContext } from '../command.ts';
import { StartError } from '../failure.ts';
import { askOllama, findOllama, type Ollama } from './ollama.ts';
import { isInteractive, type Questions, withQuestions } from './questions.ts';
import { UsageError } from './usage-error.ts';

/** Settings of an embedder, as text. */
export type Proposal = ReadonlyMap<SettingKey, string>;

const PROVIDERS = ['local', 'ollama', 'openai'] as const;
type Provider = (typeof PROVIDERS)[number];

const OPENAI_URL = 'https://api.openai.com/v1';
const OPENAI_MODEL = 'text-embedding-3-small';
const OPENAI_KEY = 'OPENAI_API_KEY';
const TRANSFORMERS = '@huggingface/transformers';
const PULL = 'ollama pull nomic-embed-text';

/** What the command line and the surroundings say. */
interface Given {
  flags: ReadonlyMap<string, string>;
  loaded: LoadedConfig;
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * Chooses an embedder by the flags, or by questions at a terminal. Throws a `UsageError` that lists the
 * flags where there is neither, and a `StartError` where a choice cannot be used.
 */
export async function chooseEmbedder(
  { flags, env, cwd }: CommandContext,
  loaded: LoadedConfig,
): Promise<Proposal> {
  const given: Given = { flags, loaded, env: { ...(await readDotEnv(cwd)), ...env } };
  const provider = flags.get('provider');
  if (provider !== undefined) return await propose(toProvider(provider), given, null);
  if (!isInteractive()) throw new UsageError(await explainFlags(given));
  return await withQuestions(async (questions) =>
    propose(await askProvider(given, questions), given, questions),
  );
}

function toProvider(text: string): Provider {
  const found = PROVIDERS.find((each) => each === text);
  if (found !== undefined) return found;
  throw new UsageError(`--provider must be one of ${PROVIDERS.join(', ')}, not ${text}.`);
}

/** Each way, with what there is of it on this machine. */
async function describeWays({
  env,
}: Given): Promise<readonly [provider: Provider, text: string][]> {
  const ollama = await lookForOllama(env);
  const isInstalled = findPeerVersion(TRANSFORMERS) !== null;
  const hasKey = (env[OPENAI_KEY] ?? '') !== '';
  return [
    [
      'local',
      `A model in this process, without a key or a server; 118 MB are downloaded once${isInstalled ? '' : `. First run: npm install ${TRANSFORMERS}`}`,
    ],
    [
      'ollama',
      ollama === null
        ? 'Ollama; none answers on this machine'
        : `Ollama at ${ollama.origin}: ${ollama.models.join(', ') || `no embedding model yet. First run: ${PULL}`}`,
    ],
    [
      'openai',
      `OpenAI, or a server that speaks its API${hasKey ? `; the key is in ${OPENAI_KEY}` : ''}`,
    ],
  ];
}

async function askProvider(given: Given, { choose }: Questions): Promise<Provider> {
  const ways = await describeWays(given);
  const place = await choose(
    'Search by meaning needs an embedding model. Which one?',
    ways.map(([, text]) => text),
  );
  return ways[place]?.[0] ?? 'local';
}

async function explainFlags(given: Given): Promise<string> {
  const ways = await describeWays(given);
  return [
    'There is no terminal to ask at, so flags have to say which embedder:',
    ...ways.map(([provider, text]) => `  --provider=${provider.padEnd(8)} ${text}`),
    'With --model=<name>, --base-url=<url>, --api-key-env=<variable>; --dry-run changes nothing.',
  ].join('\n');
}

async function propose(
  provider: Provider,
  given: Given,
  questions: Questions | null,
): Promise<Proposal> {
  if (provider === 'local') return proposeLocal(given);
  if (provider === 'ollama') return await proposeOllama(given, questions);
  return await proposeOpenAI(given, questions);
}

function proposeLocal({ flags }: Given): Proposal {
  for (const flag of ['base-url', 'api-key-env']) {
    if (flags.has(flag)) throw new UsageError(`--${flag} is not for --provider=local.`);
  }
  return toProposal([
    ['embedder.provider', 'local'],
    ['embedder.name', flags.get('model')],
    ['embedder.dimensions', flags.get('dimensions')],
  ]);
}

async function proposeOllama(given: Given, questions: Questions | null): Promise<Proposal> {
  const { flags, env } = given;
  const base = flags.get('base-url') ?? env['OLLAMA_HOST'];
  const ollama = await lookForOllama({ OLLAMA_HOST: base });
  if (ollama === null) {
    throw new StartError(
      `No Ollama answers at ${findOllama(base) ?? String(base)}: start it with ollama serve, or name it with --base-url or OLLAMA_HOST.`,
    );
  }
  return toProposal([
    ['embedder.provider', 'openai'],
    ['embedder.baseUrl', `${ollama.origin}/v1`],
    ['embedder.apiKey', readKey(given, null)],
    ['embedder.name', flags.get('model') ?? (await chooseModel(ollama, questions))],
    ['embedder.dimensions', flags.get('dimensions')],
  ]);
}

async function chooseModel(
  { origin, models }: Ollama,
  questions: Questions | null,
): Promise<string> {
  const [first, ...others] = models;
  if (first === undefined) {
    throw new StartError(`The Ollama at ${origin} has no embedding model: run ${PULL}.`);
  }
  // The tag that stands for none is not written.
  const toName = (model: string) => model.replace(/:latest$/, '');
  if (others.length === 0) return toName(first);
  if (questions === null) {
    throw new UsageError(
      `The Ollama at ${origin} has several embedding models: add --model, as in --model=${toName(first)} (${models.map(toName).join(', ')}).`,
    );
  }
  const place = await questions.choose('Which model?', models.map(toName));
  return toName(models[place] ?? first);
}

async function lookForOllama(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Ollama | null> {
  const origin = findOllama(env['OLLAMA_HOST']);
  return origin === null ? null : await askOllama(origin);
}

async function proposeOpenAI(given: Given, questions: Questions | null): Promise<Proposal> {
  const { flags, loaded } = given;
  const baseUrl =
    flags.get('base-url') ??
    (await questions?.ask('Base URL', { byDefault: OPENAI_URL })) ??
    OPENAI_URL;
  const isOpenAI = URL.canParse(baseUrl) && new URL(baseUrl).origin === new URL(OPENAI_URL).origin;
  const byDefault = isOpenAI ? OPENAI_MODEL : '';
  const model =
    flags.get('model') ?? (await questions?.ask('Embedding model', { byDefault })) ?? byDefault;
  if (model === '') {
    throw new UsageError(`Add --model=<name>: the embedding model of the server at ${baseUrl}.`);
  }
  // A key of OpenAI is for OpenAI alone.
  let key = readKey(given, isOpenAI ? OPENAI_KEY : null);
  const setUrl = loaded.values['embedder.baseUrl'] ?? OPENAI_URL;
  if (loaded.values['embedder.provider'] === 'openai' && setUrl === baseUrl) {
    key ??= loaded.values['embedder.apiKey'] ?? undefined;
  }
  if (key === undefined && questions !== null) {
    const hint = isOpenAI ? '' : ' (empty for none)';
    key = (await questions.ask(`API key${hint}`, { isSecret: true })) || undefined;
  }
  if (key === undefined && isOpenAI) {
    throw new UsageError(
      `OpenAI asks for a key: set ${OPENAI_KEY}, or name the variable that has it with --api-key-env.`,
    );
  }
  return toProposal([
    ['embedder.provider', 'openai'],
    ['embedder.baseUrl', isOpenAI ? undefined : baseUrl],
    ['embedder.apiKey', key],
    ['embedder.name', model],
    ['embedder.dimensions', flags.get('dimensions')],
  ]);
}

/** The key in the variable that `--api-key-env` names. */
function readKey({ flags, env }: Given, byDefault: string | null): string | undefined {
  const named = flags.get('api-key-env');
  const name = named ?? byDefault;
  const key = name === null ? undefined : env[name] || undefined;
  if (key === undefined && named !== undefined) {
    throw new UsageError(`--api-key-env names ${named}, which is not set.`);
  }
  return key;
}

function toProposal(settings: readonly [SettingKey, string | undefined][]): Proposal {
  return new Map(
    settings.filter((setting): setting is [SettingKey, string] => setting[1] !== undefined),
  );
}
