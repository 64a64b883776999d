import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Suite } from './support/bench.ts';
import type { Party, Stall } from './support/party.ts';
import { ADMIN_SECRET, fetchFilesBehind, startService, toolRequest } from './support/service.ts';
import { listCases } from './support/stall-cases.ts';
import {
  fillMemory,
  type LiveRoute,
  type StallCase,
  type StallClient,
} from './support/stall-memory.ts';
import { startStallModel, type StallModel } from './support/stall-model.ts';
import { createRandom, type Random } from './support/stall-texts.ts';
import { toSpread } from './support/statistics.ts';

/** The worst of each tool and route are tried again, and the least of those counts. */
const REPEATED = 3;
const REPEATS = 5;
/** Below this nothing is tried again. */
const NOTABLE_MS = 10;
/** The stall that no call may exceed; a case above it is printed at once. */
const MOST_MS = 50;
const QUICK_CASES = 4;
const CASE_MS = 120_000;
const INDEX_MS = 120_000;
const INDEX_LOOK_MS = 25;
/** Time for what a call leaves for later. */
const AFTER_MS = 30;

/** A fuzzer of worst-case arguments. */
export const suite: Suite = {
  about: 'the longest stall of the event loop, by worst-case arguments of each tool and route',
  isAlone: true,
  options: {
    seed: 'of the random combinations (default 1)',
    combinations: 'random combinations of arguments (default 200)',
    heavy: 'files of 256 KB that a search goes through (default 200)',
    only: 'tools and routes that have this in their names',
  },
  async run(bench) {
    const model = await startStallModel();
    try {
      await measure(bench, model);
    } finally {
      model.close();
    }
  },
};

async function measure(bench: Bench, model: StallModel): Promise<void> {
  const { report, options } = bench;
  const directory = await bench.makeDirectory('stalls');
  const database = process.env['BENCH_DATABASE_URL'];
  const { party } = await startService(bench, 'memory-service', directory, {
    SERVICE_MODEL_PROVIDER: 'openai',
    SERVICE_MODEL_BASE_URL: model.baseUrl,
    SERVICE_MODEL_API_KEY: 'none',
    SERVICE_MODEL_NAME: 'stalls',
    SERVICE_TOOLS_DELETE: 'true',
    SERVICE_TOOLS_MOVE: 'true',
    SERVICE_TOOLS_HISTORY: 'true',
    SERVICE_LOG_LEVEL: 'error',
    ...(database === undefined ? {} : { SERVICE_DATABASE_URL: database }),
  });
  const port = party?.port ?? null;
  if (party === null || port === null) return;
  const client = createClient(port, model);
  const random = createRandom(Number(options['seed'] ?? 1));
  const only = options['only'] ?? '';
  const cases = await party.use(async () => {
    const settings = {
      client,
      random,
      routes: await readRoutes(client),
      combinations: Number(options['combinations'] ?? (bench.isQuick ? 8 : 200)),
      heavyFiles: Number(options['heavy'] ?? (bench.isQuick ? 4 : 200)),
    };
    await fillMemory(settings);
    const all = await listCases(settings);
    await untilIndexed(port);
    const asked = all.filter(({ surface }) => surface.includes(only));
    return bench.isQuick ? takeSome(asked, random) : asked;
  });
  report.row(`${cases.length} worst cases, each once; the worst of each again`, []);
  const found = new Map<string, { of: StallCase; stall: Stall }[]>();
  for (const one of cases) {
    const stall = await tryCase(party, port, one);
    const all = found.get(one.surface) ?? [];
    found.set(one.surface, [...all, { of: one, stall }]);
    if (stall.cpuMs > MOST_MS) report.note(`${one.surface}, ${one.argument}: ${format(stall)}`);
  }
  const rows: { surface: string; argument: string; stall: Stall; cases: number }[] = [];
  for (const [surface, tried] of found) {
    const worst = tried.toSorted((one, other) => other.stall.cpuMs - one.stall.cpuMs);
    const again: { argument: string; stall: Stall }[] = [];
    for (const { of, stall } of worst.slice(0, REPEATED)) {
      let least = stall;
      for (let n = 1; n < REPEATS && least.cpuMs > NOTABLE_MS; n += 1) {
        const next = await tryCase(party, port, of);
        if (next.cpuMs < least.cpuMs) least = next;
      }
      again.push({ argument: of.argument, stall: least });
    }
    const [first] = again.toSorted((one, other) => other.stall.cpuMs - one.stall.cpuMs);
    if (first !== undefined) rows.push({ surface, ...first, cases: tried.length });
  }
  rows.sort((one, other) => other.stall.cpuMs - one.stall.cpuMs);
  const width = Math.max(...rows.map(({ surface }) => surface.length));
  report.note(`${''.padEnd(width)}   cpu ms  wall ms   GC ms  cases  worst arguments`);
  for (const { surface, argument, stall, cases: count } of rows) {
    report.note(
      `${surface.padEnd(width)}  ${format(stall)}  ${String(count).padStart(5)}  ${argument}`,
    );
  }
  report.row('The longest stall of them all, on the processor', []);
  report.figure('stall', toSpread([rows[0]?.stall.cpuMs ?? 0]));
}

/** A few of each tool and route. */
function takeSome(cases: readonly StallCase[], random: Random): StallCase[] {
  const counts = new Map<string, number>();
  return cases
    .toSorted(() => random() - 0.5)
    .filter(({ surface }) => {
      const count = (counts.get(surface) ?? 0) + 1;
      counts.set(surface, count);
      return count <= QUICK_CASES;
    });
}

async function tryCase(party: Party, port: number, one: StallCase): Promise<Stall> {
  if (one.prepare !== undefined) {
    await party.use(async () => {
      await one.prepare?.();
      if (one.writes === true) await untilIndexed(port);
    });
  }
  return await party.watchStalls(async () => {
    await one.run();
    await sleep(AFTER_MS);
    if (one.writes === true) await untilIndexed(port);
  });
}

async function untilIndexed(port: number): Promise<void> {
  const end = performance.now() + INDEX_MS;
  while ((await fetchFilesBehind(port)) > 0 && performance.now() < end) await sleep(INDEX_LOOK_MS);
}

function format({ cpuMs, wallMs, gcMs }: Stall): string {
  return [cpuMs, wallMs, gcMs].map((ms) => ms.toFixed(1).padStart(7)).join('  ');
}

function createClient(port: number, model: StallModel): StallClient {
  const key = toolRequest('', [], '').headers?.['Authorization'] ?? '';
  const send: StallClient['send'] = async (method, path, { body, text, headers = {} } = {}) => {
    const limit = new AbortController();
    const isStream = path.includes('/stream');
    const timer = setTimeout(() => limit.abort(), isStream ? 300 : CASE_MS);
    const given = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const isAdmin = path.startsWith('/v1/admin') || path.startsWith('/metrics');
    try {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        signal: limit.signal,
        headers: {
          ...(given === undefined ? {} : { 'content-type': 'application/json' }),
          ...(isAdmin ? { 'x-admin-secret': ADMIN_SECRET } : { authorization: key }),
          ...headers,
        },
        ...(given === undefined ? {} : { body: given }),
      });
      const answer = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json') === true;
      return {
        status: response.status,
        body: isJson && answer !== '' ? JSON.parse(answer) : answer,
      };
    } catch (error) {
      // A body that is refused before all of it was read, or a stream that goes on.
      return { status: 0, body: String(error) };
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    maxFileBytes: 262_144,
    maxBodyBytes: 1_048_576,
    model,
    send,
    async download(path) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        headers: { 'x-admin-secret': ADMIN_SECRET },
      });
      return new Uint8Array(await response.arrayBuffer());
    },
    async tool(name, userId, args) {
      const path = `/v1/tools/${name}/execute`;
      const { status, body } = await send('POST', path, {
        body: { context: { userId }, arguments: args },
      });
      const result = (body as { result?: Record<string, unknown> }).result ?? null;
      return { status, result };
    },
  };
}

async function readRoutes(client: StallClient): Promise<LiveRoute[]> {
  const { body } = await client.send('GET', '/v1/openapi.json');
  const { paths } = body as { paths: Record<string, object> };
  return Object.entries(paths)
    .filter(([path]) => !/^\/v1\/tools\/memory_/.test(path))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    );
}
