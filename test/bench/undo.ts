import { createDatabase, startMariadb } from '../support/mariadb-server.ts';
import type { Bench, Suite } from './support/bench.ts';
import type { FigureId } from './support/figures.ts';
import type { Party, Stall } from './support/party.ts';
import { ADMIN_SECRET, fetchFilesBehind, startService, toolRequest } from './support/service.ts';
import { toSpread } from './support/statistics.ts';

const REVERTED = { revisions: 10_000, files: 200 } as const;
const REDACTED = { versions: 520, files: 40 } as const;
const TEXT = 'sk-live-7f3a9c51ab';
const WRITERS = 16;
const SAMPLE_MS = 50;
const MEGABYTE = 2 ** 20;

/** What undoing much, and redacting a text everywhere, take. */
export const suite: Suite = {
  about: 'revert of 10,000 revisions of one user, and a text redacted in 520 versions of 40 files',
  isAlone: true,
  options: { share: 'a share of the revisions and versions, from 0 to 1 (default 1)' },
  async run(bench) {
    const share = Number(bench.options['share'] ?? (bench.isQuick ? 0.05 : 1));
    await measure(bench, { name: 'SQLite', share, url: null });
    const mariadb = await startMariadb();
    try {
      await measure(bench, { name: 'MariaDB', share, url: await createDatabase(mariadb.port) });
    } finally {
      await mariadb.remove();
    }
  },
};

async function measure(
  bench: Bench,
  { name, share, url }: { name: string; share: number; url: string | null },
): Promise<void> {
  const directory = await bench.makeDirectory(`undo-${name}`);
  const { party } = await startService(bench, `memory-service on ${name}`, directory, {
    SERVICE_LOG_LEVEL: 'error',
    ...(url === null ? {} : { SERVICE_DATABASE_URL: url }),
  });
  const port = party?.port ?? null;
  if (party === null || port === null) return;
  const service = { bench, party, port, name, share };
  await revert(service);
  await redact(service);
}

interface Service {
  bench: Bench;
  party: Party;
  port: number;
  name: string;
  share: number;
}

/** Half of the files were written by somebody else since. */
async function revert(service: Service): Promise<void> {
  const { bench, party, port, name, share } = service;
  const each = Math.max(1, Math.round((REVERTED.revisions * share) / REVERTED.files));
  const revisions = each * REVERTED.files;
  const append = (file: number, actor: string, text: string) =>
    callTool(port, 'memory_patch', {
      context: { userId: 'alice', actor },
      arguments: { path: `user/notes/${file}.md`, append: { text } },
    });
  await party.use(async () => {
    await inParallel(REVERTED.files, async (file) => {
      const content = Array.from({ length: 30 }, (_, line) => `- Line ${line} of ${file}.\n`);
      await callTool(port, 'memory_write', {
        context: { userId: 'alice', actor: 'ann' },
        arguments: { path: `user/notes/${file}.md`, content: content.join('') },
      });
      for (let n = 0; n < each; n += 1) await append(file, 'mallory', `- Note ${n} of ${file}.`);
      if (file % 2 === 0) await append(file, 'ann', '- Kept.');
    });
    await untilIndexed(port);
  });
  const selection = { actor: 'mallory', since: '2000-01-01T00:00:00.000Z', userId: 'alice' };
  const preview = await watch(party, () => post(port, 'revert', { ...selection, dryRun: true }));
  const done = await watch(party, () => post(port, 'revert', selection));
  const { files } = done.result as { files: { outcome: string }[] };
  const left = files.filter(({ outcome }) => !['reverted', 'merged'].includes(outcome)).length;
  const again = await watch(party, () => post(port, 'revert', selection));
  bench.report.row(`${name}: revert of ${revisions} revisions of ${files.length} files`, []);
  note(bench, 'preview', preview);
  note(bench, `revert, ${left} files left`, done);
  note(bench, 'the same request again', again);
  figure(bench, 'revert-stall', done.stall.cpuMs);
  figure(bench, 'revert-memory', done.grownMb);
}

async function redact(service: Service): Promise<void> {
  const { bench, party, port, name, share } = service;
  const each = Math.max(2, Math.round((REDACTED.versions * share) / REDACTED.files));
  await party.use(async () => {
    await inParallel(REDACTED.files, async (file) => {
      for (let version = 0; version < each; version += 1) {
        const lines = Array.from({ length: 40 }, (_, line) => `- ${line} of ${file}.\n`);
        lines[version % 40] = `- The key of ${version} is ${TEXT}.\n`;
        lines[39] = `- And ${TEXT} again.\n`;
        await callTool(port, 'memory_write', {
          context: { userId: `user-${file % 8}`, actor: 'ann' },
          arguments: { path: `user/keys/${file}.md`, content: lines.join('') },
        });
      }
    });
    await untilIndexed(port);
  });
  const request = { text: TEXT, in: 'everywhere', reason: 'A key was written.' };
  const preview = await watch(party, () => allPages(port, { ...request, dryRun: true }));
  const done = await watch(party, () => allPages(port, request));
  const found = await party.use(() => post(port, 'search', { text: TEXT, history: true }));
  const hits = (found as { items: unknown[] }).items.length;
  const versions = each * REDACTED.files;
  bench.report.row(
    `${name}: a text redacted in ${versions} versions of ${REDACTED.files} files`,
    [],
  );
  note(bench, 'preview', preview);
  note(bench, `redaction, ${hits} hits in the history after it`, done);
  figure(bench, 'redact-text', done.seconds);
  figure(bench, 'redact-stall', done.stall.cpuMs);
}

/** What some work took: in seconds, at one go, and in memory beyond what there was before. */
interface Watched {
  result: unknown;
  seconds: number;
  stall: Stall;
  grownMb: number;
}

async function watch(party: Party, work: () => Promise<unknown>): Promise<Watched> {
  const before = await party.resident();
  let most = before;
  let result: unknown;
  let seconds = 0;
  let isOver = false;
  const stall = await party.watchStalls(async () => {
    const sampling = (async () => {
      while (!isOver) {
        most = Math.max(most, await party.resident());
        await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
      }
    })();
    const started = performance.now();
    try {
      result = await work();
      seconds = (performance.now() - started) / 1_000;
    } finally {
      isOver = true;
      await sampling;
    }
  });
  return { result, seconds, stall, grownMb: (most - before) / MEGABYTE };
}

function note(bench: Bench, what: string, { seconds, stall, grownMb }: Watched): void {
  const { cpuMs, wallMs, gcMs } = stall;
  bench.report.note(
    `${what}: ${seconds.toFixed(1)} s; longest stall ${cpuMs.toFixed(1)} ms on the processor ` +
      `(${wallMs.toFixed(1)} by the clock, ${gcMs.toFixed(1)} of GC); ${grownMb.toFixed(0)} MB more`,
  );
}

function figure(bench: Bench, id: FigureId, value: number): void {
  bench.report.figure(id, toSpread([value]));
}

async function allPages(port: number, request: object): Promise<void> {
  for (let cursor: string | null = null; ;) {
    const page = (await post(port, 'redact', {
      ...request,
      ...(cursor === null ? {} : { cursor }),
    })) as { nextCursor: string | null };
    cursor = page.nextCursor;
    if (cursor === null) return;
  }
}

async function inParallel(count: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (next < count) await work(next++);
    }),
  );
}

async function callTool(port: number, tool: string, body: object): Promise<void> {
  const { path, headers } = toolRequest(tool, [], '');
  await send(port, path, { headers, body });
}

async function post(port: number, path: string, body: object): Promise<unknown> {
  const headers = { 'x-admin-secret': ADMIN_SECRET };
  return await send(port, `/v1/admin/${path}`, { headers, body });
}

async function send(
  port: number,
  path: string,
  { headers, body }: { headers?: Record<string, string> | undefined; body: object },
): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as unknown;
}

async function untilIndexed(port: number): Promise<void> {
  while ((await fetchFilesBehind(port)) > 0) await new Promise((done) => setTimeout(done, 100));
}
