import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { startCommand } from '../support/command.ts';
import { post } from '../support/targets.ts';

const WRITES = process.env['MEMORY_TEST_RELEASE'] === undefined ? 12 : 100;
const LONG = { timeout: 300_000 };
const canTrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;
const INSTALL = 'apt-get install strace';

it('each acknowledgement comes after an fsync of its log (F2)', LONG, async (test) => {
  if (!canTrace) test.skip(INSTALL);
  expect(findUnsynced(await traceWrites({}))).toEqual([]);
});

it(
  'an acknowledgement without an fsync is seen, as by synchronous=normal (F2)',
  LONG,
  async (test) => {
    if (!canTrace) test.skip(INSTALL);
    expect(findUnsynced(await traceWrites({ synchronous: 'normal' }))).toHaveLength(WRITES);
  },
);

const markerOf = (write: number) => `marker-${String(write).padStart(4, '0')}`;

/** Has the service make its writes one by one; the system calls that it made, a line each. */
async function traceWrites(options: { synchronous?: 'normal' }): Promise<string[]> {
  const cwd = await mkdtemp(path.join(tmpdir(), 'memory-fsync-'));
  try {
    const storage = {
      plugin: 'storage-sqlite',
      options: { filename: path.join(cwd, 'memory.db'), ...options },
    };
    await writeFile(path.join(cwd, 'memory.config.json'), JSON.stringify({ storage }));
    const trace = path.join(cwd, 'trace');
    // -D: signals go to the service; -y: calls name their files; a page and an answer fit into -s.
    const strace = ['strace', '-D', '-f', '-qq', '-y', '-s', '5000', '-o', trace];
    const calls = ['-e', 'trace=write,writev,pwrite64,pwritev,sendto,fsync,fdatasync'];
    const service = await startCommand({ cwd, under: [...strace, ...calls] });
    for (let write = 0; write < WRITES; write += 1) {
      const args = { path: `user/${markerOf(write)}.md`, content: `${markerOf(write)}\n` };
      const answer = await post(service, { userId: 'alice', tool: 'memory_write', args });
      expect(answer.status).toBe('acknowledged');
    }
    expect((await service.stop()).code).toBe(0);
    return (await readFile(trace, 'latin1')).split('\n');
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

/** Writes whose answer was sent before an fsync that began after their page was in the log. */
function findUnsynced(lines: readonly string[]): string[] {
  const isLog = (line: string) => line.includes('memory.db-wal>');
  // A call that another thread's interrupts has two lines: it ends with the second one.
  const endOf = (at: number) => {
    const [, thread = '', call = ''] = /^(\d+)\s+(\w+)\(/.exec(lines[at] ?? '') ?? [];
    if (!lines[at]?.endsWith('<unfinished ...>')) return at;
    const rest = new RegExp(`^${thread}\\s+<\\.\\.\\. ${call} resumed>`);
    return lines.findIndex((line, index) => index > at && rest.test(line));
  };
  const unsynced: string[] = [];
  for (let write = 0; write < WRITES; write += 1) {
    const marker = markerOf(write);
    const page = lines.findIndex((line) => isLog(line) && line.includes(marker));
    const answer = lines.findIndex(
      (line) => line.includes('HTTP/1.1 200') && line.includes(marker),
    );
    if (page < 0 || answer < 0) throw new Error(`The trace has no ${marker}.`);
    const written = endOf(page);
    const sync = lines.findIndex(
      (line, index) => index > written && isLog(line) && /^\d+\s+f(?:data)?sync\(/.test(line),
    );
    if (sync < 0 || endOf(sync) > answer) unsynced.push(marker);
  }
  return unsynced;
}
