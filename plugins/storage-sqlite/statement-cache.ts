/** The most prepared statements of one connection: more than the stores have texts. */
const KEPT = 256;

/**
 * The prepared statements of one connection by their text; the least recently used one goes first.
 */
export class StatementCache<T> {
  private readonly statements = new Map<string, T>();
  private readonly dispose: (statement: T) => void;

  constructor(dispose: (statement: T) => void) {
    this.dispose = dispose;
  }

  get(sql: string): T | undefined {
    const statement = this.statements.get(sql);
    if (statement !== undefined && this.statements.size > KEPT / 2) {
      this.statements.delete(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }

  add(sql: string, statement: T): void {
    if (this.statements.size >= KEPT) {
      const [oldest] = this.statements;
      if (oldest !== undefined) {
        this.statements.delete(oldest[0]);
        this.dispose(oldest[1]);
      }
    }
    this.statements.set(sql, statement);
  }

  clear(): void {
    for (const statement of this.statements.values()) this.dispose(statement);
    this.statements.clear();
  }
}
