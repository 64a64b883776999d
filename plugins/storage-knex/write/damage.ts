import type { FileKey } from '../../../core/contracts/records.ts';
import type { Logger } from '../../../core/contracts/plugin.ts';
import { describeError } from '../../../core/describe-error.ts';
import { MemoryError } from '../../../core/errors.ts';
import { hashText } from '../../../core/files/content.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** The most damaged files that the log names one by one. */
const MOST_LOGGED = 100;

const CONTENT_DAMAGED = 'The stored content of a file is not the one that was written.';

/** A stored file with the SHA-256 of its content; a deleted file has no content. */
interface StoredContent extends FileKey {
  fileNo: number;
  hash: string;
  content: string | null;
  deletedAt: number | null;
}

/**
 * Remembers the damage that this process has found. Damaged bytes do not repair themselves, and
 * others may be damaged too, so the service is not ready until an operator has checked the database
 * and restarted it. Intact files can still be read and written.
 */
export class Damage {
  #log: Logger | null = null;
  #found: string | null = null;
  readonly #logged = new Set<string>();

  logTo(log: Logger): void {
    this.#log = log;
  }

  /** Throws `STORAGE_DAMAGED` if any damage was found. */
  assertNone(): void {
    if (this.#found !== null) throw new MemoryError('STORAGE_DAMAGED', this.#found);
  }

  /** Remembers a `STORAGE_DAMAGED`, and logs each kind once; other errors are left alone. */
  note(error: MemoryError): MemoryError {
    if (error.code === 'STORAGE_DAMAGED') this.#add(error, error.message, {});
    return error;
  }

  /** Throws `STORAGE_DAMAGED` if the content differs from what was written. */
  checkContent(file: StoredContent): void {
    const { scope, fileNo, content, deletedAt, hash } = file;
    const isMarked = (content === null) === (deletedAt !== null);
    if (isMarked && hashText(content ?? '') === hash) return;
    const error = new MemoryError('STORAGE_DAMAGED', CONTENT_DAMAGED, {
      details: { reason: 'content' },
    });
    // Without the path, which names a user.
    const scopeId = toScopeId(scope);
    this.#add(error, `${scopeId} ${fileNo}`, { scopeId, fileNo });
    throw error;
  }

  #add(error: MemoryError, place: string, fields: object): void {
    this.#found ??= error.message;
    if (this.#logged.has(place) || this.#logged.size >= MOST_LOGGED) return;
    this.#logged.add(place);
    this.#log?.error(
      { code: error.code, ...fields, error: describeError(error.cause ?? error) },
      `${error.message} The service is not ready: run memory-service verify, and restore a backup.`,
    );
  }
}
