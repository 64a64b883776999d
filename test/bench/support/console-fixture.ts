import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type {
  AccessRecord,
  AuditRecord,
  EventRecord,
  FileState,
  NewRevision,
  ScopeKey,
} from '../../../core/contracts/records.ts';
import type { Decision, Storage } from '../../../core/contracts/storage.ts';
import { createRollUp } from '../../../core/telemetry/rollups/rollups.ts';
import { accessRow, decideWrite, dreamRunRow, eventRow, makeId } from '../../support/rows.ts';
import { toNote } from './notes.ts';
import { importService, importStores } from './service.ts';

/** What an operator of a large service looks at. */
export interface ConsoleSet {
  users: number;
  /** In all. */
  files: number;
  /** Access rows; half as many tool calls. */
  accesses: number;
  /** Files of one more user, in one folder: {@link largeFileAt}. */
  largest: number;
}

/** Raised with each change of what is written, so that no older fixture is taken. */
const EDITION = 4;
const CACHE = path.resolve(import.meta.dirname, '../.cache');
/** Log rows of one transaction. */
const BATCH = 20_000;
/** Files of one write. */
const FILES_AT_ONCE = 500;
/** Dream runs and audit rows. */
const RUNS = 500;
/** Of so many runs one waits for a person. */
const RUNS_PER_REVIEW = 5;
/** Users that are written at once: the storage groups them into one transaction. */
const AT_ONCE = 16;
const DAY_MS = 86_400_000;
const SPAN_MS = 30 * DAY_MS;
const TOOLS = ['memory_read', 'memory_read', 'memory_find', 'memory_write'] as const;
const quiet = { debug: none, info: none, warn: none, error: none };

/** The path below its user of the `n`th file: some folders, so that trees have something to roll up. */
export function fileAt(n: number, { users }: ConsoleSet): { userId: string; path: string } {
  const own = Math.floor(n / users);
  return { userId: `user-${n % users}`, path: `notes/${own % 10}/${own}.md` };
}

/** The path of the `n`th file of the user with the most files. */
export function largeFileAt(n: number): { userId: string; path: string } {
  return { userId: 'user-large', path: `log/${String(n).padStart(6, '0')}.md` };
}

/**
 * The directory of a database with that many files and log rows of the last 30 days. What the
 * console shows first is of today: a fixture is made anew on another day, and kept for this one.
 */
export async function openConsoleFixture(
  set: ConsoleSet,
  say: (text: string) => void,
): Promise<string> {
  const prefix = `console-${EDITION}-${set.users}-${set.files}-${set.accesses}-${set.largest}-`;
  const directory = path.join(CACHE, prefix + new Date().toISOString().slice(0, 10));
  if (existsSync(directory)) return directory;
  await mkdir(CACHE, { recursive: true });
  for (const name of await readdir(CACHE)) {
    if (name.startsWith(prefix)) await rm(path.join(CACHE, name), { recursive: true, force: true });
  }
  const partial = `${directory}.partial`;
  await mkdir(partial, { recursive: true });
  const { sqlite } = await importService();
  const { createStorage } = await importStores();
  const filename = path.join(partial, 'memory.db');
  const storage = createStorage(sqlite({ filename, synchronous: 'normal' }));
  await storage.init({ log: quiet, now: Date.now });
  const since = Date.now() - SPAN_MS;
  await writeFiles(storage, set, since, say);
  await writeLogs(storage, set, since, say);
  await writeRuns(storage, set, since);
  await storage.close();
  await rename(partial, directory);
  return directory;
}

/** Many files in one write: one by one, a hundred thousand of them take a quarter hour. */
async function writeFiles(
  storage: Storage,
  set: ConsoleSet,
  since: number,
  say: (text: string) => void,
): Promise<void> {
  for (let from = 0; from < set.users; from += AT_ONCE) {
    const users = range(from, Math.min(set.users, from + AT_ONCE));
    await Promise.all(
      users.map((user) => {
        const numbers = range(0, Math.ceil((set.files - user) / set.users)).map(
          (own) => user + own * set.users,
        );
        const timeOf = (n: number) => since + Math.floor((n / set.files) * SPAN_MS);
        const placeOf = (n: number) => fileAt(n, set);
        return writeFilesOf(storage, `user-${user}`, { numbers, placeOf, timeOf });
      }),
    );
    if ((from / AT_ONCE) % 10 === 0) say(`the files of ${from.toLocaleString('en-US')} users`);
  }
  for (let from = 0; from < set.largest; from += FILES_AT_ONCE) {
    await writeFilesOf(storage, largeFileAt(from).userId, {
      numbers: range(from, Math.min(set.largest, from + FILES_AT_ONCE)),
      placeOf: largeFileAt,
      timeOf: (n) => since + n,
    });
  }
}

async function writeFilesOf(
  storage: Storage,
  userId: string,
  {
    numbers,
    placeOf,
    timeOf,
  }: {
    numbers: readonly number[];
    placeOf: (n: number) => { path: string };
    timeOf: (n: number) => number;
  },
): Promise<void> {
  const scope: ScopeKey = `u:${userId}`;
  const keys = numbers.map((n) => ({ scope, path: placeOf(n).path }));
  await storage.mutate({ scopes: [scope], files: keys }, (current): Decision<null> => {
    let state = current.scope(scope);
    const files: FileState[] = [];
    const revisions: NewRevision[] = [];
    const access: AccessRecord[] = [];
    for (const [index, key] of keys.entries()) {
      const n = numbers[index] ?? 0;
      const at = timeOf(n);
      const decide = decideWrite(key, () => toNote(n), { at, id: makeId(at) });
      const { changes } = decide({ ...current, scope: () => state, file: () => null });
      state = changes.scopes?.[0] ?? state;
      files.push(...(changes.files ?? []));
      revisions.push(...(changes.revisions ?? []));
      // Ids are of the time that their rows tell, as the service's are.
      access.push(...(changes.access ?? []).map((row) => ({ ...row, id: makeId(at) })));
    }
    const changes = { scopes: [state], files, revisions, access };
    return { result: null, writes: files.length, changes };
  });
}

async function writeLogs(
  storage: Storage,
  set: ConsoleSet,
  since: number,
  say: (text: string) => void,
): Promise<void> {
  const rollUp = createRollUp(makeId(since));
  for (let from = 0; from < set.accesses; from += BATCH) {
    const to = Math.min(set.accesses, from + BATCH);
    const timeOf = (n: number) => since + Math.floor((n / set.accesses) * SPAN_MS);
    const access = range(from, to).map((n) => accessAt(n, timeOf(n), set));
    const events = range(from, to)
      .filter((n) => n % 2 === 0)
      .map((n) => eventAt(n, timeOf(n), set));
    await storage.log.append({ events, access, rollUp });
    if ((from / BATCH) % 5 === 0) say(`${to.toLocaleString('en-US')} log rows`);
  }
}

/** Dream runs, of which some wait for a person, each with the audit row of its start. */
async function writeRuns(storage: Storage, set: ConsoleSet, since: number): Promise<void> {
  for (const n of range(0, RUNS)) {
    const scope: ScopeKey = `u:user-${n % set.users}`;
    const at = since + Math.floor((n / RUNS) * SPAN_MS);
    const waiting = n % RUNS_PER_REVIEW === 0 ? 3 : 0;
    const run = dreamRunRow(scope, at, {
      id: makeId(at),
      state: 'completed',
      endedAt: at + 60_000,
      outcome: waiting > 0 ? 'waiting' : 'applied',
      waiting,
      isWaiting: waiting > 0,
      applied: 2,
      filesTouched: 1,
      filesRead: 20,
      writes: 2,
      inputTokens: 9_000,
      outputTokens: 700,
      model: 'scripted',
    });
    const audit: AuditRecord = {
      id: makeId(at),
      at,
      action: 'dream.run',
      target: scope.slice(2),
      details: { runId: run.id },
      operator: null,
      address: '127.0.0.1',
      traceId: null,
    };
    await storage.runs?.of('dreaming').update({ scope, runId: run.id }, ({ user }) => ({
      result: null,
      run,
      audit,
      user: {
        ...user,
        status: 'completed',
        runId: run.id,
        lastRunAt: at,
        runs: user.runs + 1,
        waiting: user.waiting + waiting,
      },
    }));
  }
}

function accessAt(n: number, at: number, set: ConsoleSet): AccessRecord {
  const random = scramble(n + 1);
  const file = fileAt(random % set.files, set);
  const fileNo = 1 + Math.floor((random % set.files) / set.users);
  const action = random % 9 === 0 ? 'write' : random % 4 === 0 ? 'find' : 'read';
  return accessRow(`u:${file.userId}`, {
    id: makeId(at),
    at,
    toolCallId: makeId(at),
    fileNo,
    path: file.path,
    actor: random % 5 === 0 ? 'support-agent' : 'agent',
    tool: `memory_${action}`,
    action,
    revisionId: null,
    rank: action === 'find' ? 1 + (random % 10) : null,
    outcome: random % 5_000 === 0 ? 'denied' : random % 60 === 0 ? 'not_found' : 'ok',
  });
}

function eventAt(n: number, at: number, set: ConsoleSet): EventRecord {
  const random = scramble(n);
  const tool = TOOLS[(random >>> 8) % TOOLS.length] ?? 'memory_read';
  const isError = random % 200 === 0;
  return eventRow(`u:user-${random % set.users}`, {
    id: makeId(at),
    startedAt: at,
    name: tool,
    tool,
    durationMs: 0.2 + (random % 4_000) / 100,
    status: isError ? 'error' : 'ok',
    errorCode: isError ? 'STORAGE_UNAVAILABLE' : null,
  });
}

function scramble(n: number): number {
  return Math.imul(n ^ (n >>> 15), 0x2c1b3c6d) >>> 0;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n);
}

function none(): void {
  // The storage says nothing here that matters.
}
