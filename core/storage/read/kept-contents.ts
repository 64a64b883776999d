import { LRUCache } from 'lru-cache';
import type { FileContent, FileKey, ScopeKey } from '../../contracts/records.ts';
import type { Connection } from '../dialect.ts';
import type { CommitLog } from '../sql-database.ts';
import { fileSlotKey } from '../write/slots.ts';

/** The size of all contents, in characters. */
const KEPT_CHARACTERS = 16 * 1024 * 1024;
/** What a file takes beside its content. */
const FILE_CHARACTERS = 300;

/** The tables that a content is read from. */
const OF_FILES = /\bsvc_(?:scope|file|content)\b/;

/**
 * Contents that were read, for as long as no commit has changed them. Any process may write to the
 * database, so its log of commits is read before each answer: it shows whether another process has
 * committed.
 *
 * The writer calls `begin` and `committed` around its transactions. Its own commits drop only the
 * files that they changed. Most commits change none: they write log rows or the index.
 */
export class KeptContents<Mark = unknown> {
  readonly #commits: CommitLog<Mark>;
  readonly #kept = new LRUCache<string, FileContent>({
    maxSize: KEPT_CHARACTERS,
    sizeCalculation: ({ content }) => content.length + FILE_CHARACTERS,
  });
  /** The state of the database in which the contents are true. */
  #known: Mark;
  #now: Mark;
  /** Counts the times that contents were dropped. */
  #generation = 0;
  #mayChangeFiles = false;

  constructor(commits: CommitLog<Mark>) {
    this.#commits = commits;
    this.#known = commits.createMark();
    this.#now = commits.createMark();
  }

  /** The content that a read would find now; `undefined` if only the database knows it. */
  get(key: FileKey): FileContent | undefined {
    const kept = this.#kept.get(fileSlotKey(key));
    return kept !== undefined && this.#isCurrent() ? kept : undefined;
  }

  /**
   * Changes when kept contents may have changed; `null` while there is an unknown commit. Keep what
   * was read between two calls only if both return the same number.
   */
  generation(): number | null {
    return this.#isCurrent() ? this.#generation : null;
  }

  keep(key: FileKey, content: FileContent): void {
    this.#kept.set(fileSlotKey(key), content);
  }

  /** Call this when a transaction has the write lock. */
  begin(): void {
    if (!this.#isCurrent()) this.#dropAll();
    this.#takeNow();
    this.#mayChangeFiles = false;
  }

  /** The connection for a task in the transaction; it notices statements that may change files. */
  watch(connection: Connection): Connection {
    const note = (sql: string) => {
      if (OF_FILES.test(sql) && !sql.startsWith('select ')) this.#mayChangeFiles = true;
    };
    return {
      dialect: connection.dialect,
      all: (sql, parameters) => (note(sql), connection.all(sql, parameters)),
      run: (sql, parameters) => (note(sql), connection.run(sql, parameters)),
    };
  }

  /**
   * Call this after the commit, with the files of its mutations, and the scopes from which a mutation
   * removed rows.
   */
  committed({ files, scopes }: { files: readonly FileKey[]; scopes: readonly ScopeKey[] }): void {
    const isRead = this.#commits.read(this.#now);
    if (!isRead || this.#mayChangeFiles || this.#commits.count(this.#known, this.#now) > 1) {
      this.#dropAll();
    } else if (files.length + scopes.length > 0) {
      for (const key of files) this.#kept.delete(fileSlotKey(key));
      for (const scope of scopes) this.#dropScope(scope);
      this.#generation += 1;
    }
    this.#takeNow();
  }

  #isCurrent(): boolean {
    return this.#commits.read(this.#now) && this.#commits.isSame(this.#known, this.#now);
  }

  #takeNow(): void {
    [this.#known, this.#now] = [this.#now, this.#known];
  }

  #dropScope(scope: ScopeKey): void {
    const start = fileSlotKey({ scope, path: '' });
    for (const key of [...this.#kept.keys()]) if (key.startsWith(start)) this.#kept.delete(key);
  }

  #dropAll(): void {
    this.#kept.clear();
    this.#generation += 1;
  }
}
