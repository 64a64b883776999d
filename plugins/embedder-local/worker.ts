import { availableParallelism } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { ProviderFailure } from '../../core/providers/provider-failure.ts';

/** What the thread has to know of the model. */
export interface WorkerOptions {
  /** Its name, or its folder. */
  model: string;
  isFolder: boolean;
  /** Where it is downloaded from; ends in a slash. */
  baseUrl: string;
  cacheDir: string;
  precision: 'fp32' | 'fp16' | 'q8';
  pooling: 'mean' | 'cls';
  /** The package, as it is imported. */
  transformers: string;
}

/** What the thread is sent. */
export type ToWorker =
  { kind: 'embed'; id: number; texts: readonly string[] } | { kind: 'cancel'; id: number };

/** What the thread answers. */
export type FromWorker =
  | { kind: 'done'; id: number; vectors: Float32Array[] }
  | { kind: 'failed'; id: number; failure: ProviderFailure }
  | { kind: 'downloading'; percent: number }
  | { kind: 'loaded' }
  /** The model can't be loaded: the thread is of no use. */
  | { kind: 'unusable'; failure: ProviderFailure };

/** The parts of `@huggingface/transformers` that are used here. */
interface Transformers {
  env: {
    cacheDir: string;
    remoteHost: string;
    allowLocalModels: boolean;
    allowRemoteModels: boolean;
    localModelPath: string;
    fetch: typeof fetch;
  };
  pipeline(task: 'feature-extraction', model: string, options: object): Promise<Extractor>;
}

type Extractor = (
  texts: string[],
  options: { pooling: 'mean' | 'cls'; normalize: boolean },
) => Promise<{ dims: readonly number[]; data: Float32Array }>;

interface Job {
  id: number;
  texts: string[];
  vectors: Float32Array[];
}

/** Texts that the model gets at a time: a question waits for so many passages at most. */
const BATCH_TEXTS = 4;
/** How often the share of a download is told, in milliseconds. */
const TELL_MS = 500;

const options = workerData as WorkerOptions;
const jobs = new Map<number, Job>();
let extractor: Extractor | null = null;
let isWorking = false;

function tell(message: FromWorker): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'cancel') {
    jobs.delete(message.id);
    return;
  }
  const { id, texts } = message;
  jobs.set(id, { id, texts: [...texts], vectors: [] });
  void work();
});

/** Goes through the jobs in small batches; the one with the fewest texts left is the next. */
async function work(): Promise<void> {
  if (isWorking || extractor === null) return;
  isWorking = true;
  for (;;) {
    const [job] = [...jobs.values()].sort((left, right) => left.texts.length - right.texts.length);
    if (job === undefined) break;
    try {
      job.vectors.push(...(await embed(extractor, job.texts.splice(0, BATCH_TEXTS))));
      if (job.texts.length > 0) continue;
      if (jobs.delete(job.id)) tell({ kind: 'done', id: job.id, vectors: job.vectors });
    } catch {
      jobs.delete(job.id);
      tell({ kind: 'failed', id: job.id, failure: { reason: 'failed' } });
    }
    // Lets messages in.
    await new Promise((resolve) => setImmediate(resolve));
  }
  isWorking = false;
}

async function embed(run: Extractor, texts: string[]): Promise<Float32Array[]> {
  const { dims, data } = await run(texts, { pooling: options.pooling, normalize: true });
  const length = dims[1] ?? 0;
  return texts.map((_, at) => data.slice(at * length, (at + 1) * length));
}

/** What is downloaded, and how much of it has arrived, in bytes. */
const files = new Map<string, { loaded: number; total: number }>();
/** The HTTP status of each file that was refused, by its URL. */
const refusals = new Map<string, number>();
let isDownloading = false;
let hasNoNetwork = false;
let toldAt = Number.NEGATIVE_INFINITY;

function onProgress(event: { status: string; file?: string; loaded?: number; total?: number }) {
  const { status, file, loaded = 0, total = 0 } = event;
  if (file === undefined) return;
  const known = files.get(file);
  // What was packed for the transfer has another size than was announced.
  if (status === 'done' && known !== undefined) known.loaded = known.total;
  if (status !== 'progress') return;
  files.set(file, { loaded, total });
  if (!isDownloading || performance.now() - toldAt < TELL_MS) return;
  toldAt = performance.now();
  const sum = { loaded: 0, total: 0 };
  for (const one of files.values()) {
    sum.loaded += one.loaded;
    sum.total += one.total;
  }
  const percent = Math.floor((100 * sum.loaded) / Math.max(1, sum.total));
  tell({ kind: 'downloading', percent: Math.min(99, percent) });
}

async function load(): Promise<Extractor> {
  const { env, pipeline } = (await import(options.transformers)) as Transformers;
  const { fetch: fetchFile } = env;
  // An older major has no such hook.
  if (typeof fetchFile !== 'function') throw Object.assign(new Error(), { code: 'TOO_OLD' });
  env.cacheDir = options.cacheDir;
  env.remoteHost = options.baseUrl;
  env.allowLocalModels = options.isFolder;
  env.allowRemoteModels = !options.isFolder;
  env.localModelPath = '';
  env.fetch = async (...request) => {
    isDownloading = true;
    try {
      const response = await fetchFile(...request);
      if (!response.ok) refusals.set(String(request[0]), response.status);
      return response;
    } catch (error) {
      hasNoNetwork = true;
      throw error;
    }
  };
  return await pipeline('feature-extraction', options.model, {
    dtype: options.precision,
    device: 'cpu',
    progress_callback: onProgress,
    // Half of the cores are left to requests.
    session_options: { intraOpNumThreads: Math.max(1, Math.floor(availableParallelism() / 2)) },
  });
}

/** The statuses of a file that does not exist, and of a model that does not exist or is not public. */
const NO_SUCH_FILE = new Set([401, 403, 404]);

/**
 * Why the model could not be loaded. The package has no error codes. Its messages contain paths, and a
 * path may contain any number (`./models/bert-512`), so no HTTP status is read from a message.
 */
function toFailure(error: unknown): ProviderFailure {
  const { code, message = '' } = error as { code?: unknown; message?: string };
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'TOO_OLD') {
    return { reason: 'not_installed', problem: 'no_transformers' };
  }
  const refused = [...refusals].find(([url]) => message.includes(`"${url}"`))?.[1];
  const isMissing =
    refused === undefined
      ? message.includes('file was not found locally at')
      : NO_SUCH_FILE.has(refused);
  if (isMissing) return { reason: 'rejected', problem: 'no_such_model' };
  const isCutOff = isDownloading && [...files.values()].some(({ loaded, total }) => loaded < total);
  if (hasNoNetwork || refused !== undefined || isCutOff) {
    return { reason: 'unreachable', problem: 'no_download' };
  }
  return { reason: 'malformed', problem: 'damaged_model' };
}

try {
  extractor = await load();
  tell({ kind: 'loaded' });
  void work();
} catch (error) {
  tell({ kind: 'unusable', failure: toFailure(error) });
}
