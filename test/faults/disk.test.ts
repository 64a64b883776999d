import { spawnSync } from 'node:child_process';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { MemoryError } from '../../core/errors.ts';
import { loadSqliteModule } from '../../plugins/storage-sqlite/drivers/load.ts';
import type { SqliteConnection } from '../../plugins/storage-sqlite/connection.ts';
import { type RunningCommand, runCommand, startCommand } from '../support/command.ts';
import { type AcknowledgedWrite, findViolations, toLines } from '../support/invariants.ts';
import { createDatabase, freePort, startMariadb } from '../support/mariadb-server.ts';
import { rejection } from '../support/rejection.ts';
import { call, openCore, temporaryDirectory } from '../support/service.ts';
import { mysql, sqlite } from '../support/databases.ts';

const ROUNDS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 1 : 20;
const LONG = { timeout: ROUNDS * 60_000 };
/** A MariaDB of a few megabytes, whose tables alone grow. */
const SMALL = [
  '--innodb-log-file-size=8M',
  '--innodb-temp-data-file-path=ibtmp1:5M:autoextend',
  '--innodb-data-file-path=ibdata1:10M:autoextend',
  '--innodb-log-write-ahead-size=512',
  '--aria-log-file-size=8M',
];

/** Reads that name a file that is there. */
const READS = [
  ['memory_read', { path: 'user/first.md' }],
  ['memory_find', { query: 'first' }],
  ['memory_context', { query: 'first' }],
  ['memory_list', {}],
] as const;

const canMount = process.getuid?.() === 0 && process.platform === 'linux';

describe('a full disk (F3)', () => {
  it(
    'refuses writes with 507, serves reads, and writes again without a restart',
    LONG,
    async (test) => {
      if (!canMount) test.skip('sudo npm test -- test/faults/disk');
      const disk = await mountDisk('16m');
      const service = await startCommand({ cwd: disk });
      onTestFinished(() => void service.stop('SIGKILL'));
      const filename = path.join(disk, 'data', 'memory.db');
      const acknowledged: AcknowledgedWrite[] = [];
      const write = (name: string) => writeFile(service, acknowledged, name);
      expect((await write('first.md')).status).toBe(200);

      for (let round = 0; round < ROUNDS; round += 1) {
        fillDisk(path.join(disk, 'filler'));
        // The log may have room of its own left.
        let refused = await write(`full-${round}-0.md`);
        for (let n = 1; refused.status === 200; n += 1)
          refused = await write(`full-${round}-${n}.md`);
        expect(refused.status).toBe(507);
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(await refused.json()).toMatchObject({
          error: { code: 'STORAGE_FULL', retryable: true },
        });

        for (const [tool, args] of READS) {
          const response = await execute(service, tool, args);
          expect([tool, response.status]).toEqual([tool, 200]);
          expect(await response.text()).toContain('first.md');
        }
        for (const route of ['/v1/admin/files', '/v1/admin/revisions', '/v1/admin/access-logs']) {
          const headers = { 'x-admin-secret': service.adminSecret };
          expect([route, (await fetch(service.url + route, { headers })).status]).toEqual([
            route,
            200,
          ]);
        }
        expect(toLines(await findViolations(filename, { acknowledged }))).toEqual([]);

        await rm(path.join(disk, 'filler'));
        expect((await write(`room-${round}.md`)).status).toBe(200);
        expect(toLines(await findViolations(filename, { acknowledged }))).toEqual([]);
      }

      // The access rows of the reads that the full disk held up are there in the end.
      expect((await service.stop()).code).toBe(0);
      expect(await countReads(filename)).toBe(ROUNDS);
    },
  );

  it('is met in the same way where SQLite itself limits the file', async () => {
    const { core, set } = await openWithPragma();
    await call(core, 'alice', 'memory_write', { path: 'user/tea.md', content: 'green tea' });
    await set('pragma max_page_count = 1');
    const large = { path: 'user/large.md', content: 'large '.repeat(20_000) };
    const error = await rejection(call(core, 'alice', 'memory_write', large));
    expect([error.code, error.status]).toEqual(['STORAGE_FULL', 507]);
    expect((await call(core, 'alice', 'memory_find', { query: 'tea' })).result).toMatchObject({
      results: [{ path: 'user/tea.md' }],
    });
    await set('pragma max_page_count = 1073741823');
    await call(core, 'alice', 'memory_write', large);
  });
});

describe('a full disk below MariaDB (F3)', () => {
  it(
    'refuses writes with 507, serves reads, and writes again without a restart',
    LONG,
    async (test) => {
      if (!canMount) test.skip('sudo npm test -- test/faults/disk');
      const disk = await mountDisk('96m');
      const start = () => startMariadb({ directory: disk, port, flags: SMALL, dataFlags: SMALL });
      const port = await freePort();
      let server = await start();
      const url = await createDatabase(server.port);
      const core = await openCore({ storage: mysql({ url }) });
      onTestFinished(() => server.end('SIGKILL'));
      const acknowledged: AcknowledgedWrite[] = [];
      const write = async (name: string) => {
        // Of more than fits into a row, MariaDB 10.11 cannot take back what a full disk cut off, and
        // ends itself.
        const content = `# ${name}\n${'Some text to fill a page. '.repeat(200)}\n`;
        const { result } = await call<{ version: number; revisionId: string }>(
          core,
          'alice',
          'memory_write',
          { path: `user/${name}`, content },
        );
        acknowledged.push({ ...result, userId: 'alice', path: name, content });
      };
      await write('first.md');
      let ended = 0;

      for (let round = 0; round < ROUNDS; round += 1) {
        fillDisk(path.join(disk, 'filler'));
        // The tables may have room of their own left.
        let refused: MemoryError | null = null;
        for (let n = 0; refused === null; n += 1) {
          refused = await write(`full-${round}-${n}.md`).then(
            () => null,
            (error: unknown) => error as MemoryError,
          );
        }
        expect(refused.retryAfterSeconds).toBeGreaterThan(0);
        if (refused.code === 'STORAGE_UNAVAILABLE') {
          // What MariaDB can not take back on a full disk, it ends itself for.
          await vi.waitUntil(() => server.hasEnded, { timeout: ROUNDS * 60_000 });
          await rm(path.join(disk, 'filler'));
          server = await start();
          ended += 1;
        } else {
          expect([refused.code, refused.status]).toEqual(['STORAGE_FULL', 507]);
          for (const [tool, args] of READS) {
            const { result } = await call(core, 'alice', tool, args);
            expect(JSON.stringify(result)).toContain('first.md');
          }
          expect(toLines(await findViolations(url, { acknowledged }))).toEqual([]);
          await rm(path.join(disk, 'filler'));
        }
        await write(`room-${round}.md`);
        expect(toLines(await findViolations(url, { acknowledged }))).toEqual([]);
      }
      // Else it was never tried.
      expect(ended).toBeLessThan(ROUNDS);
      console.log(
        `a full disk below MariaDB, ${ROUNDS} rounds: ${acknowledged.length} acknowledged, 0 lost; ` +
          `MariaDB ended itself ${ended} times`,
      );
    },
  );
});

describe('a read-only disk (F3)', () => {
  it('refuses writes with 507, serves reads, and writes again without a restart', async () => {
    const { core, set } = await openWithPragma();
    await call(core, 'alice', 'memory_write', { path: 'user/tea.md', content: 'green tea' });
    const write = { path: 'user/b.md', content: 'b' };
    await set('pragma query_only = on');
    for (let n = 0; n < 3; n += 1) {
      const error = await rejection(call(core, 'alice', 'memory_write', write));
      expect([error.code, error.status]).toEqual(['STORAGE_FULL', 507]);
    }
    await call(core, 'alice', 'memory_read', { path: 'user/tea.md' });
    expect((await call(core, 'alice', 'memory_find', { query: 'tea' })).result).toMatchObject({
      results: [{ path: 'user/tea.md' }],
    });
    await set('pragma query_only = off');
    await call(core, 'alice', 'memory_write', write);
  });

  it('stops a start with one line that says what to do', async (test) => {
    if (!canMount) test.skip('sudo npm test -- test/faults/disk');
    const disk = await mountDisk('8m');
    await mkdir(path.join(disk, 'data'));
    mount(['-o', 'remount,ro', disk]);
    const { code, stdout, stderr } = await runCommand({ cwd: disk, args: ['--port=0'] });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^memory-service: \S+ cannot be written \(EROFS\): .*SERVICE_DATABASE_URL\.\n$/,
    );
  });
});

/** A small disk of its own, taken away when the test ends. */
async function mountDisk(size: string): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'memory-disk-'));
  mount(['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory]);
  onTestFinished(async () => {
    // Lazy: a service that was killed may still be letting go of its files.
    spawnSync('umount', ['-l', directory]);
    await rm(directory, { recursive: true, force: true });
  });
  return directory;
}

function mount(args: readonly string[]): void {
  const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`mount ${args.join(' ')}: ${stderr}`);
}

/** Writes until there is no room for another page. */
function fillDisk(filename: string): void {
  closeSync(openSync(filename, 'a'));
  for (const size of [1_048_576, 4_096]) {
    try {
      for (;;) appendFileSync(filename, Buffer.alloc(size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

function execute(service: RunningCommand, tool: string, args: object): Promise<Response> {
  return fetch(`${service.url}/v1/tools/${tool}/execute`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ context: { userId: 'alice' }, arguments: args }),
  });
}

/** Writes a file that is new, and keeps in mind what was acknowledged. */
async function writeFile(
  service: RunningCommand,
  acknowledged: AcknowledgedWrite[],
  name: string,
): Promise<Response> {
  const content = `# ${name}\n${'Some text to fill a page. '.repeat(200)}\n`;
  const response = await execute(service, 'memory_write', { path: `user/${name}`, content });
  if (response.status === 200) {
    const { result } = (await response.json()) as {
      result: { version: number; revisionId: string };
    };
    const { version, revisionId } = result;
    acknowledged.push({ userId: 'alice', path: name, version, revisionId, content });
  }
  return response;
}

async function countReads(filename: string): Promise<number> {
  const connection = await (await loadSqliteModule('sqlite3')).open(filename, { busyTimeoutMs: 0 });
  const sql = "select count(*) as reads from svc_access_log where action = 'read'";
  const [row] = await connection.all(sql, []);
  await connection.close();
  return Number(row?.['reads']);
}

/**
 * A service in this process, and a way to set a pragma on the connection that its writes go
 * through, also where a new one takes its place.
 */
async function openWithPragma() {
  const native = await loadSqliteModule('sqlite3');
  let writer: SqliteConnection | null = null;
  let lasting: string | null = null;
  const driver = {
    ...native,
    async open(filename: string, options: { busyTimeoutMs: number }) {
      const connection = await native.open(filename, options);
      // Readers wait inside SQLite, the writer outside.
      if (options.busyTimeoutMs > 0) return connection;
      if (lasting !== null) await connection.exec(lasting);
      writer = {
        ...connection,
        close() {
          writer = null;
          return connection.close();
        },
      };
      return writer;
    },
  };
  const filename = path.join(await temporaryDirectory(), 'memory.db');
  const core = await openCore({ storage: sqlite({ filename, driver }) });
  const set = async (sql: string): Promise<void> => {
    lasting = sql;
    await writer?.exec(sql);
  };
  return { core, set };
}
