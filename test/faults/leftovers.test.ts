import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { spoolArchive } from '../../core/archive/spool.ts';
import { makeTemporaryFolder, preparePartial } from '../../core/maintenance/temporary-folders.ts';
import { exportAll } from '../core/archive/archives.ts';
import { call, openCore, temporaryDirectory } from '../support/service.ts';
import { sqlite } from '../support/databases.ts';

const CANARY = 'canary-of-the-archive';

/** A temporary folder of the machine for this test alone. */
async function useOwnTemporaryFolder(): Promise<string> {
  const directory = await temporaryDirectory();
  vi.stubEnv('TMPDIR', directory);
  onTestFinished(() => void vi.unstubAllEnvs());
  return directory;
}

async function makeArchive(): Promise<Buffer> {
  const core = await openCore();
  for (let file = 0; file < 20; file += 1) {
    await call(core, 'alice', 'memory_write', { path: `user/${file}.md`, content: CANARY });
  }
  return await exportAll(core);
}

/** The name of a folder that a process with this pid and start would make, in this place. */
async function nameOf(pid: number, start: string): Promise<string> {
  const folder = await makeTemporaryFolder('import');
  await folder.remove();
  return folder.path.replace(/-\d+-\d+-\w{6}$/, `-${pid}-${start}-abcdef`);
}

describe('an archive of an import that was killed with kill -9', () => {
  it.each([0, 0.01, 0.5, 0.99, 1, 3, 12, 99])(
    'at point %d is removed at the next start',
    async (point) => {
      const temporary = await useOwnTemporaryFolder();
      const directory = await temporaryDirectory();
      const file = join(directory, 'memory.tar.gz');
      await writeFile(file, await makeArchive());
      const database = join(directory, 'memory.db');
      const script = fileURLToPath(new URL('spooler.mjs', import.meta.url));
      const args = [script, database, file, String(point)];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      expect(signal).toBe('SIGKILL');
      const [left = '', ...others] = await readdir(temporary);
      expect(others).toEqual([]);
      expect(left).toContain('memory-service-import-');
      expect((await stat(join(temporary, left))).mode & 0o777).toBe(0o700);
      const archive = join(temporary, left, 'archive.tar.gz');
      if (existsSync(archive)) expect((await stat(archive)).mode & 0o777).toBe(0o600);

      await openCore({ storage: sqlite({ filename: database }) });
      expect(await readdir(temporary)).toEqual([]);
    },
  );

  it('is removed by another service on the machine, and by the next import', async () => {
    const temporary = await useOwnTemporaryFolder();
    const ended = spawn(process.execPath, ['-e', '']);
    await once(ended, 'exit');
    await mkdir(await nameOf(ended.pid ?? 0, '1'), { recursive: true });
    await openCore();
    expect(await readdir(temporary)).toEqual([]);
    await mkdir(await nameOf(ended.pid ?? 0, '1'), { recursive: true });
    const spool = await spoolArchive((async function* () {})());
    expect(await readdir(temporary)).toHaveLength(1);
    await spool.remove();
    expect(await readdir(temporary)).toEqual([]);
  });
});

describe('a start', () => {
  it('removes the folder of a process whose pid another process has now', async () => {
    const temporary = await useOwnTemporaryFolder();
    await mkdir(await nameOf(process.pid, '1'), { recursive: true });
    await openCore();
    expect(await readdir(temporary)).toEqual([]);
  });

  it('leaves alone the folders of living processes, of other containers, links and foreign names', async () => {
    const temporary = await useOwnTemporaryFolder();
    const elsewhere = await temporaryDirectory();
    await writeFile(join(elsewhere, 'kept.md'), 'kept');
    const own = await makeTemporaryFolder('import');
    const gone = await nameOf(2 ** 22 + 1, '1');
    const ofContainer = gone.replace(/import-[0-9a-f]{12}/, `import-${'0'.repeat(12)}`);
    await mkdir(ofContainer);
    await symlink(elsewhere, gone);
    await mkdir(join(temporary, 'memory-service-import-mine'));
    await mkdir(join(temporary, 'other-program'));
    const before = await readdir(temporary);
    await openCore();
    expect(await readdir(temporary)).toEqual(before);
    expect(await readdir(elsewhere)).toEqual(['kept.md']);

    // A living process touches its folder; one of another container that does not is gone.
    const hourAgo = new Date(Date.now() - 3_600_000);
    await utimes(ofContainer, hourAgo, hourAgo);
    await openCore();
    expect(existsSync(ofContainer)).toBe(false);
    await own.remove();
  });

  it('removes what a killed backup and a killed migration left beside the database', async () => {
    const directory = await temporaryDirectory();
    const filename = join(directory, 'memory.db');
    for (const name of ['copy-01900000-0000-7000-8000-000000000000', 'schema-3.backup.partial']) {
      await writeFile(`${filename}.${name}`, CANARY);
    }
    const kept = ['memory.db.schema-3.backup', 'memory.db.mine', 'other.db.copy-1'];
    for (const name of kept) await writeFile(join(directory, name), CANARY);
    const core = await openCore({ storage: sqlite({ filename }) });
    await core.close();
    const names = (await readdir(directory)).filter((name) => /copy|backup|mine/.test(name));
    expect(names.sort()).toEqual([...kept].sort());
  });
});

it('a file on its way to its place is removed by the next one to the same place', async () => {
  const directory = await temporaryDirectory();
  const target = join(directory, 'memory.tar.gz');
  const living = await preparePartial(target);
  await writeFile(living, 'x');
  const dead = living.replace(/-\d+-\d+$/, '-4194305-1');
  await writeFile(dead, 'x');
  await writeFile(`${dead}-mine`, 'x');
  expect(await preparePartial(target)).toBe(living);
  expect(existsSync(dead)).toBe(false);
  expect((await readdir(directory)).length).toBe(2);
});

it('the receipts of an erasure and of a redaction name what is still there', async () => {
  await useOwnTemporaryFolder();
  const directory = await temporaryDirectory();
  const filename = join(directory, 'memory.db');
  const core = await openCore({ storage: sqlite({ filename }) }, { erasureLookMs: 1 });
  const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
  await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'secret' });
  await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'no secret' });
  const copy = `${filename}.copy-01900000-0000-7000-8000-000000000000`;
  await writeFile(copy, CANARY);
  const spool = await spoolArchive((async function* () {})());
  const first = await core.storage.revisions.ofVersion({ scope: 'u:alice', path: 'a.md' }, 1);
  const redacted = await core.revisions.redact(first?.id ?? '', { reason: 'x' }, operator);
  const erase = () => core.erasures.erase({ userId: 'alice' }, { confirm: 'alice' }, operator);
  for (const { mayRemain, copies } of [redacted, await erase()]) {
    expect(copies.map(({ name }) => join(directory, name))).toContain(copy);
    expect(mayRemain.filter((line) => line.includes('/memory-service-import-'))).toHaveLength(1);
  }
  await spool.remove();
  expect((await erase()).mayRemain.join()).not.toContain('/memory-service-import-');
});
