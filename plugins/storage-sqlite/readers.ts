import { MemoryError } from '../../core/errors.ts';
import type { SqliteConnection } from './connection.ts';

/** A few connections that can't write, each serving one caller at a time; the others wait in line. */
export class Readers {
  private readonly connections: readonly SqliteConnection[];
  private readonly idle: SqliteConnection[];
  private readonly waiting: ((connection: SqliteConnection) => void)[] = [];
  private isClosed = false;
  private whenIdle: (() => void) | null = null;

  get size(): number {
    return this.connections.length;
  }

  constructor(connections: readonly SqliteConnection[]) {
    this.connections = connections;
    this.idle = [...connections];
  }

  async use<T>(run: (connection: SqliteConnection) => Promise<T>): Promise<T> {
    if (this.isClosed) throw new MemoryError('SHUTTING_DOWN');
    const connection = this.idle.pop() ?? (await this.wait());
    try {
      return await run(connection);
    } finally {
      this.release(connection);
    }
  }

  /** Waits for those in line, then closes. */
  async close(): Promise<void> {
    this.isClosed = true;
    if (this.idle.length < this.connections.length) {
      await new Promise<void>((resolve) => (this.whenIdle = resolve));
    }
    for (const connection of this.connections) await connection.close();
  }

  private wait(): Promise<SqliteConnection> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private release(connection: SqliteConnection): void {
    const next = this.waiting.shift();
    if (next !== undefined) {
      next(connection);
      return;
    }
    this.idle.push(connection);
    if (this.idle.length === this.connections.length) this.whenIdle?.();
  }
}
