import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FileKey } from '../../../core/contracts/records.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import { accessRow, eventRow, write } from '../../support/rows.ts';
import type { SqliteModule } from '../../../plugins/storage-sqlite/connection.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import { quiet } from '../../support/quiet-log.ts';
import { seededRandom } from '../../support/workload.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { sampledDrivers } from '../../support/sqlite-drivers.ts';
import { sqlite } from '../../support/databases.ts';

const alice = { scope: 'u:alice', path: 'notes.md' } as const;
const bob = { scope: 'u:bob', path: 'notes.md' } as const;
const KEYS: readonly FileKey[] = [alice, { ...alice, path: 'other.md' }, bob];
const STEPS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 150 : 5_000;
const isKeeping = process.platform === 'linux' || process.platform === 'darwin';

interface Opened {
  filename: string;
  storage: Storage;
  /** How often a content was looked up in the database. */
  lookups: () => number;
  /** Runs `work` once, between the end of the next such statement and its answer. */
  before: (answer: 'lookup' | 'commit', work: () => Promise<unknown>) => void;
}

/** Opens a storage whose native module counts the reads of contents. */
async function open(driver: SqliteModule, filename: string): Promise<Opened> {
  let lookups = 0;
  const works = new Map<'lookup' | 'commit', () => Promise<unknown>>();
  const delay = async (answer: 'lookup' | 'commit') => {
    const work = works.get(answer);
    works.delete(answer);
    await work?.();
  };
  const storage = sqlite({
    filename,
    driver: {
      name: driver.name,
      async open(name, options) {
        const connection = await driver.open(name, options);
        return {
          ...connection,
          async all(sql, parameters) {
            const rows = await connection.all(sql, parameters);
            if (sql.includes('json_group_array') && sql.includes('c.content')) {
              lookups += 1;
              await delay('lookup');
            }
            return rows;
          },
          async run(sql, parameters) {
            const changed = await connection.run(sql, parameters);
            if (sql === 'commit') await delay('commit');
            return changed;
          },
        };
      },
    },
  });
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return {
    filename,
    storage,
    lookups: () => lookups,
    before: (answer, work) => void works.set(answer, work),
  };
}

async function readTwice({ storage }: Opened, key: FileKey): Promise<(string | undefined)[]> {
  return [await storage.files.read(key), await storage.files.read(key)].map(
    (file) => file?.content,
  );
}

describe.each(sampledDrivers)('contents in memory (%s)', (driver) => {
  const openTwo = async () => {
    const native = await loadSqliteModule(driver);
    const filename = join(await temporaryDirectory(), 'memory.db');
    const ours = await open(native, filename);
    const theirs = await open(native, filename);
    const other = await native.open(filename, { busyTimeoutMs: 2_000 });
    onTestFinished(() => other.close());
    await other.exec('create table other (number integer)');
    return { ours, theirs, other };
  };

  it.runIf(isKeeping)('answer a file again that no commit has changed', async () => {
    const { ours } = await openTwo();
    await write(ours.storage, alice, () => 'tea');
    await write(ours.storage, bob, () => 'coffee');
    await readTwice(ours, alice);
    expect(ours.lookups()).toBe(1);
    // What is written all the time: log rows, and the files of others.
    await ours.storage.log.append({
      access: [accessRow('u:alice')],
      events: [eventRow('u:alice')],
    });
    await write(ours.storage, bob, () => 'water');
    expect(await readTwice(ours, alice)).toEqual(['tea', 'tea']);
    expect(ours.lookups()).toBe(1);
    await write(ours.storage, alice, () => 'milk');
    expect(await readTwice(ours, alice)).toEqual(['milk', 'milk']);
    expect(ours.lookups()).toBe(2);
  });

  it('are not those that were read before a commit and arrive after it', async () => {
    const { ours } = await openTwo();
    await write(ours.storage, alice, () => 'tea');
    ours.before('lookup', () => write(ours.storage, alice, () => 'milk'));
    await ours.storage.files.read(alice);
    expect(await readTwice(ours, alice)).toEqual(['milk', 'milk']);
  });

  it('end with another process’s commit right after our own', async () => {
    const { ours, theirs } = await openTwo();
    await write(ours.storage, alice, () => 'tea');
    await write(ours.storage, bob, () => 'coffee');
    await readTwice(ours, alice);
    ours.before('commit', () => write(theirs.storage, alice, () => 'milk'));
    await write(ours.storage, bob, () => 'water');
    expect(await readTwice(ours, alice)).toEqual(['milk', 'milk']);
  });

  it('are those of the newest commit, whoever made it', async () => {
    const { ours, theirs, other } = await openTwo();
    const contents = new Map<FileKey, string>();
    const next = seededRandom(5);
    const random = (limit: number) => Math.floor(next() * limit);
    for (const key of KEYS) {
      contents.set(key, '0');
      await write(ours.storage, key, () => '0');
    }
    const writeAny = async ({ storage }: Opened, step: number) => {
      const key = KEYS[random(KEYS.length)] as FileKey;
      contents.set(key, `${step}`);
      await write(storage, key, () => `${step}`);
    };
    const actions: ((step: number) => Promise<unknown>)[] = [
      (step) => writeAny(ours, step),
      (step) => writeAny(theirs, step),
      (step) => Promise.all([writeAny(theirs, step), append(ours)]),
      () => append(ours),
      () => append(theirs),
      () => other.exec('insert into other values (1)'),
      () => other.exec('begin; insert into other values (1); rollback'),
      () => other.all('pragma wal_checkpoint(truncate)', []),
      () => other.all('pragma wal_checkpoint(restart)', []),
    ];
    for (let step = 1; step <= STEPS; step += 1) {
      // Reads that meet a commit must leave nothing of before it in memory.
      const reads = KEYS.map((key) => (step % 2 === 0 ? ours : theirs).storage.files.read(key));
      await Promise.all([actions[random(actions.length)]?.(step), ...reads]);
      for (const opened of [ours, theirs]) {
        const key = KEYS[random(KEYS.length)] as FileKey;
        expect((await opened.storage.files.read(key))?.content).toBe(contents.get(key));
      }
    }
  });
});

async function append({ storage }: Opened): Promise<void> {
  await storage.log.append({ access: [accessRow('u:alice')], events: [eventRow('u:bob')] });
}
