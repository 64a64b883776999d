import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Core } from '../../core/service.ts';
import { MemoryError } from '../../core/errors.ts';
import { type CommandOptions, startCommand } from './command.ts';
import type { Answer, Operation, Target } from './workload.ts';

/** A target in a process of its own. */
export interface KillableTarget extends Target {
  /** The others in the same process, each on a database of its own. */
  readonly beside?: readonly Target[];
  /** Resolves when the process has ended; what is in flight is lost. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** The built command: tools over HTTP, on the database of its directory, or of a URL. */
export async function startServer({
  databaseUrl,
  ...options
}: CommandOptions & { databaseUrl?: string }): Promise<KillableTarget> {
  const env = {
    SERVICE_TOOLS_DELETE: 'true',
    SERVICE_TOOLS_MOVE: 'true',
    ...(databaseUrl === undefined ? {} : { ...makeSecrets(), SERVICE_DATABASE_URL: databaseUrl }),
    ...options.env,
  };
  const command = await startCommand({ ...options, env });
  return {
    execute: (operation) => post(command, operation),
    end: async (signal) => (await command.stop(signal)).code,
  };
}

/** Secrets for a server whose database others share: it makes none of its own. */
export function makeSecrets(): Record<string, string> {
  const secret = () => randomBytes(32).toString('base64url');
  return { SERVICE_API_KEY: secret(), SERVICE_ADMIN_SECRET: secret() };
}

/** Calls a tool of a running command. */
export async function post(
  { url, apiKey }: { url: string; apiKey: string },
  { userId, tool, args, key }: Operation,
): Promise<Answer> {
  try {
    const response = await fetch(`${url}/v1/tools/${tool}/execute`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body: JSON.stringify({ context: { userId }, arguments: args }),
    });
    const body = (await response.json()) as {
      result: Record<string, unknown>;
      error: { code: string; details?: unknown };
    };
    if (!response.ok) {
      const { code, details } = body.error;
      return { status: 'refused', code, details };
    }
    const isReplayed = response.headers.get('idempotency-replayed') === 'true';
    return { status: 'acknowledged', result: body.result, isReplayed };
  } catch {
    return { status: 'lost' };
  }
}

/** The tools of a service in this process. */
export function inProcess(core: Core): Target {
  return {
    async execute({ userId, tool, args, key }): Promise<Answer> {
      try {
        const { result, replayed } = await core.tools.execute(tool, {
          context: { userId },
          arguments: args,
          ...(key === undefined ? {} : { idempotencyKey: key }),
        });
        return {
          status: 'acknowledged',
          result: result as Record<string, unknown>,
          isReplayed: replayed === true,
        };
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error;
        return { status: 'refused', code: error.code, details: error.details };
      }
    },
  };
}

/** Several instances as one, called in turn. */
export interface Patient extends Target {
  /** Calls that were made again. */
  readonly repeated: number;
}

/**
 * Calls the instances in turn. A call that is refused for a while is repeated under its key, by the
 * next one, as the callers of a service are told to.
 */
export function patient(instances: readonly Target[]): Patient {
  let calls = 0;
  let repeated = 0;
  return {
    get repeated() {
      return repeated;
    },
    async execute(operation) {
      for (;;) {
        calls += 1;
        const answer = await (instances[calls % instances.length] as Target).execute(operation);
        const isForNow = answer.status === 'refused' && answer.code === 'STORAGE_UNAVAILABLE';
        if (!isForNow) return answer;
        repeated += 1;
        await sleep(20);
      }
    },
  };
}

const WRITER = fileURLToPath(new URL('../faults/bare-writer.mjs', import.meta.url));

/**
 * The write path on its storage, without HTTP; on several databases, the first one's target with the
 * others beside it. `flags`: those of bare-writer.mjs.
 */
export async function startBareWriter(
  databases: string | readonly string[],
  flags: readonly string[] = [],
): Promise<KillableTarget & { victim(operation: Operation, at?: number): Promise<Answer> }> {
  const names = [databases].flat();
  const child = spawn(process.execPath, [WRITER, ...names, ...flags], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const waiting = new Map<number, (answer: Answer) => void>();
  let isEnded = false;
  let count = 0;
  // A write to a process that was killed is no error of ours: its answer is `lost`.
  child.stdin.on('error', () => undefined);
  await new Promise<void>((ready, fail) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') return ready();
      const { number, answer } = JSON.parse(line) as { number: number; answer: Answer };
      waiting.get(number)?.(answer);
      waiting.delete(number);
    });
    void ended.then((code) => {
      isEnded = true;
      for (const answer of waiting.values()) answer({ status: 'lost' });
      fail(new Error(`The writer ended with ${String(code)} before it was ready.`));
    });
  });
  const send = (operation: object) =>
    new Promise<Answer>((resolve) => {
      if (isEnded) return resolve({ status: 'lost' });
      count += 1;
      waiting.set(count, resolve);
      child.stdin.write(`${JSON.stringify({ ...operation, number: count })}\n`);
    });
  const toTarget = (_: string, at: number): Target => ({
    execute: (operation) => send({ ...operation, at }),
  });
  return {
    execute: send,
    beside: names.map(toTarget).slice(1),
    victim: (operation, at = 0) => send({ ...operation, at, isVictim: true }),
    end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}
