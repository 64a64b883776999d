import { Readable } from 'node:stream';
import type { ReadableStream as WebStream } from 'node:stream/web';
import { setTimeout as sleep } from 'node:timers/promises';
import { inSlices } from '../time/pause.ts';
import { foreignJsonSteps, type JsonLimits } from '../encoding/foreign-json.ts';
import type { Database, LoadedConfig } from '../config/index.ts';
import type { JobState } from '../contracts/admin.ts';
import type { ErrorBody } from '../errors.ts';
import { StartError } from './failure.ts';
import { findKeptSecret, placeOfSecrets } from './secrets.ts';

const POLL_MS = 500;
const STEP_MS = 1_000;

/** Reports progress; `total` is `null` if it is unknown. */
type Progress = (done: number, total: number | null) => void;

/** An answer of the admin API that is not 2xx, or none. */
export class AdminApiError extends StartError {
  /** `null` where there was no answer. */
  readonly status: number | null;
  /** `null` where the body is not one of the service. */
  readonly code: string | null;

  constructor(
    message: string,
    { status, error, cause }: { status: number | null; error?: ErrorBody; cause?: unknown },
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.status = status;
    this.code = error?.code ?? null;
  }
}

/** The admin API of the server that has the database open. */
export interface RunningServer {
  /**
   * Throws an {@link AdminApiError} if the answer is not 2xx, or if there is none. With `ifVersion` the request is carried out only
   * while the file is at that version; 0: only while it does not exist.
   */
  ask<T>(
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    body?: object,
    options?: { ifVersion?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<T>;
  /**
   * Sends a request whose body or answer is a stream. Throws a `StartError` with the server's message
   * if the answer is not 2xx.
   */
  stream(method: 'GET' | 'POST', path: string, body?: Readable): Promise<Readable>;
  /** Starts a job and waits for its end. Throws a `StartError` if it fails. */
  runJob<T>(path: string, options: { body?: object; progress?: Progress }): Promise<T>;
}

/** Connects to a server with the configured secret, or the one stored beside the database. */
export async function talkToServer(
  address: string,
  loaded: LoadedConfig,
  database: Database,
): Promise<RunningServer> {
  const secret =
    loaded.values.adminSecret ??
    (await findKeptSecret('adminSecret', placeOfSecrets(database.filename, loaded.cwd)));
  return callAdminApi(address, secret);
}

/** The admin API at the address of `--url`. Throws a `StartError` for none, or without a secret. */
export function callUrl(url: string, { values }: LoadedConfig): RunningServer {
  const { adminSecret: secret } = values;
  if (secret === null) throw new StartError('--url needs SERVICE_ADMIN_SECRET.');
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new StartError(`--url is an address like https://memory.example.com, not ${url}.`);
  }
  return callAdminApi(url.endsWith('/') ? url.slice(0, -1) : url, secret);
}

/** The admin API at an address. */
export function callAdminApi(address: string, secret: string): RunningServer {
  async function send(
    method: string,
    path: string,
    { headers, ...request }: Partial<RequestInit> & { headers?: Record<string, string> },
  ) {
    const answer = await fetch(`${address}/v1/admin/${path}`, {
      method,
      headers: { 'x-admin-secret': secret, ...headers },
      ...request,
    }).catch((error: unknown) => {
      const reason = error instanceof Error ? String(error.cause ?? error.message) : String(error);
      const message = `The server at ${address} did not answer: ${reason}`;
      throw new AdminApiError(message, { status: null, cause: error });
    });
    if (answer.ok) return answer;
    const said = (await readJson(answer).catch(() => null)) as { error?: ErrorBody } | null;
    if (answer.status !== 401 && said?.error !== undefined) {
      const wait = answer.headers.get('retry-after');
      throw new AdminApiError(
        wait === null ? said.error.message : `${said.error.message} Try again in ${wait} s.`,
        { status: answer.status, error: said.error },
      );
    }
    throw new AdminApiError(
      `The server at ${address} answered ${answer.status} to ${method} /v1/admin/${path}: ${
        answer.status === 401
          ? 'is SERVICE_ADMIN_SECRET the one that it was started with?'
          : 'its log says why, or it is of another version.'
      }`,
      { status: answer.status },
    );
  }

  async function ask<T>(
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    body?: object,
    {
      ifVersion,
      signal,
    }: { ifVersion?: number | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    const precondition =
      ifVersion === 0 ? { 'if-none-match': '*' } : { 'if-match': `"${ifVersion}"` };
    const headers = {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(ifVersion === undefined ? {} : precondition),
    };
    const request = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await send(method, path, {
      ...request,
      headers,
      ...(signal === undefined ? {} : { signal }),
    });
    return (await readJson(answer)) as T;
  }

  return {
    ask,
    async stream(method, path, body) {
      const answer = await (body === undefined
        ? send(method, path, {})
        : send(method, path, {
            headers: { 'content-type': 'application/gzip' },
            body: Readable.toWeb(body) as ReadableStream,
            duplex: 'half',
          } as Parameters<typeof send>[2]));
      return Readable.fromWeb(answer.body as WebStream);
    },
    async runJob<T>(path: string, { body, progress }: { body?: object; progress?: Progress }) {
      let job: JobState<T> | null = await ask<JobState<T>>('POST', path, body);
      while (job?.state === 'running') {
        await sleep(POLL_MS);
        job = await ask<JobState<T> | null>('GET', path.split('?')[0] ?? path);
        if (job !== null) progress?.(job.done, job.total);
      }
      if (job?.state === 'completed') return job.result as T;
      // After a restart, the new server does not know the job.
      const reason = job?.error === null || job === null ? '' : ` (${job.error})`;
      throw new StartError(`The server at ${address} could not finish${reason}: its log says why.`);
    },
  };
}

/** The query string of the values that are given. */
export function toQuery(values: Readonly<Record<string, string | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string') query.set(name, value);
  }
  return query.toString();
}

/** Prints the progress to standard error, at most once a second. */
export function createProgress(unit: string): Progress {
  let last = performance.now();
  return (done, total) => {
    if (performance.now() - last < STEP_MS) return;
    last = performance.now();
    process.stderr.write(`  ${done}${total === null ? '' : ` of ${total}`} ${unit}\n`);
  };
}

/** What another process answers: what listens at the address need not be a memory-service. */
async function readJson(answer: Response): Promise<unknown> {
  return await inSlices(foreignJsonSteps(await answer.text(), ANSWER_LIMITS));
}

/** A list of 500 users or revisions is far below. */
const ANSWER_LIMITS: Partial<JsonLimits> = {
  chars: 64 * 1024 ** 2,
  containers: 200_000,
  keys: 2_000_000,
  values: 2_000_000,
};
