import type {
  Current,
  Decision,
  MutateRequest,
  StorageDescription,
  StorageOptions,
} from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { Connection } from './dialect.ts';
import { createKnexConnection, type KnexConnection } from './knex-connection.ts';
import { KeptContents } from './read/kept-contents.ts';
import type { SqlDatabase } from './sql-database.ts';
import type { LogDatabase } from './store-database.ts';
import { SCHEMA_VERSION } from './schema/migrate.ts';
import { prepareSchema } from './schema/prepare-schema.ts';
import { Damage } from './write/damage.ts';
import { IdSkewKeeper } from './write/id-skew.ts';
import { applyMutations, checkMutateRequest, type Mutation } from './write/mutation.ts';
import { ParallelWrites } from './write/parallel-writes.ts';
import { SerialWrites } from './write/serial-writes.ts';
import type { Writes } from './write/writes.ts';

/**
 * How long a read or a write of memory may take with all its statements and retries. This is below
 * the 15 s of a call, so a write is not started again after its call was given up.
 */
const OPERATION_MS = 12_000;

/**
 * A database as the stores see it: what a driver gives, and above it what is the same on every
 * database: how writes share transactions and run again, damage, ids ahead of the clock, and the end
 * of what is under way. Everything that it throws is a `MemoryError`.
 */
export class OpenDatabase implements LogDatabase {
  readonly name: string;
  readonly skew = new IdSkewKeeper();
  readonly damage = new Damage();
  readonly mayRemain?: readonly string[];
  readonly file?: NonNullable<LogDatabase['file']>;
  readonly #database: SqlDatabase;
  readonly #underWay = new Set<Promise<unknown>>();
  #writes: Writes | null = null;
  #contents: KeptContents | null = null;
  #lists: Promise<KnexConnection> | null = null;
  #isClosed = false;
  /** By `performance.now`, when memory was written last. */
  #lastWriteAt = performance.now();

  constructor(database: SqlDatabase) {
    this.#database = database;
    this.name = database.name;
    const { file, mayRemain } = database;
    if (mayRemain !== undefined) this.mayRemain = mayRemain;
    if (file !== undefined) this.file = this.#toFile(file);
  }

  get groupedReads(): number {
    return this.#database.limits.groupedReads;
  }

  get contents(): KeptContents | null {
    this.#live();
    return (this.#database.commits ?? null) === null ? null : this.#contents;
  }

  async init(options: StorageOptions): Promise<void> {
    if (this.#writes !== null || this.#isClosed) {
      throw new MemoryError('INTERNAL', 'A storage is opened once.');
    }
    this.damage.logTo(options.log);
    const database = this.#database;
    await database.open({
      ...options,
      damage: {
        note: (error) => this.damage.note(error),
        confirm: (work) => this.#confirmed(work),
      },
    });
    try {
      await this.#confirmed(() => prepareSchema(database, options.log));
    } catch (error) {
      this.#isClosed = true;
      await database.close().catch(() => undefined);
      throw error;
    }
    const { commits } = database;
    const contents = commits ? new KeptContents(commits) : null;
    const apply = (connection: Connection, mutations: readonly Mutation[]) =>
      applyMutations(connection, this, mutations);
    this.#contents = contents;
    this.#writes =
      database.limits.writers === 'one'
        ? new SerialWrites({ database, apply, contents })
        : new ParallelWrites({ database, apply });
  }

  /** Waits for what is under way, with its retries, and takes no more. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#writes?.drain();
    await Promise.allSettled(this.#underWay);
    await this.#database.close();
  }

  async describe(): Promise<StorageDescription> {
    this.#live();
    return { ...(await this.#database.describe()), schemaVersion: SCHEMA_VERSION };
  }

  async ping(): Promise<void> {
    await this.#confirm(() => this.#database.ping());
  }

  async inspect(): Promise<readonly string[]> {
    this.#live();
    return (await this.#database.inspect?.()) ?? [];
  }

  async read<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    const until = performance.now() + OPERATION_MS;
    return await this.#confirm(() => this.#retryOnce(() => this.#database.read(run, { until })));
  }

  async snapshot<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    const until = performance.now() + OPERATION_MS;
    return await this.#confirm(() =>
      this.#retryOnce(() => this.#database.snapshot(run, { until })),
    );
  }

  async list<T>(run: (connection: KnexConnection) => Promise<T>): Promise<T> {
    return await this.#confirm(() =>
      this.#retryOnce(async () => await run(await this.#listConnection())),
    );
  }

  async write<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    return await this.#confirm(() => this.#live().write(run));
  }

  async writeAll(runs: readonly ((connection: Connection) => Promise<void>)[]): Promise<void> {
    await this.#confirm(() => this.#live().writeAll(runs));
  }

  async mutate<R>(request: MutateRequest, decide: (current: Current) => Decision<R>): Promise<R> {
    checkMutateRequest(request);
    // Leases and settings are written at a start, too, and read no files.
    const isOfMemory = request.files.length > 0;
    if (isOfMemory) this.#lastWriteAt = performance.now();
    const until = performance.now() + OPERATION_MS;
    const result = await this.#confirm(() => this.#live().mutate({ request, decide }, until));
    if (isOfMemory) this.damage.noteWrite();
    return result as R;
  }

  #listConnection(): Promise<KnexConnection> {
    if (this.#lists === null) {
      this.#lists = this.#openLists();
      // The next list tries again.
      this.#lists.catch(() => (this.#lists = null));
    }
    return this.#lists;
  }

  /** Each statement of a list lends a connection. */
  async #openLists(): Promise<KnexConnection> {
    const read = <T>(run: (connection: Connection) => Promise<T>) =>
      this.#database.read(run, { isList: true });
    const dialect = await read((connection) => Promise.resolve(connection.dialect));
    return await createKnexConnection(dialect, (sql, parameters) =>
      read((connection) => connection.all(sql, parameters)),
    );
  }

  /** Runs again what looks like damage, and says what an error means. */
  #confirm<T>(work: () => Promise<T>): Promise<T> {
    const attempt = () => {
      this.#live();
      return this.#track(work());
    };
    return this.#confirmed(attempt);
  }

  #confirmed<T>(work: () => Promise<T>): Promise<T> {
    return this.damage.confirm(work, { explain: (error) => this.#database.explain(error) });
  }

  /** `close` waits for this, including its retries. */
  #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    const done = () => void this.#underWay.delete(work);
    work.then(done, done);
    return work;
  }

  /** A read on a connection that turns out to be lost runs again, on another one. */
  async #retryOnce<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (this.#database.classify(error) !== 'lost') throw error;
    }
    return await read();
  }

  #live(): Writes {
    if (this.#isClosed) throw new MemoryError('SHUTTING_DOWN');
    if (this.#writes === null) throw new MemoryError('STORAGE_UNAVAILABLE', 'Not opened yet.');
    return this.#writes;
  }

  #toFile(file: NonNullable<SqlDatabase['file']>): NonNullable<LogDatabase['file']> {
    return {
      look: async () => ({
        bytes: await file.size(),
        idleMs: performance.now() - this.#lastWriteAt,
      }),
      rewrite: (progress) => this.#confirm(() => this.#live().pause(() => file.rewrite(progress))),
      emptyLog: (limitMs) => this.#confirm(() => file.emptyLog(limitMs)),
    };
  }
}
