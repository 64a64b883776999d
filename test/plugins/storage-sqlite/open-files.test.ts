import { execFileSync } from 'node:child_process';
import { existsSync, linkSync } from 'node:fs';
import {
  copyFile,
  link,
  mkdtemp,
  open as openFile,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import type { MemoryError } from '../../../core/errors.ts';
import { write } from '../../support/rows.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import type { SqliteConnection } from '../../../plugins/storage-sqlite/connection.ts';
import { backUpFile } from '../../../plugins/storage-sqlite/index.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import type { SqliteDriver } from '../../../plugins/storage-sqlite/connection.ts';
import { sampledDrivers } from '../../support/sqlite-drivers.ts';
import { sqlite } from '../../support/databases.ts';

const STEPS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 60 : 5_000;
const AT_ONCE = process.env['MEMORY_TEST_RELEASE'] === undefined ? 30 : 5_000;
const CHECKPOINTS = ['passive', 'truncate', 'full', 'restart', 'truncate'];
const OVERWRITTEN = process.env['MEMORY_TEST_RELEASE'] === undefined ? 4 : 24;
const alice = { scope: 'u:alice', path: 'notes.md' } as const;
const DAMAGED = { code: 'STORAGE_DAMAGED', status: 500, retryable: false };

interface Opened {
  filename: string;
  storage: Storage;
  /** Another connection on the file, which is allowed to write. */
  other: SqliteConnection;
  logged: string[];
}

/**
 * A directory on the disk. The service sees by its time that a file was overwritten, and this time has
 * steps of some milliseconds. In memory, a checkpoint and the overwriting may fall into the same step.
 */
async function directoryOnDisk(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'memory-open-files-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function open(driver: SqliteDriver): Promise<Opened> {
  const filename = join(await directoryOnDisk(), 'memory.db');
  const storage = sqlite({ filename, driver });
  onTestFinished(() => storage.close());
  const logged: string[] = [];
  await storage.init({
    log: { ...quiet, error: (_, message) => void logged.push(message) },
    now: Date.now,
  });
  const other = await (await loadSqliteModule(driver)).open(filename, { busyTimeoutMs: 2_000 });
  onTestFinished(() => other.close().catch(() => undefined));
  await other.exec('create table other (text text)');
  return { filename, storage, other, logged };
}

/** What happens to the log, by us or by another process. */
const STEPS_OF = [
  ({ storage }: Opened) => write(storage, alice, (before) => `${before ?? ''}line\n`),
  ({ storage }: Opened) => write(storage, { scope: 's', path: 'large' }, 'large '.repeat(5_000)),
  ({ storage }: Opened) => storage.ping(),
  ({ other }: Opened) => other.run("insert into other values ('text')", []),
  ({ other }: Opened) => other.exec('pragma wal_autocheckpoint = 1; insert into other values (1)'),
  ({ other }: Opened) => other.all('pragma wal_checkpoint(passive)', []),
  ({ other }: Opened) => other.all('pragma wal_checkpoint(full)', []),
  ({ other }: Opened) => other.all('pragma wal_checkpoint(restart)', []),
  ({ other }: Opened) => other.all('pragma wal_checkpoint(truncate)', []),
] as const;

/** Repeats a write that others keep from the lock for longer than its time. */
async function untilFree(run: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await run();
      return;
    } catch (error) {
      if ((error as MemoryError).code !== 'STORAGE_UNAVAILABLE') throw error;
    }
  }
}

/** Another process makes a checkpoint, and the service has seen it. */
async function seeCheckpoint({ storage, other }: Opened): Promise<void> {
  await write(storage, alice, 'before');
  await other.all('pragma wal_checkpoint(passive)', []);
  await storage.ping();
}

/** Fills the log, so that the next write of the service makes a checkpoint itself. */
async function fillLog({ storage, other }: Opened): Promise<void> {
  await other.exec('pragma wal_autocheckpoint = 0; insert into other values (zeroblob(70000000))');
  await storage.ping();
}

describe.each(sampledDrivers)('the files of a database (%s)', (driver) => {
  it('are the same through all that SQLite does with them', async () => {
    const opened = await open(driver);
    const random = createRandom(3);
    for (let step = 0; step < STEPS; step += 1) {
      await STEPS_OF[random(STEPS_OF.length)]?.(opened);
    }
    await write(opened.storage, alice, 'last');
    await opened.storage.ping();
    expect(opened.logged).toEqual([]);
  });

  it('are the same while others write and make checkpoints at the same time', async () => {
    const opened = await open(driver);
    const second = sqlite({ filename: opened.filename, driver });
    onTestFinished(() => second.close());
    await second.init({ log: quiet, now: Date.now });
    let isOver = false;
    const checkpoints = (async () => {
      for (let step = 0; !isOver; step += 1) {
        const mode = CHECKPOINTS[step % CHECKPOINTS.length] ?? 'passive';
        await opened.other.all(`pragma wal_checkpoint(${mode})`, []);
      }
    })();
    const writers = [opened.storage, second].map(async (storage, writer) => {
      for (let n = 0; n < AT_ONCE; n += 1) {
        await untilFree(() => write(storage, { scope: 's', path: `${writer}` }, `text ${n}`));
        await storage.ping();
      }
    });
    const idle = (async () => {
      while (!isOver) await second.ping();
    })();
    const written = Promise.all(writers).finally(() => (isOver = true));
    await Promise.all([written, checkpoints, idle]);
    expect(opened.logged).toEqual([]);
  });

  it('are the same after a checkpoint that was cut off', async () => {
    const { filename, storage, other, logged } = await open(driver);
    await write(storage, alice, 'before');
    await other.exec("insert into other values ('text')");
    // A checkpoint writes first how far it is to go, and then to the database. Another process does
    // that here, because closing the index in this one would release SQLite's locks on it.
    const program =
      `const fs = require('node:fs'); const file = fs.openSync(process.argv[1] + '-shm', 'r+');` +
      `const frames = Buffer.alloc(4); fs.readSync(file, frames, 0, 4, 16);` +
      `fs.writeSync(file, frames, 0, 4, 128); fs.utimesSync(process.argv[1], 1, 1);`;
    execFileSync(process.execPath, ['-e', program, filename]);
    await storage.ping();
    await write(storage, alice, 'after');
    await storage.ping();
    expect(logged).toEqual([]);
  });

  it('are overwritten: noticed before the next write is acknowledged', async () => {
    const random = createRandom(4);
    const rounds = Array.from({ length: OVERWRITTEN }, (_, round) => async (opened: Opened) => {
      for (let step = 0; step < round; step += 1) {
        await STEPS_OF[random(STEPS_OF.length)]?.(opened);
      }
      await write(opened.storage, alice, 'before');
    });
    // Together, because the service waits each time for a checkpoint that could explain it.
    await Promise.all(
      [...rounds, seeCheckpoint, fillLog].map(async (prepare) => {
        const opened = await open(driver);
        const { filename, storage, logged } = opened;
        const copy = `${filename}.copy`;
        await storage.backUp?.(copy);
        await prepare(opened);
        await copyFile(copy, filename);
        // `fillLog` is about the next write.
        if (prepare !== fillLog) expect(await rejection(storage.ping())).toMatchObject(DAMAGED);
        expect(await rejection(write(storage, alice, 'after'))).toMatchObject(DAMAGED);
        // From then on nothing is answered from them, and the log says it once.
        expect(await rejection(storage.files.get(alice))).toMatchObject(DAMAGED);
        expect(await rejection(storage.files.read(alice))).toMatchObject(DAMAGED);
        expect(await rejection(storage.config.set({ key: 1 }, null))).toMatchObject(DAMAGED);
        // SQLite may meet pages that don't fit before the service knows that the file is another one.
        const others = logged.filter((line) => !line.includes('overwritten while it was open'));
        expect([logged.length - others.length, others.length <= 1]).toEqual([1, true]);
      }),
    );
  });

  it.each(['', '-wal'])('are gone or others (memory.db%s)', async (suffix) => {
    const changes = [
      (file: string) => rm(file),
      (file: string) => rename(file, `${file}.old`),
      async (file: string) => {
        await copyFile(file, `${file}.new`);
        await rename(`${file}.new`, file);
      },
    ];
    const notice = async (change: (typeof changes)[number]) => {
      const { filename, storage, logged } = await open(driver);
      await write(storage, alice, 'before');
      await change(`${filename}${suffix}`);
      const answers = await Promise.allSettled([
        write(storage, alice, 'after'),
        write(storage, { scope: 'u:bob', path: 'f' }, 'after'),
        storage.config.set({ key: 1 }, null),
      ]);
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 'rejected', reason: DAMAGED });
      }
      expect(await rejection(storage.ping())).toMatchObject(DAMAGED);
      expect(await rejection(storage.files.read(alice))).toMatchObject(DAMAGED);
      expect(logged).toHaveLength(1);
    };
    await Promise.all(changes.map(notice));
  });
});

/** What happens to a log that stays where it is; `old` is a copy of it from before two writes. */
const LOG_CHANGES: Record<string, (log: string, old: string) => Promise<void>> = {
  emptied: (log) => truncate(log, 0),
  'cut in half': async (log) => truncate(log, (await stat(log)).size / 2),
  'overwritten by an older copy': (log, old) => copyFile(old, log),
  'left without its header': async (log) => {
    const file = await openFile(log, 'r+');
    await file.write(Buffer.alloc(32), 0, 32, 0);
    await file.close();
  },
};

describe.each(sampledDrivers)('a log that is changed in its place (%s)', (driver) => {
  const bob = { scope: 'u:bob', path: 'f' } as const;

  async function openTwiceWritten(): Promise<Opened & { log: string; old: string }> {
    const opened = await open(driver);
    const log = `${opened.filename}-wal`;
    await write(opened.storage, alice, 'first');
    await copyFile(log, `${log}.old`);
    await write(opened.storage, bob, 'second');
    await write(opened.storage, alice, 'third');
    return { ...opened, log, old: `${log}.old` };
  }

  it.each(Object.entries(LOG_CHANGES))('is noticed: %s', async (_, change) => {
    // Together, because each waits until it counts as damage.
    const notice = async (next: 'look' | 'write') => {
      const { storage, logged, log, old } = await openTwiceWritten();
      await change(log, old);
      const answer = next === 'look' ? storage.ping() : write(storage, bob, 'after');
      expect(await rejection(answer)).toMatchObject(DAMAGED);
      expect(await rejection(write(storage, bob, 'later'))).toMatchObject(DAMAGED);
      expect(await rejection(storage.files.read(alice))).toMatchObject(DAMAGED);
      expect(logged).toHaveLength(1);
    };
    await Promise.all([notice('look'), notice('write')]);
  });

  it('leaves the database file alone when it is closed', async () => {
    const close = async (change: (typeof LOG_CHANGES)[string]) => {
      const { filename, storage, other, logged, log, old } = await openTwiceWritten();
      await other.close();
      const before = await readFile(filename);
      await change(log, old);
      await storage.close();
      expect((await readFile(filename)).equals(before)).toBe(true);
      expect(logged).toHaveLength(1);
    };
    await Promise.all(Object.values(LOG_CHANGES).map(close));
  });
});

it('notices that the index was removed while another process has the file open', async () => {
  const { filename, storage } = await open('sqlite3');
  await write(storage, alice, 'before');
  await rename(`${filename}-shm`, `${filename}-shm.old`);
  expect(await rejection(write(storage, alice, 'after'))).toMatchObject(DAMAGED);
});

it('notices that its name, a symbolic link, leads elsewhere', async () => {
  for (const isCopied of [true, false]) {
    const directory = await directoryOnDisk();
    const name = join(directory, 'memory.db');
    await symlink('first.db', name);
    const storage = sqlite({ filename: name });
    onTestFinished(() => storage.close());
    await storage.init({ log: quiet, now: Date.now });
    await write(storage, alice, 'before');
    await rm(name);
    if (isCopied) await copyFile(join(directory, 'first.db'), name);
    else {
      await writeFile(join(directory, 'second.db'), '');
      await symlink('second.db', name);
    }
    expect(await rejection(storage.ping())).toMatchObject(DAMAGED);
    expect(await rejection(write(storage, alice, 'after'))).toMatchObject(DAMAGED);
  }
});

it('takes no look of somebody else for a change', async () => {
  const { filename, storage } = await open('sqlite3');
  await write(storage, alice, 'before');
  const copy = `${filename}.copy`;
  await copyFile(filename, copy);
  await utimes(copy, 1, 1);
  await write(storage, alice, 'after');
  await storage.ping();
});

describe('a file with several names', () => {
  it('is refused, however it is opened, and is opened again with one', async () => {
    const directory = await directoryOnDisk();
    const filename = join(directory, 'memory.db');
    const first = sqlite({ filename });
    await first.init({ log: quiet, now: Date.now });
    await write(first, alice, 'kept');
    await first.close();
    const second = join(directory, 'second.db');
    await link(filename, second);
    for (const name of [filename, second]) {
      const refused = [
        rejection(sqlite({ filename: name }).init({ log: quiet, now: Date.now })),
        rejection(backUpFile(name, join(directory, 'copy.db'))),
        rejection(sqlite({ filename: name }).planMigration()),
      ];
      for (const error of await Promise.all(refused)) {
        expect(error.code).toBe('STORAGE_UNAVAILABLE');
        expect(error.message).toContain('has 2 names (hard links)');
      }
    }
    await rm(second);
    const again = sqlite({ filename });
    onTestFinished(() => again.close());
    await again.init({ log: quiet, now: Date.now });
    expect((await again.files.get(alice))?.content).toBe('kept');
    // While it is open a backup by hard links harms nobody, but whoever looks is told.
    await link(filename, second);
    await write(again, alice, 'written');
    expect(await again.inspection?.problems?.()).toEqual([
      expect.stringContaining('has 2 names (hard links)'),
    ]);
  });

  it('is refused, though it got the second one only while it was made', async () => {
    const directory = await directoryOnDisk();
    const filename = join(directory, 'memory.db');
    const storage = sqlite({ filename });
    const opening = rejection(storage.init({ log: quiet, now: Date.now }));
    // SQLite has made the file, and its tables are still to come.
    while (!existsSync(filename)) await nextTurn();
    linkSync(filename, join(directory, 'second.db'));
    const error = await opening;
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
    expect(error.message).toContain('has 2 names (hard links)');
    await storage.close();
  });

  it('is one file by its symbolic links, with one log', async () => {
    const directory = await directoryOnDisk();
    const filename = join(directory, 'memory.db');
    const name = join(directory, 'link.db');
    // Where they lead there is nothing yet.
    await symlink('memory.db', name);
    const storages = [sqlite({ filename: name }), sqlite({ filename })];
    for (const storage of storages) {
      onTestFinished(() => storage.close());
      await storage.init({ log: quiet, now: Date.now });
      await write(storage, alice, (before) => `${before ?? ''}line\n`);
    }
    expect((await storages[0]?.files.get(alice))?.content).toBe('line\nline\n');
  });
});

function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
