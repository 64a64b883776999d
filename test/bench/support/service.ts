import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type * as Core from '../../../core/index.ts';
import type * as Dreaming from '../../../plugins/dreaming/index.ts';
import type * as OpenAI from '../../../plugins/model-openai/index.ts';
import type * as Stores from '../../../core/storage/storage.ts';
import type * as Mysql from '../../../plugins/storage-mysql/index.ts';
import type * as Sqlite from '../../../plugins/storage-sqlite/index.ts';
import type { Bench, Opened, Request } from './bench.ts';
import { listPlaces, type NoteSet, placeAt, toNote } from './notes.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const DIST = path.join(ROOT, 'dist');
const API_KEY = 'the-key-of-the-bench-that-guards-nothing';
/** Of the admin API of every service that the bench starts. */
export const ADMIN_SECRET = 'the-secret-of-the-bench-that-guards-nothing';

/**
 * The service as it is built: what is measured is what ships. `checkout` is the root of another
 * checkout with a build of its own.
 */
export async function importService(checkout = ROOT): Promise<{
  createMemoryService: typeof Core.createMemoryService;
  sqlite: typeof Sqlite.sqlite;
  mysql: typeof Mysql.mysql;
  dreaming: typeof Dreaming.dreaming;
  openai: typeof OpenAI.openai;
}> {
  const load = <Module>(file: string): Promise<Module> =>
    import(pathToFileURL(path.join(checkout, 'dist', file)).href) as Promise<Module>;
  const { createMemoryService } = await load<typeof Core>('core/index.js');
  const { sqlite } = await load<typeof Sqlite>('plugins/storage-sqlite/index.js');
  const { mysql } = await load<typeof Mysql>('plugins/storage-mysql/index.js');
  const { dreaming } = await load<typeof Dreaming>('plugins/dreaming/index.js');
  const { openai } = await load<typeof OpenAI>('plugins/model-openai/index.js');
  return { createMemoryService, sqlite, mysql, dreaming, openai };
}

/** The stores over a database, for fixtures that the service would take too long to write. */
export async function importStores(): Promise<typeof Stores> {
  const file = path.join(DIST, 'core/storage/storage.js');
  return (await import(pathToFileURL(file).href)) as typeof Stores;
}

/** Starts the service's own command on a SQLite file of `directory`, with its defaults. */
export async function startService(
  bench: Bench,
  name: string,
  directory: string,
  more: Record<string, string> = {},
): Promise<Opened & { startedMs: number }> {
  return bench.start(name, path.join(DIST, 'core', 'cli', 'bin.cjs'), ['start'], {
    directory,
    environment: {
      SERVICE_PORT: '0',
      SERVICE_DATABASE_URL: `sqlite:${path.join(directory, 'memory.db')}`,
      SERVICE_API_KEY: API_KEY,
      SERVICE_ADMIN_SECRET: ADMIN_SECRET,
      ...more,
    },
  });
}

/** Tool calls over HTTP: `bodies` are those of section 5 of the API. */
export function toolRequest(tool: string, bodies: readonly string[], expect: string): Request {
  return {
    method: 'POST',
    path: `/v1/tools/${tool}/execute`,
    headers: { Authorization: `Bearer ${API_KEY}` },
    bodies,
    expect,
  };
}

/** Reads of every note of a set. */
export function readRequest(set: NoteSet): Request {
  return toolRequest(
    'memory_read',
    listPlaces(set).map(({ userId, path: file }) =>
      JSON.stringify({ context: { userId }, arguments: { path: `user/${file}` } }),
    ),
    '"content"',
  );
}

/** First writes of every note of a set, or of those from `start` to before `end`. */
export function fillRequest(
  set: NoteSet,
  { start = 0, end = set.users * set.notes }: { start?: number; end?: number } = {},
): Request {
  const bodies = Array.from({ length: end - start }, (_, offset) => {
    const seed = start + offset;
    const { userId, path: file } = placeAt(set, seed);
    const args = { path: `user/${file}`, content: toNote(seed) };
    return JSON.stringify({ context: { userId }, arguments: args });
  });
  return toolRequest('memory_write', bodies, '"revisionId"');
}

/** Writes that go on for ever: every second one makes a new file, the others change a note. */
export function writeRequest(set: NoteSet): Request {
  return toolRequest(
    'memory_write',
    listPlaces(set).map(({ userId, path: file }, seed) =>
      JSON.stringify({
        context: { userId },
        arguments: {
          path: seed % 2 === 0 ? `user/notes/new-{n}.md` : `user/${file}`,
          // The end differs and the rest stays, as when an agent adds a line to what it knows.
          content: `${toNote(seed)}- Seen again, as number {n}.\n`,
        },
      }),
    ),
    '"revisionId"',
  );
}

/** The files whose search index is behind, as the operator's status page says. */
export async function readFilesBehind({ party }: Opened): Promise<number> {
  const port = party?.port ?? null;
  return party === null || port === null ? 0 : party.use(() => fetchFilesBehind(port));
}

/** How the embedding of all passages stands: `idle` when each has its vector. */
export async function fetchEmbedding(port: number): Promise<string> {
  const { index, embedder } = await fetchAdmin<{
    index: { filesBehind: number };
    embedder: { progress: { state: string; lastFailure: string | null } | null };
  }>(port, 'status');
  const { state = 'none', lastFailure = null } = embedder.progress ?? {};
  if (state === 'none' || state === 'paused') throw new Error(`No embedder: ${lastFailure}.`);
  return index.filesBehind > 0 ? 'embedding' : state;
}

/** The same of a service in any process. */
export async function fetchFilesBehind(port: number): Promise<number> {
  const { index } = await fetchAdmin<{ index: { filesBehind: number } }>(port, 'status');
  return index.filesBehind;
}

/** Has the service write what waits for the log: it does so before it shows it. */
export async function flushLog(port: number): Promise<void> {
  await fetchAdmin(port, 'access-logs?limit=1');
}

export async function fetchAdmin<Body>(port: number, path: string): Promise<Body> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/admin/${path}`, {
    headers: { 'x-admin-secret': ADMIN_SECRET },
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}.`);
  return (await answer.json()) as Body;
}

/** Waits until each passage has its vector. */
export async function untilEmbedded({ party }: Opened): Promise<void> {
  const port = party?.port ?? null;
  if (party === null || port === null) return;
  await party.use(async () => {
    while ((await fetchEmbedding(port)) !== 'idle') await sleep(500);
  });
}

/** Calls a tool of a service over HTTP, and gives its result. */
export async function callTool<Answer>(
  { party }: Opened,
  tool: string,
  userId: string,
  args: object,
): Promise<Answer> {
  const port = party?.port ?? null;
  if (party === null || port === null) throw new Error('The service could not be opened.');
  const { path, headers } = toolRequest(tool, [], '');
  return await party.use(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ context: { userId }, arguments: args }),
    });
    if (!answer.ok) throw new Error(`${tool} answered ${answer.status}.`);
    return ((await answer.json()) as { result: Answer }).result;
  });
}
