import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import Type from 'typebox';
import { parseForeignJson } from '../../core/encoding/foreign-json.ts';
import { ConfigError } from '../../core/config/error.ts';
import { type OptionsOf, type OptionTable, readOptions } from '../../core/config/option.ts';
import type { Embedder } from '../../core/contracts/embedder.ts';
import { findEmbeddingModel, USUAL_MAX_TOKENS } from '../../core/providers/embedding-models.ts';
import {
  createProviderError,
  type ProviderFailure,
} from '../../core/providers/provider-failure.ts';
import type { FromWorker, ToWorker, WorkerOptions } from './worker.ts';

/** Small, and reads about a hundred languages: 118 MB to download. */
const DEFAULT_MODEL = 'Xenova/multilingual-e5-small';

/** Which model runs in this process, and where its files are. */
const OPTIONS = {
  name: {
    schema: Type.String({ minLength: 1 }),
    default: DEFAULT_MODEL,
    description: 'A model of huggingface.co with ONNX files, or a folder: ./models/mine.',
  },
  baseUrl: {
    schema: Type.String({ pattern: '^https?://' }),
    default: 'https://huggingface.co',
    description: 'Where models are downloaded from, as a mirror of huggingface.co.',
  },
  cacheDir: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    description: 'Folder of downloaded models; default ~/.cache/memory-service/models.',
  },
  precision: {
    schema: Type.Enum(['fp32', 'fp16', 'q8']),
    default: 'q8',
    description: 'Which of the files of the model; q8 is a quarter of the size of fp32.',
  },
  pooling: {
    schema: Type.Enum(['mean', 'cls']),
    default: null,
    description: 'How the vectors of tokens become one; default cls for bge models, else mean.',
  },
  dimensions: {
    schema: Type.Integer({ minimum: 1, maximum: 65_536 }),
    default: null,
    description: 'Length of a vector; required for a model that is neither known nor in a folder.',
  },
  maxTokens: {
    schema: Type.Integer({ minimum: 128, maximum: 1_000_000 }),
    default: null,
    description: 'The most tokens of a text that the model reads.',
  },
  questionPrefix: {
    schema: Type.String({ maxLength: 1_000 }),
    default: null,
    description: 'Text before each question; default what is known of the model.',
  },
  passagePrefix: {
    schema: Type.String({ maxLength: 1_000 }),
    default: null,
    description: 'Text before each passage; default what is known of the model.',
  },
  transformers: {
    schema: Type.String({ minLength: 1 }),
    default: '@huggingface/transformers',
    description: 'For tests: where the package is.',
  },
} as const satisfies OptionTable;

/** The options of `local()`. */
export type LocalEmbedderOptions = OptionsOf<typeof OPTIONS>;

/** A call asks again so soon while the model is downloaded, in seconds. */
const DOWNLOAD_POLL_SECONDS = 2;

/**
 * A model that runs in this process, in a thread of its own: no key, no server. It takes the package
 * `@huggingface/transformers`, which you install beside memory-service. The first call loads the
 * model, and downloads it if it is not in the cache; until it is there, calls fail with the share
 * that has arrived. Throws a `ConfigError` that names the wrong options.
 *
 * @example
 * createMemoryService({
 *   storage: sqlite({ filename: './data/memory.db' }),
 *   embedder: local(),
 * });
 */
export function local(options: LocalEmbedderOptions = {}): Embedder {
  const settings = readOptions(OPTIONS, options, { plugin: 'embedder-local' });
  const { name } = settings;
  const folder = /^\.{0,2}\//.test(name) || path.isAbsolute(name) ? path.resolve(name) : null;
  const family = findEmbeddingModel(name);
  const dimensions = settings.dimensions ?? family?.dimensions ?? readDimensions(folder, name);
  const thread = createThread({
    model: folder ?? name,
    isFolder: folder !== null,
    baseUrl: settings.baseUrl.endsWith('/') ? settings.baseUrl : `${settings.baseUrl}/`,
    cacheDir: path.resolve(
      settings.cacheDir ?? path.join(homedir(), '.cache/memory-service/models'),
    ),
    precision: settings.precision,
    pooling: settings.pooling ?? (family?.family.startsWith('bge') === true ? 'cls' : 'mean'),
    transformers: settings.transformers,
  });
  return {
    name: 'local',
    model: name,
    dimensions,
    maxTokens: settings.maxTokens ?? family?.maxTokens ?? USUAL_MAX_TOKENS,
    prefixes: {
      question: settings.questionPrefix ?? family?.questionPrefix ?? '',
      passage: settings.passagePrefix ?? family?.passagePrefix ?? '',
    },
    embed: (texts, { signal }) => thread.embed(texts, signal),
  };
}

function readDimensions(folder: string | null, name: string): number {
  if (folder === null) {
    throw new ConfigError(
      'dimensions',
      `dimensions is missing: the length of the vectors of ${name}`,
    );
  }
  let config: unknown;
  try {
    config = parseForeignJson(readFileSync(path.join(folder, 'config.json'), 'utf8'));
  } catch (cause) {
    throw new ConfigError('name', `${folder} has no config.json of a model`, { cause });
  }
  const { hidden_size: size } = (config ?? {}) as { hidden_size?: unknown };
  if (Number.isInteger(size) && (size as number) > 0) return size as number;
  throw new ConfigError('dimensions', `dimensions is missing: config.json has no hidden_size`);
}

/** For the sources it is the built one: Node runs no TypeScript in a thread. */
const WORKER = import.meta.url.endsWith('.ts')
  ? '../../dist/plugins/embedder-local/worker.js'
  : '../embedder-local/worker.js';

interface Pending {
  done(vectors: Float32Array[]): void;
  fail(failure: ProviderFailure): void;
}

/** The thread of a model. It starts with the first call, and again after it failed. */
function createThread(workerData: WorkerOptions): {
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
} {
  let worker: Worker | null = null;
  let downloaded: number | null = null;
  /** Why a download ended: the next call says so, and the one after it tries again. */
  let untold: ProviderFailure | null = null;
  let last = 0;
  const pending = new Map<number, Pending>();

  function failAll(failure: ProviderFailure): void {
    for (const { fail } of [...pending.values()]) fail(failure);
  }

  function start(): Worker {
    const started = new Worker(new URL(WORKER, import.meta.url), { workerData });
    const end = (failure: ProviderFailure) => {
      if (worker !== started) return;
      worker = null;
      // No call waits for a download.
      if (downloaded !== null) untold = failure;
      downloaded = null;
      failAll(failure);
    };
    started.on('message', (message: FromWorker) => {
      if (message.kind === 'done') pending.get(message.id)?.done(message.vectors);
      else if (message.kind === 'failed') pending.get(message.id)?.fail(message.failure);
      else if (message.kind === 'loaded') downloaded = null;
      else if (message.kind === 'unusable') {
        end(message.failure);
        void started.terminate();
      } else {
        downloaded = message.percent;
        failAll(downloading());
      }
    });
    // Out of memory, say.
    started.on('error', () => end({ reason: 'unavailable' }));
    started.on('exit', () => end({ reason: 'unavailable' }));
    return started;
  }

  function downloading(): ProviderFailure {
    return { reason: 'unavailable', problem: 'downloading', percent: Math.max(1, downloaded ?? 0) };
  }

  return {
    async embed(texts, signal) {
      if (signal?.aborted === true) throw toError({ reason: 'aborted' });
      if (texts.length === 0) return [];
      if (downloaded !== null) throw toError(downloading());
      if (untold !== null) {
        const failure = untold;
        untold = null;
        throw toError(failure);
      }
      const own = (worker ??= start());
      const id = (last += 1);
      const send = (message: ToWorker) => own.postMessage(message);
      // A waiting call keeps the process alive; an idle thread or a download does not.
      own.ref();
      const stop = () => {
        send({ kind: 'cancel', id });
        pending.get(id)?.fail({ reason: 'aborted' });
      };
      signal?.addEventListener('abort', stop, { once: true });
      try {
        return await new Promise<Float32Array[]>((done, refuse) => {
          pending.set(id, { done, fail: (failure) => refuse(toError(failure)) });
          send({ kind: 'embed', id, texts });
        });
      } finally {
        pending.delete(id);
        signal?.removeEventListener('abort', stop);
        if (pending.size === 0) own.unref();
      }
    },
  };
}

function toError(failure: ProviderFailure): Error {
  const retryAfterSeconds = failure.problem === 'downloading' ? DOWNLOAD_POLL_SECONDS : undefined;
  return createProviderError('EMBEDDING_FAILED', failure, { provider: 'local', retryAfterSeconds });
}
