import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { AccessRecord, EventRecord } from '../../../core/contracts/records.ts';
import { createRollUp } from '../../../core/memory/observability/rollups.ts';
import { accessRow, eventRow, makeId } from '../../../core/testing/rows.ts';
import { importService } from './service.ts';

/** What a fixture of logs has. */
export interface LogSet {
  users: number;
  events: number;
  accesses: number;
}

/** The month that all rows lie in. */
export const MONTH = { since: Date.UTC(2026, 0, 1), until: Date.UTC(2026, 0, 31) } as const;

const CACHE = path.resolve(import.meta.dirname, '../.cache');
const BATCH = 4_000;
const FILES = 20;
const TOOLS = ['memory_read', 'memory_read', 'memory_find', 'memory_write', 'memory_list'] as const;
const CODES = ['FILE_NOT_FOUND', 'VERSION_CONFLICT', 'STORAGE_UNAVAILABLE'] as const;
const quiet = { debug: none, info: none, warn: none, error: none };

/**
 * The directory of a database with that many events and access rows, written by the service's own
 * storage with its roll-ups. It is made once and kept: two million events take some minutes.
 */
export async function openLogFixture(
  set: LogSet,
  say: (text: string) => void,
): Promise<{ directory: string; revisionId: string }> {
  const revisionId = makeRevisionId();
  const { sqlite } = await importService();
  const probe = sqlite({ filename: ':memory:' });
  await probe.init({ log: quiet, now: Date.now });
  const { schemaVersion } = await probe.describe();
  await probe.close();
  const name = `logs-${schemaVersion}-${set.users}-${set.events}-${set.accesses}`;
  const directory = path.join(CACHE, name);
  if (existsSync(directory)) return { directory, revisionId };

  const partial = `${directory}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  const filename = path.join(partial, 'memory.db');
  const storage = sqlite({ filename, synchronous: 'normal' });
  await storage.init({ log: quiet, now: Date.now });
  const rollUp = createRollUp(makeId(MONTH.since));
  const length = MONTH.until - MONTH.since;
  for (let from = 0; from < set.events; from += BATCH) {
    const to = Math.min(set.events, from + BATCH);
    const timeOf = (n: number, of: number) => MONTH.since + Math.floor((n / of) * length);
    const events = range(from, to).map((n) => eventAt(n, timeOf(n, set.events), set));
    const share = set.accesses / set.events;
    const access = range(Math.floor(from * share), Math.floor(to * share)).map((n) =>
      accessAt(n, timeOf(n, set.accesses), set, revisionId),
    );
    await storage.log.append({ events, access, rollUp });
    if ((from / BATCH) % 50 === 0) say(`${from.toLocaleString('en-US')} events written`);
  }
  await storage.close();
  await rename(partial, directory);
  return { directory, revisionId };
}

function eventAt(n: number, at: number, set: LogSet): EventRecord {
  const random = scramble(n);
  const isError = random % 50 === 0;
  return eventRow(`u:user-${random % set.users}`, {
    id: makeId(at),
    startedAt: at,
    tool: TOOLS[(random >>> 8) % TOOLS.length] ?? 'memory_read',
    // Some in a thousand are slow.
    durationMs: (random >>> 4) % 400 === 0 ? 1_000 + (random % 500) : 0.2 + (random % 4_000) / 100,
    status: isError ? 'error' : 'ok',
    errorCode: isError ? (CODES[(random >>> 16) % CODES.length] ?? null) : null,
  });
}

function accessAt(n: number, at: number, set: LogSet, revisionId: string): AccessRecord {
  const random = scramble(n + 1);
  const fileNo = 1 + ((random >>> 7) % FILES);
  return accessRow(`u:user-${random % set.users}`, {
    id: makeId(at),
    at,
    fileNo,
    path: `notes/${fileNo}.md`,
    action: random % 9 === 0 ? 'write' : random % 4 === 0 ? 'find' : 'read',
    revisionId: n % 1_000 === 0 ? revisionId : null,
  });
}

function makeRevisionId(): string {
  return '019b7000-0000-7000-8000-000000000001';
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
