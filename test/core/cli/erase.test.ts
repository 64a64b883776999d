import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EraseAnswer, RedactAnswer } from '../../../core/contracts/admin.ts';
import { createCore } from '../../../core/service.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { call } from '../../support/service.ts';
import { filledDatabase } from './maintenance.ts';
import { sqlite } from '../../support/databases.ts';

const CANARY = 'canary-5d2c';

/** The bytes of the database and of what stands beside it. */
async function filesOf(database: string): Promise<string> {
  const read = (name: string) => readFile(name).catch(() => Buffer.alloc(0));
  const files = [database, `${database}-wal`, `${database}-shm`, `${database}-journal`];
  return Buffer.concat(await Promise.all(files.map(read))).toString('latin1');
}

/** A stopped database with the canary in alice's memory: now, and in an earlier version. */
async function planted() {
  const { cwd } = await filledDatabase();
  const filename = join(cwd, 'data/memory.db');
  const core = createCore({ storage: sqlite({ filename }) });
  await core.ready();
  const write = (content: string) =>
    call(core, 'alice', 'memory_write', { path: `user/${CANARY}.md`, content, reason: CANARY });
  const { result } = await write(`${`${CANARY} `.repeat(2_000)}\n`);
  await write(`two ${CANARY}\n`);
  await call(core, 'alice', 'memory_find', { query: CANARY });
  await core.indexer.drain();
  await core.close();
  const run = (...args: string[]) => runCommand({ cwd, args });
  return { cwd, filename, run, revisionId: String(result['revisionId']) };
}

describe('memory-service erase', () => {
  it('shows what it would remove, removes it with --yes, and leaves nothing in the file', async () => {
    const { filename, run } = await planted();
    const preview = await run('erase', 'alice');
    expect([preview.code, preview.stderr]).toEqual([0, '']);
    expect(preview.stdout).toMatch(/^Would erase alice:\n {2}Files, deleted ones too +\d+\n/);
    expect(preview.stdout).not.toContain('svc_');
    expect(preview.stdout).toContain('Run it again with --yes');
    expect(await filesOf(filename)).toContain(CANARY);
    const done = await run('erase', 'alice', '--yes');
    expect([done.code, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toMatch(/^Erased alice at .*Z:\n/);
    expect(done.stdout).toContain('Rows left: none\n');
    expect(done.stdout).toMatch(/The history ended in [0-9a-f]{64}\.\n/);
    expect(await filesOf(filename)).not.toContain(CANARY);
    expect((await run('verify')).code).toBe(0);
  });

  it('is done by the server that runs, whose log of the database is emptied', async () => {
    const { cwd, filename, run } = await planted();
    const server = await startCommand({ cwd });
    const done = await run('erase', 'alice', '--yes');
    expect([done.code, done.stderr]).toEqual([0, '']);
    expect(await filesOf(filename)).not.toContain(CANARY);
    const unknown = await run('erase', 'nobody', '--yes');
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain('There never was any memory of nobody.');
    const vacuumed = await run('vacuum');
    expect([vacuumed.code, vacuumed.stdout]).toEqual([0, 'The database file has no free pages.\n']);
    expect(await server.stop()).toMatchObject({ code: 0 });
    expect((await run('verify')).code).toBe(0);
  });
});

describe('memory-service redact', () => {
  it('shows which revisions lose content, and takes it out with --yes', async () => {
    const { filename, run, revisionId } = await planted();
    const preview = await run('redact', revisionId);
    expect(preview.stdout).toContain(`version 1 (${revisionId}) loses the content after it\n`);
    const before = (await filesOf(filename)).split(`${CANARY} ${CANARY}`).length;
    expect(before).toBeGreaterThan(1);
    const done = await run('redact', revisionId, '--yes', '--reason=a test');
    expect([done.code, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toMatch(/^Redacted users\/alice\//);
    expect((await filesOf(filename)).split(`${CANARY} ${CANARY}`)).toHaveLength(1);
    expect((await run('verify')).code).toBe(0);
  });

  it('prints with --json what the admin API answers, and so does erase', async () => {
    const { run, revisionId } = await planted();
    const parse = async (...args: string[]) =>
      JSON.parse((await run(...args, '--json')).stdout) as unknown;
    const redaction = {
      unchanged: false,
      peers: [],
      revisions: expect.arrayContaining([
        { id: revisionId, version: 1, loses: 'after' },
      ]) as unknown,
    };
    expect(await parse('redact', revisionId)).toMatchObject({ ...redaction, dryRun: true });
    expect(await parse('redact', revisionId, '--yes')).toMatchObject({
      ...redaction,
      dryRun: false,
    });
    expect(await parse('erase', 'alice')).toMatchObject({ dryRun: true, erasedAt: null });
    expect(await parse('erase', 'alice', '--yes')).toMatchObject({
      dryRun: false,
      userId: 'alice',
      left: {},
      chainHead: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    });
  });

  it('says why it can not', async () => {
    const { run } = await planted();
    const { code, stderr } = await run('redact', '01a20000-0000-7000-8000-000000000001', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('revision');
  });
});

describe('the copies of a database beside it', () => {
  const OWN = ['memory.db.schema-3.backup', 'memory.db.schema-9.backup.partial-journal'];
  const OTHERS = ['memory.db.bak', 'memory.db.schema-3.backup.mine', 'notes.db'];

  it('are named in receipts, and removed when asked if the service made them', async () => {
    const { filename, run, revisionId } = await planted();
    const directory = dirname(filename);
    for (const name of [...OWN, ...OTHERS]) await copyFile(filename, join(directory, name));
    await writeFile(join(directory, 'memory.db.txt'), CANARY);
    // A backup made there, under a name of the operator's choice.
    const made = await run('backup', join(directory, 'friday.db'));
    expect([made.code, made.stderr]).toEqual([0, '']);
    const names = ['friday.db', 'memory.db.bak', OWN[0], 'memory.db.schema-3.backup.mine', OWN[1]];

    const preview = await run('redact', revisionId, '--json');
    const { copies } = JSON.parse(preview.stdout) as RedactAnswer;
    expect(copies.map(({ name }) => name)).toEqual(names);
    expect(copies.every(({ removed, bytes }) => !removed && bytes > 0)).toBe(true);
    const redacted = await run('redact', revisionId, '--yes');
    expect(redacted.stdout).toContain('friday.db (');
    expect(redacted.stdout).toContain('--remove-copies removes those that the service made.');
    expect(existsSync(join(directory, 'friday.db'))).toBe(true);

    const dry = await run('erase', 'alice', '--remove-copies');
    expect(dry.stdout).toContain('memory.db.bak (');
    expect(existsSync(join(directory, 'friday.db'))).toBe(true);
    const done = await run('erase', 'alice', '--yes', '--remove-copies', '--json');
    const receipt = JSON.parse(done.stdout) as EraseAnswer;
    expect(receipt.copies.map(({ name, removed }) => [name, removed])).toEqual(
      names.map((name) => [name, name === 'friday.db' || OWN.includes(name ?? '')]),
    );
    const left = (await readdir(directory)).filter((name) => name !== 'secrets.json').sort();
    expect(left).toEqual(['memory.db', 'memory.db.txt', ...OTHERS, 'memory.db.owner'].sort());
  });

  it('are left alone once somebody has written to them', async () => {
    const { filename, run } = await planted();
    const backup = join(dirname(filename), 'friday.db');
    await run('backup', backup);
    await appendFile(backup, 'more');
    const done = await run('erase', 'alice', '--yes', '--remove-copies', '--json');
    expect((JSON.parse(done.stdout) as EraseAnswer).copies).toEqual([]);
    expect(existsSync(backup)).toBe(true);
  });
});

describe('memory-service release', () => {
  it.each([
    { scope: 'u:alice', args: ['alice'], name: 'alice' },
    { scope: 's:acme', args: ['acme', '--space'], name: 'spaces/acme/' },
  ] as const)('ends a restore of $scope that has stalled', async ({ scope, args, name }) => {
    const { filename, run } = await planted();
    // As a process leaves it that died a minute ago.
    const now = () => Date.now() - 60_000;
    const core = createCore({ storage: sqlite({ filename }), now });
    await core.ready();
    const hold = {
      scope,
      kind: 'restore' as const,
      id: randomUUID(),
      progressAt: now(),
      details: { at: now(), path: '' },
    };
    const options = { reason: '', target: name, qualifies: false };
    const held = { hold, step: 'take' as const };
    await core.files.restore([], { ...options, held }, { address: null, traceId: null });
    await core.close();
    const released = await run('release', ...args);
    expect([released.code, released.stderr]).toEqual([0, '']);
    expect(released.stdout).toContain(`Released ${name}: `);
    const again = await run('release', ...args);
    expect([again.code, again.stdout]).toEqual([1, '']);
    expect(again.stderr).toContain(`No restore holds the memory of ${name}.`);
  });
});

it('memory-service vacuum leaves a database that is whole', async () => {
  const { run } = await planted();
  await run('erase', 'alice', '--yes');
  const { code, stdout, stderr } = await run('vacuum');
  expect([code, stdout, stderr]).toEqual([0, 'The database file has no free pages.\n', '']);
  expect((await run('verify')).code).toBe(0);
});
