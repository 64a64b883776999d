import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type RunningCommand, startCommand } from '../support/command.ts';
import { type AcknowledgedWrite, findViolations, toLines } from '../support/invariants.ts';

/** How long the disk fails, and how far apart the calls are. */
const FAILS_MS = 2_000;
const CALL_MS = 100;
const LONG = { timeout: 120_000 };
const SOURCE = fileURLToPath(new URL('../support/failing-disk.c', import.meta.url));
const INSTALL = 'needs Linux with glibc: apt-get install g++';

/** What the library of `failing-disk.c` reads of its switch, in this order. */
const KINDS = ['reads', 'writes', 'syncs', 'opens'] as const;
type Fault = Partial<Record<(typeof KINDS)[number], number>>;
const ZEROS = 255;
const HALF = 254;
const { EIO, ENOMEM, EACCES, EMFILE, ENFILE, ESTALE, ENOTCONN } = constants.errno;

const FAULTS: readonly (readonly [string, Fault])[] = [
  ['EIO on reads', { reads: EIO }],
  ['EIO on everything', { reads: EIO, writes: EIO, syncs: EIO, opens: EIO }],
  ['ESTALE on everything', { reads: ESTALE, writes: ESTALE, syncs: ESTALE, opens: ESTALE }],
  ['ENOTCONN on reads', { reads: ENOTCONN }],
  ['ENOMEM on reads', { reads: ENOMEM }],
  ['zeros on reads', { reads: ZEROS }],
  ['short reads', { reads: HALF }],
  ['EIO on writes', { writes: EIO }],
  ['EIO on syncs', { syncs: EIO }],
  ['EACCES on opens and EIO on reads', { opens: EACCES, reads: EIO }],
  ['EMFILE on opens and EIO on reads', { opens: EMFILE, reads: EIO }],
  ['ENFILE on opens and zeros on reads', { opens: ENFILE, reads: ZEROS }],
];

let library: string | null = null;

beforeAll(async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'memory-failing-'));
  const built = path.join(directory, 'failing-disk.so');
  for (const compiler of ['gcc', 'g++', 'cc']) {
    const args = ['-x', 'c', '-shared', '-fPIC', '-o', built, SOURCE, '-ldl'];
    if (spawnSync(compiler, args).status === 0) library = built;
    if (library !== null) break;
  }
  return () => rm(directory, { recursive: true, force: true });
});

describe('a disk that fails for two seconds', () => {
  // One service lives through all that are errors. Wrong bytes would be copied by a checkpoint, which
  // SQLite makes after a thousand pages: so for each of those a new service writes less than that.
  let shared: FailingDisk | null = null;
  let round = 0;

  beforeAll(async () => {
    if (library === null) return;
    const ends: (() => Promise<void> | void)[] = [];
    shared = await startOnDisk(library, (end) => void ends.unshift(end));
    await writeFile(shared, 'first.md');
    return async () => {
      for (const end of ends) await end();
    };
  });

  it.for(FAULTS)('makes nothing damaged: %s', LONG, async ([, fault], test) => {
    if (library === null || shared === null) return test.skip(INSTALL);
    const isWrong = fault.reads === ZEROS || fault.reads === HALF;
    const disk = isWrong ? await startOnDisk(library) : shared;
    if (isWrong) await writeFile(disk, 'first.md');
    const { service, acknowledged } = disk;
    round += 1;
    const codes = new Map<string, number>();
    const count = ({ status, code }: Answer) => {
      const key = code ?? String(status);
      codes.set(key, (codes.get(key) ?? 0) + 1);
    };
    await disk.set(fault);
    const underWay: Promise<void>[] = [];
    const call = (answer: Promise<Answer>) => void underWay.push(answer.then(count));
    for (let passed = 0; passed < FAILS_MS; passed += CALL_MS) {
      call(writeFile(disk, `during-${round}-${passed}.md`));
      for (const [tool, args] of READS) call(execute(service, tool, args));
      for (const route of ROUTES) call(get(service, route));
      if (passed === FAILS_MS / 2) call(get(service, '/v1/admin/verify', { method: 'POST' }));
      await new Promise((resolve) => setTimeout(resolve, CALL_MS));
    }
    await disk.set({});
    await Promise.all(underWay);
    console.log(`${JSON.stringify(fault)}: ${JSON.stringify(Object.fromEntries(codes))}`);
    for (const code of codes.keys()) expect(ALLOWED).toContain(code);

    await expect.poll(async () => (await get(service, '/readyz')).status).toBe(200);
    expect((await writeFile(disk, `after-${round}.md`)).status).toBe(200);
    for (const [tool, args] of READS) {
      expect([tool, (await execute(service, tool, args)).status]).toEqual([tool, 200]);
    }
    for (const route of ROUTES) {
      expect([route, (await get(service, route)).status]).toEqual([route, 200]);
    }
    expect(service.stderr()).not.toContain('STORAGE_DAMAGED');
    expect(toLines(await findViolations(disk.filename, { acknowledged }))).toEqual([]);
  });

  it('leaves a service that stops as any other, with all that it acknowledged', async (test) => {
    if (shared === null) return test.skip(INSTALL);
    const { service, acknowledged, filename } = shared;
    expect((await service.stop()).code).toBe(0);
    expect(toLines(await findViolations(filename, { acknowledged }))).toEqual([]);
  });

  it('stops no start', LONG, async (test) => {
    if (library === null) return test.skip(INSTALL);
    const disk = await startOnDisk(library);
    await writeFile(disk, 'first.md');
    await disk.service.stop();
    await disk.set({ reads: EIO });
    const timer = setTimeout(() => void disk.set({}), FAILS_MS);
    onTestFinished(() => clearTimeout(timer));
    await disk.restart();
    expect((await execute(disk.service, 'memory_find', { query: 'first' })).status).toBe(200);
  });
});

describe('a disk that goes on failing', () => {
  it('is unavailable and not ready, and no damage', LONG, async (test) => {
    if (library === null) return test.skip(INSTALL);
    const disk = await startOnDisk(library);
    await writeFile(disk, 'first.md');
    await disk.set({ reads: EIO });
    const end = performance.now() + 5_000;
    while (performance.now() < end) {
      const answers = await Promise.all([
        execute(disk.service, 'memory_find', { query: 'first' }),
        get(disk.service, '/v1/admin/files'),
        get(disk.service, '/readyz'),
      ]);
      for (const { code } of answers) expect(code).toBe('STORAGE_UNAVAILABLE');
    }
    await disk.set({});
    await expect.poll(async () => (await get(disk.service, '/readyz')).status).toBe(200);
  });
});

describe('damage that stays', () => {
  it('is noticed by the first call that meets it', LONG, async (test) => {
    if (library === null) return test.skip(INSTALL);
    const disk = await startOnDisk(library);
    for (let n = 0; n < 40; n += 1) await writeFile(disk, `note-${n}.md`);
    await disk.service.stop();
    const bytes = await readFile(disk.filename);
    const file = await open(disk.filename, 'r+');
    // In the middle of its text, which SQLite itself does not check.
    await file.write('other', bytes.indexOf('# note-7.md') + 2_000);
    await file.close();
    await disk.restart();
    const answer = await execute(disk.service, 'memory_read', { path: 'user/note-7.md' });
    expect(answer.code).toBe('STORAGE_DAMAGED');
    expect((await get(disk.service, '/readyz')).code).toBe('STORAGE_DAMAGED');
  });
});

const READS = [
  ['memory_read', { path: 'user/first.md' }],
  ['memory_find', { query: 'first' }],
  ['memory_list', {}],
] as const;
const ROUTES = ['/v1/admin/files', '/v1/admin/revisions', '/readyz'] as const;
/** A write that the disk refuses is a full disk too, in the words of the contract. */
const ALLOWED = ['200', '202', 'STORAGE_UNAVAILABLE', 'STORAGE_FULL'];

interface Answer {
  status: number;
  code: string | null;
}

interface FailingDisk {
  service: RunningCommand;
  filename: string;
  acknowledged: AcknowledgedWrite[];
  set(fault: Fault): Promise<void>;
  /** Starts the service again, which was stopped. */
  restart(): Promise<void>;
}

async function startOnDisk(
  preload: string,
  onEnd: (end: () => Promise<void> | void) => void = onTestFinished,
): Promise<FailingDisk> {
  const cwd = await mkdtemp(path.join(tmpdir(), 'memory-failing-'));
  onEnd(() => rm(cwd, { recursive: true, force: true }));
  const control = path.join(cwd, 'switch');
  writeFileSync(control, Buffer.alloc(KINDS.length));
  const start = () =>
    startCommand({
      cwd,
      env: { LD_PRELOAD: preload, FAILING_SWITCH: control, FAILING_FILE: 'data/memory.db' },
    });
  const disk: FailingDisk = {
    service: await start(),
    filename: path.join(cwd, 'data', 'memory.db'),
    acknowledged: [],
    async set(fault) {
      const file = await open(control, 'r+');
      await file.write(Buffer.from(KINDS.map((kind) => fault[kind] ?? 0)), 0, KINDS.length, 0);
      await file.close();
    },
    async restart() {
      disk.service = await start();
    },
  };
  onEnd(() => void disk.service.stop('SIGKILL'));
  return disk;
}

async function writeFile(disk: FailingDisk, name: string): Promise<Answer> {
  const content = `# ${name}\n${'Some text to fill a page. '.repeat(400)}\n`;
  const args = { path: `user/${name}`, content };
  const response = await send(disk.service, 'memory_write', args);
  if (response.status !== 200) return await toAnswer(response);
  const { result } = (await response.json()) as {
    result: { version: number; revisionId: string };
  };
  const { version, revisionId } = result;
  disk.acknowledged.push({ userId: 'alice', path: name, version, revisionId, content });
  return { status: 200, code: null };
}

async function execute(service: RunningCommand, tool: string, args: object): Promise<Answer> {
  return await toAnswer(await send(service, tool, args));
}

function send(service: RunningCommand, tool: string, args: object): Promise<Response> {
  return fetch(`${service.url}/v1/tools/${tool}/execute`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ context: { userId: 'alice' }, arguments: args }),
  });
}

async function get(
  service: RunningCommand,
  route: string,
  options: RequestInit = {},
): Promise<Answer> {
  const headers = { 'x-admin-secret': service.adminSecret };
  return await toAnswer(await fetch(service.url + route, { ...options, headers }));
}

async function toAnswer(response: Response): Promise<Answer> {
  const body = (await response.json()) as { error?: { code: string } };
  return { status: response.status, code: body.error?.code ?? null };
}
