import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type RunningCommand, runCommand, startCommand } from '../support/command.ts';
import { post } from '../support/targets.ts';
import { temporaryDirectory } from '../support/service.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const ROUNDS = isRelease ? 20 : 1;
const WRITERS = 4;
/** Writes that each writer sends once the file is no longer the server's. */
const AFTERWARDS = 20;
const LONG = { timeout: ROUNDS * 60_000 };

interface Place {
  filename: string;
  /** A backup that the same server made. */
  copy: string;
}

const shell = (command: string, ...files: string[]) => void execFileSync(command, files);

/** What happens to the files of a running server, and whether its acknowledged writes must survive. */
const WAYS: Record<string, { change: (place: Place) => unknown; undo?: (place: Place) => void }> = {
  'removed (rm)': { change: ({ filename }) => shell('rm', filename) },
  'moved away (mv)': {
    change: ({ filename }) => shell('mv', filename, `${filename}.old`),
    undo: ({ filename }) => shell('mv', `${filename}.old`, filename),
  },
  'replaced by a copy (mv)': { change: ({ filename, copy }) => shell('mv', copy, filename) },
  'overwritten by a copy (cp)': { change: ({ filename, copy }) => shell('cp', copy, filename) },
  'emptied (truncate)': { change: ({ filename }) => truncate(filename, 0) },
  'left without its log (rm -wal)': {
    change: ({ filename }) => shell('rm', `${filename}-wal`),
    undo: () => undefined,
  },
  'left with an emptied log (truncate -wal)': {
    change: ({ filename }) => truncate(`${filename}-wal`, 0),
  },
  'given another log (cp, mv -wal)': {
    change: ({ filename }) => {
      shell('cp', `${filename}-wal`, `${filename}-wal.new`);
      shell('mv', `${filename}-wal.new`, `${filename}-wal`);
    },
  },
};

/**
 * test/plugins/storage-sqlite/open-files.test.ts tries each of them on the open database. So at each
 * push a service meets only those that differ to it: in what is left of its acknowledged writes.
 */
const ways = Object.entries(WAYS).filter(
  ([way, { undo }]) => isRelease || undo !== undefined || way === 'overwritten by a copy (cp)',
);

describe.each(ways)('a database file that is %s under its server', (_, way) => {
  it('acknowledges no write any more, is not ready, and says so once', LONG, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { service, place } = await startWithCopy();
      const acknowledged: string[] = [];
      let isChanged = false;
      let late = 0;
      const codes = new Set<string>();
      const write = async (name: string) => {
        const wasChanged = isChanged;
        const answer = await post(service, {
          userId: 'alice',
          tool: 'memory_write',
          args: { path: `user/${name}`, content: `This is ${name}.\n` },
        });
        if (answer.status === 'refused') codes.add(answer.code);
        if (answer.status !== 'acknowledged') return;
        acknowledged.push(name);
        if (wasChanged) late += 1;
      };
      const writers = Array.from({ length: WRITERS }, async (__, writer) => {
        for (let n = 0; !isChanged; n += 1) await write(`before-${writer}-${n}.md`);
        for (let n = 0; n < AFTERWARDS; n += 1) await write(`after-${writer}-${n}.md`);
      });
      await expect.poll(() => acknowledged.length).toBeGreaterThan(20);
      await way.change(place);
      isChanged = true;
      await Promise.all(writers);
      expect(late).toBe(0);
      expect([...codes]).toEqual(['STORAGE_DAMAGED']);

      const ready = await fetch(`${service.url}/readyz`);
      expect(ready.status).toBe(500);
      expect(await ready.json()).toMatchObject({
        error: { code: 'STORAGE_DAMAGED', retryable: false },
      });
      // What can be logged no longer is not read, either.
      const read = await post(service, {
        userId: 'alice',
        tool: 'memory_read',
        args: { path: 'user/first.md' },
      });
      expect(read).toMatchObject({ status: 'refused', code: 'STORAGE_DAMAGED' });
      const { stderr } = await service.stop();
      expect(stderr.split('while it was open. The service is not ready')).toHaveLength(2);

      if (way.undo === undefined) continue;
      way.undo(place);
      await expectAll(place, acknowledged);
    }
  });

  it('is found by /readyz where nobody writes', async () => {
    const { service, place } = await startWithCopy();
    await expect.poll(async () => (await fetch(`${service.url}/readyz`)).status).toBe(200);
    await way.change(place);
    const ready = await fetch(`${service.url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([
      500,
      { error: { code: 'STORAGE_DAMAGED' } },
    ]);
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  });
});

/** A memory with a file, and a copy of it that `memory-service backup` made of the running server. */
let template: string;

beforeAll(async () => {
  template = await mkdtemp(path.join(tmpdir(), 'memory-replaced-'));
  const service = await startCommand({ cwd: template });
  const args = { path: 'user/first.md', content: 'first\n' };
  await post(service, { userId: 'alice', tool: 'memory_write', args });
  const backup = await runCommand({ cwd: template, args: ['backup', 'copy.db'] });
  expect(backup.code).toBe(0);
  expect((await service.stop()).code).toBe(0);
  return () => rm(template, { recursive: true, force: true });
});

/** A server on that memory, and the copy. */
async function startWithCopy(): Promise<{ service: RunningCommand; place: Place }> {
  const cwd = await temporaryDirectory();
  await cp(template, cwd, { recursive: true });
  const service = await startCommand({ cwd });
  onTestFinished(() => void service.stop('SIGKILL'));
  const place = { filename: path.join(cwd, 'data', 'memory.db'), copy: path.join(cwd, 'copy.db') };
  return { service, place };
}

/** The next server has every write that was acknowledged. */
async function expectAll({ filename }: Place, acknowledged: readonly string[]): Promise<void> {
  expect(existsSync(filename)).toBe(true);
  const cwd = path.dirname(path.dirname(filename));
  const service = await startCommand({ cwd });
  onTestFinished(() => void service.stop('SIGKILL'));
  for (const name of acknowledged) {
    const args = { path: `user/${name}` };
    const answer = await post(service, { userId: 'alice', tool: 'memory_read', args });
    expect([name, answer.status]).toEqual([name, 'acknowledged']);
  }
  await service.stop();
  const { stdout } = await runCommand({ cwd, args: ['verify'] });
  expect(stdout).toContain('Nothing is wrong');
}
