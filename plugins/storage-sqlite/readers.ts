import { MemoryError } from '../../core/errors.ts';
import type { BoundConnection } from './connection.ts';

/**
 * A few connections that can't write, each serving one caller at a time; the others wait in line.
 *
 * A connection that served a snapshot begins the next one behind the answer, and rests in that
 * transaction: until its first statement it sees nothing and holds nothing up. So a snapshot costs
 * no ways to the database beside those of its own statements, and reads keep to other connections.
 */
export class Readers {
  private readonly readers: readonly Reader[];
  /** Those with a transaction at the end, the others at the beginning. */
  private readonly idle: Reader[];
  private readonly waiting: ((reader: Reader) => void)[] = [];
  private isClosed = false;
  private whenIdle: (() => void) | null = null;

  get size(): number {
    return this.readers.length;
  }

  constructor(connections: readonly BoundConnection[]) {
    this.readers = connections.map((connection) => ({ connection, hasBegun: false }));
    this.idle = [...this.readers];
  }

  /** One or more statements, each on the newest state. */
  async use<T>(run: (connection: BoundConnection) => Promise<T>): Promise<T> {
    const reader = this.takeIdle('first') ?? (await this.wait());
    try {
      await end(reader);
      return await run(reader.connection);
    } finally {
      this.release(reader);
    }
  }

  /** The same, all of them on one state. */
  async snapshot<T>(run: (connection: BoundConnection) => Promise<T>): Promise<T> {
    const reader = this.takeIdle('last') ?? (await this.wait());
    try {
      await begin(reader);
      return await run(reader.connection);
    } finally {
      void this.renew(reader);
    }
  }

  /** Waits for those in line, then closes. */
  async close(): Promise<void> {
    this.isClosed = true;
    if (this.idle.length < this.readers.length) {
      await new Promise<void>((resolve) => (this.whenIdle = resolve));
    }
    for (const { connection } of this.readers) await connection.close();
  }

  private takeIdle(place: 'first' | 'last'): Reader | undefined {
    if (this.isClosed) throw new MemoryError('SHUTTING_DOWN');
    return place === 'first' ? this.idle.shift() : this.idle.pop();
  }

  private wait(): Promise<Reader> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private async renew(reader: Reader): Promise<void> {
    try {
      if (this.isClosed || !reader.hasBegun) await end(reader);
      else {
        reader.hasBegun = false;
        // One way to the database for both.
        await reader.connection.exec('rollback; begin');
        reader.hasBegun = true;
      }
    } catch {
      // The next snapshot begins for itself, and tells what is wrong.
    } finally {
      this.release(reader);
    }
  }

  private release(reader: Reader): void {
    const next = this.waiting.shift();
    if (next !== undefined) {
      next(reader);
      return;
    }
    if (reader.hasBegun) this.idle.push(reader);
    else this.idle.unshift(reader);
    if (this.idle.length === this.readers.length) this.whenIdle?.();
  }
}

interface Reader {
  readonly connection: BoundConnection;
  hasBegun: boolean;
}

async function begin(reader: Reader): Promise<void> {
  if (reader.hasBegun) return;
  await reader.connection.run('begin', []);
  reader.hasBegun = true;
}

async function end(reader: Reader): Promise<void> {
  if (!reader.hasBegun) return;
  reader.hasBegun = false;
  try {
    await reader.connection.run('rollback', []);
  } catch {
    // Nothing was written: what can't be rolled back is a transaction that SQLite itself has ended.
  }
}
