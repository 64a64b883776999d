import type { FileKey } from '../../contracts/records.ts';
import type { Logger } from '../../contracts/plugin.ts';
import { describeError } from '../../describe-error.ts';
import { MemoryError, toMemoryError } from '../../errors.ts';
import { hashText } from '../../files/content.ts';
import { DOUBT_MS, isDoubtful, lookAgain } from '../../maintenance/look-again.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** The most damaged files that the log names one by one. */
const MOST_LOGGED = 100;

const CONTENT_DAMAGED = 'The stored content of a file is not the one that was written.';

/**
 * The doubt of a process that has written nothing yet. What it meets is more likely to be old damage
 * than a disk that began to fail just now.
 */
const NEW_DOUBT_MS = 500;

const IN_DOUBT = 'The database looks damaged: it is read again before that counts.';

/** A stored file with the SHA-256 of its content; a deleted file has no content. */
interface StoredContent extends FileKey {
  fileNo: number;
  hash: string;
  content: string | null;
  deletedAt: number | null;
}

/**
 * Remembers the damage that this process has found. Damaged bytes do not repair themselves, and
 * others may be damaged too, so the service is not ready until an operator has checked the database.
 * Intact files can still be read and written.
 *
 * A disk that fails for a moment looks like damage too. So what meets damage runs again before the
 * damage counts, see `confirm`.
 */
export class Damage {
  #log: Logger | null = null;
  #found: MemoryError | null = null;
  #notedAt = 0;
  #hasWorked = false;
  /** How many calls look again now. */
  #looking = 0;
  readonly #logged = new Set<string>();

  /** How long something must look damaged before it counts. */
  get doubtMs(): number {
    if (this.#found !== null) return 0;
    return this.#hasWorked ? DOUBT_MS : NEW_DOUBT_MS;
  }

  /** Call this after a write of memory: the files were whole under this process. */
  noteWrite(): void {
    this.#hasWorked = true;
  }

  logTo(log: Logger): void {
    this.#log = log;
  }

  /** Throws `STORAGE_DAMAGED` if any damage was found, `STORAGE_UNAVAILABLE` while it is in doubt. */
  assertNone(): void {
    if (this.#found !== null) throw new MemoryError('STORAGE_DAMAGED', this.#found.message);
    if (this.#looking > 0) throw new MemoryError('STORAGE_UNAVAILABLE', IN_DOUBT);
  }

  /**
   * Runs work that can run more than once. If it meets what looks like damage, runs it again for as long
   * as `doubtMs` says, and notes the damage only if it stays. `explain` says what an error means.
   */
  async confirm<T>(
    work: () => Promise<T>,
    { explain = toMemoryError }: { explain?: Explain } = {},
  ): Promise<T> {
    const attempt = () =>
      work().catch(async (error: unknown) => {
        throw await explain(error);
      });
    try {
      return await attempt();
    } catch (error) {
      if (!isDoubtful(error)) throw this.note(error as MemoryError);
    }
    this.#looking += 1;
    if (this.#looking === 1 && this.doubtMs > 0) this.#log?.warn({}, IN_DOUBT);
    try {
      return await lookAgain(attempt, () => this.doubtMs);
    } catch (error) {
      throw this.note(error as MemoryError);
    } finally {
      this.#looking -= 1;
    }
  }

  /** Remembers a `STORAGE_DAMAGED`, and logs each place once; other errors are left alone. */
  note(error: MemoryError): MemoryError {
    if (error.code === 'STORAGE_DAMAGED') this.#add(error);
    return error;
  }

  /** Forgets what was noted before a check of the whole memory that found none. Lost files stay lost. */
  lift(before: number): void {
    if (this.#found === null || !isDoubtful(this.#found) || this.#notedAt >= before) return;
    this.#found = null;
    this.#logged.clear();
    this.#log?.info({}, 'verify found no damage: the service is ready again');
  }

  /** Throws `STORAGE_DAMAGED` if the content differs from what was written. */
  checkContent(file: StoredContent): void {
    const { scope, fileNo, content, deletedAt, hash } = file;
    const isMarked = (content === null) === (deletedAt !== null);
    if (isMarked && hashText(content ?? '') === hash) return;
    throw new ContentDamaged(toScopeId(scope), fileNo);
  }

  #add(error: MemoryError): void {
    this.#notedAt = performance.now();
    // Damage that can be lifted must not hide lost files.
    if (this.#found === null || isDoubtful(this.#found)) this.#found = error;
    const place = error instanceof ContentDamaged ? error.place : {};
    const key = `${error.message} ${JSON.stringify(place)}`;
    if (this.#logged.has(key) || this.#logged.size >= MOST_LOGGED) return;
    this.#logged.add(key);
    this.#log?.error(
      { code: error.code, ...place, error: describeError(error.cause ?? error) },
      `${error.message} The service is not ready: run memory-service verify, and restore a backup.`,
    );
  }
}

/** Tells what went wrong, in the words of the contract. */
type Explain = (error: unknown) => MemoryError | Promise<MemoryError>;

class ContentDamaged extends MemoryError {
  /** Without the path, which names a user. */
  readonly place: { scopeId: number; fileNo: number };

  constructor(scopeId: number, fileNo: number) {
    super('STORAGE_DAMAGED', CONTENT_DAMAGED, { details: { reason: 'content' } });
    this.place = { scopeId, fileNo };
  }
}
