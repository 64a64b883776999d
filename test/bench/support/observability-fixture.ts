import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { AccessRecord, EventRecord } from '../../../core/contracts/records.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import { createRollUp } from '../../../core/telemetry/rollups/rollups.ts';
import { accessRow, eventRow, makeId, makeTraceId, write } from '../../support/rows.ts';
import { toNote } from './notes.ts';
import { importService, importStores } from './service.ts';

/** What a fixture of logs has. */
export interface LogSet {
  users: number;
  events: number;
  accesses: number;
}

/** The month that all rows lie in. */
export const MONTH = { since: Date.UTC(2026, 0, 1), until: Date.UTC(2026, 0, 31) } as const;

/** Every fifth call is this user's; the others share the rest. */
export const BUSIEST = 'user-0';
/** Has {@link FILES} memory files, those that its access rows name. */
export const READER = 'user-7';
/** One of those who call now and then. */
export const CALLER = 'user-10';
/** Has so many memory files that a check of them takes long. */
export const COLLECTOR = 'user-8';

/** What the fixture has one of. */
export const KNOWN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  toolCallId: '019b7000-0000-7000-8000-000000000002',
  /** Was read a thousand times, and is pruned. */
  prunedRevisionId: '019b7000-0000-7000-8000-000000000001',
  /** Was read as often, and is what the file holds. */
  revisionId: '019b7000-0000-7000-8000-000000000003',
} as const;

/** Raised with each change of what is written, so that no older fixture is taken. */
const EDITION = 2;
const CACHE = path.resolve(import.meta.dirname, '../.cache');
const BATCH = 4_000;
const FILES = 20;
const COLLECTED_FILES = 1_000;
const TOOLS = ['memory_read', 'memory_read', 'memory_find', 'memory_write', 'memory_list'] as const;
const CODES = ['FILE_NOT_FOUND', 'VERSION_CONFLICT', 'STORAGE_UNAVAILABLE'] as const;
const ACTORS = ['agent', 'agent', 'agent', 'support-bot', 'dream-agent'] as const;
const quiet = { debug: none, info: none, warn: none, error: none };

/**
 * The directory of a database with that many events and access rows, written by the service's own
 * storage with its roll-ups. It is made once and kept: two million events take some minutes.
 */
export async function openLogFixture(set: LogSet, say: (text: string) => void): Promise<string> {
  const { sqlite } = await importService();
  const { createStorage } = await importStores();
  const name = `logs-${EDITION}-${set.users}-${set.events}-${set.accesses}`;
  const directory = path.join(CACHE, name);
  if (existsSync(directory)) return directory;

  const partial = `${directory}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  const filename = path.join(partial, 'memory.db');
  const storage = createStorage(sqlite({ filename, synchronous: 'normal' }));
  await storage.init({ log: quiet, now: Date.now });
  await writeFiles(storage);
  const rollUp = createRollUp(makeId(MONTH.since));
  const length = MONTH.until - MONTH.since;
  for (let from = 0; from < set.events; from += BATCH) {
    const to = Math.min(set.events, from + BATCH);
    const timeOf = (n: number, of: number) => MONTH.since + Math.floor((n / of) * length);
    const events = range(from, to).map((n) => eventAt(n, timeOf(n, set.events), set));
    const share = set.accesses / set.events;
    const access = range(Math.floor(from * share), Math.floor(to * share)).map((n) =>
      accessAt(n, timeOf(n, set.accesses), set),
    );
    await storage.log.append({ events, access, rollUp });
    if ((from / BATCH) % 50 === 0) say(`${from.toLocaleString('en-US')} events written`);
  }
  await storage.close();
  await rename(partial, directory);
  return directory;
}

async function writeFiles(storage: Storage): Promise<void> {
  for (const [userId, files] of [
    [READER, FILES],
    [COLLECTOR, COLLECTED_FILES],
  ] as const) {
    for (let fileNo = 1; fileNo <= files; fileNo += 1) {
      const id = userId === READER && fileNo === 1 ? KNOWN.revisionId : makeId(MONTH.since);
      const key = { scope: `u:${userId}`, path: `notes/${fileNo}.md` } as const;
      await write(storage, key, toNote(fileNo), { at: MONTH.since, id });
    }
  }
}

function eventAt(n: number, at: number, set: LogSet): EventRecord {
  const random = scramble(n);
  const isError = random % 50 === 0;
  const tool = TOOLS[(random >>> 8) % TOOLS.length] ?? 'memory_read';
  const isKnown = n === Math.floor(set.events / 2);
  return eventRow(`u:${userOf(random, set)}`, {
    id: makeId(at),
    startedAt: at,
    name: tool,
    tool,
    // Some in a thousand are slow.
    durationMs: (random >>> 4) % 400 === 0 ? 1_000 + (random % 500) : 0.2 + (random % 4_000) / 100,
    status: isError ? 'error' : 'ok',
    errorCode: isError ? (CODES[(random >>> 16) % CODES.length] ?? null) : null,
    ...(isKnown ? { traceId: KNOWN.traceId, toolCallId: KNOWN.toolCallId } : {}),
  });
}

function accessAt(n: number, at: number, set: LogSet): AccessRecord {
  const random = scramble(n + 1);
  const fileNo = 1 + ((random >>> 7) % FILES);
  const action = random % 9 === 0 ? 'write' : random % 4 === 0 ? 'find' : 'read';
  const common = { id: makeId(at), at, toolCallId: makeId(at), traceId: makeTraceId() };
  if (n % 1_000 === 0) {
    const isPruned = n % 2_000 === 0;
    return accessRow(`u:${READER}`, {
      ...common,
      fileNo: 1,
      path: 'notes/1.md',
      revisionId: isPruned ? KNOWN.prunedRevisionId : KNOWN.revisionId,
    });
  }
  return accessRow(`u:${userOf(random, set)}`, {
    ...common,
    fileNo,
    path: `notes/${fileNo}.md`,
    actor: ACTORS[(random >>> 11) % ACTORS.length] ?? 'agent',
    tool: `memory_${action}`,
    action,
    revisionId: makeId(at),
    rank: action === 'find' ? 1 + (random % 10) : null,
    outcome: random % 50 === 0 ? 'not_found' : 'ok',
  });
}

function userOf(random: number, { users }: LogSet): string {
  return (random >>> 3) % 5 === 0 ? BUSIEST : `user-${random % users}`;
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
