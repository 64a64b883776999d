import { MemoryError } from '../../core/plugin.ts';
import { spoilsConnection } from './dialect.ts';
import type { BoundConnection } from './connection.ts';

/**
 * A few read-only connections, each for one caller at a time; further callers wait in line.
 *
 * After a snapshot, its connection begins the next snapshot's transaction at once. Until its first
 * statement such a transaction reads nothing and blocks nobody. So a snapshot needs no round trips
 * beside its own statements. Plain reads prefer the other connections.
 *
 * After an error of the disk, or what looks like damage, a connection is closed. Its next caller opens
 * another one, which has nothing of what was read wrongly.
 */
export class Readers {
  private readonly readers: readonly Reader[];
  private readonly open: () => Promise<BoundConnection>;
  /** Connections with a transaction are at the end, the others at the beginning. */
  private readonly idle: Reader[];
  private readonly waiting: ((reader: Reader) => void)[] = [];
  private isClosed = false;
  private whenIdle: (() => void) | null = null;

  get size(): number {
    return this.readers.length;
  }

  constructor(connections: readonly BoundConnection[], open: () => Promise<BoundConnection>) {
    this.open = open;
    this.readers = connections.map((connection) => ({ connection, hasBegun: false }));
    this.idle = [...this.readers];
  }

  /** Runs statements, each of which sees the newest state. */
  async use<T>(run: (connection: BoundConnection) => Promise<T>): Promise<T> {
    const reader = this.takeIdle('first') ?? (await this.wait());
    try {
      await end(reader);
      return await this.run(reader, run);
    } finally {
      this.release(reader);
    }
  }

  /** Runs statements that all see the same state. */
  async snapshot<T>(run: (connection: BoundConnection) => Promise<T>): Promise<T> {
    const reader = this.takeIdle('last') ?? (await this.wait());
    try {
      return await this.run(reader, async (connection) => {
        await begin(reader, connection);
        return await run(connection);
      });
    } finally {
      void this.renew(reader);
    }
  }

  /**
   * Opens idle connections anew. One that has read an earlier schema would take a failing disk for a
   * missing table.
   */
  async openAnew(): Promise<void> {
    const idle = this.idle.splice(0);
    try {
      for (const reader of idle) {
        await drop(reader);
        reader.connection = await this.open();
      }
    } finally {
      for (const reader of idle) this.release(reader);
    }
  }

  /** Waits for the callers in line, then closes the connections. */
  async close(): Promise<void> {
    this.isClosed = true;
    if (this.idle.length < this.readers.length) {
      await new Promise<void>((resolve) => (this.whenIdle = resolve));
    }
    for (const { connection } of this.readers) await connection?.close();
  }

  private async run<T>(
    reader: Reader,
    run: (connection: BoundConnection) => Promise<T>,
  ): Promise<T> {
    try {
      return await run((reader.connection ??= await this.open()));
    } catch (error) {
      if (spoilsConnection(error)) await drop(reader);
      throw error;
    }
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
      if (this.isClosed || !reader.hasBegun || reader.connection === null) await end(reader);
      else {
        reader.hasBegun = false;
        // One round trip for both statements.
        await reader.connection.exec('rollback; begin');
        reader.hasBegun = true;
      }
    } catch {
      // The next snapshot begins its own transaction and reports the error.
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
  /** `null` until it is opened again. */
  connection: BoundConnection | null;
  hasBegun: boolean;
}

async function begin(reader: Reader, connection: BoundConnection): Promise<void> {
  if (reader.hasBegun) return;
  await connection.run('begin', []);
  reader.hasBegun = true;
}

async function end(reader: Reader): Promise<void> {
  if (!reader.hasBegun) return;
  reader.hasBegun = false;
  try {
    await reader.connection?.run('rollback', []);
  } catch {
    // SQLite itself has ended the transaction; nothing was written in it.
  }
}

async function drop(reader: Reader): Promise<void> {
  const { connection } = reader;
  await end(reader);
  reader.connection = null;
  try {
    await connection?.close();
  } catch {
    // It is given up anyway.
  }
}
