import type { FileKey } from '../../../core/contracts/records.ts';
import type { Logger } from '../../../core/contracts/plugin.ts';
import { describeError } from '../../../core/describe-error.ts';
import { MemoryError } from '../../../core/errors.ts';
import { hashText } from '../../../core/files/content.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** The log names at most so many damaged files one by one. */
const MOST_LOGGED = 100;

const CONTENT_DAMAGED = 'The stored content of a file is not the one that was written.';

/** A file as it is stored, with the SHA-256 of its content; a deleted one has no content. */
interface StoredContent extends FileKey {
  fileNo: number;
  hash: string;
  content: string | null;
  deletedAt: number | null;
}

/**
 * The damage that this process has found. Bytes that changed on the disk do not heal, and others may
 * have changed with them, so the service is not ready until an operator has checked the database and
 * restarted it. Sound files are still read and written.
 */
export class Damage {
  #log: Logger | null = null;
  #found: string | null = null;
  readonly #logged = new Set<string>();

  logTo(log: Logger): void {
    this.#log = log;
  }

  /** Throws `STORAGE_DAMAGED` when any was met. */
  assertNone(): void {
    if (this.#found !== null) throw new MemoryError('STORAGE_DAMAGED', this.#found);
  }

  /** Remembers a `STORAGE_DAMAGED`, and logs each kind once; other errors are left alone. */
  note(error: MemoryError): MemoryError {
    if (error.code === 'STORAGE_DAMAGED') this.#add(error, error.message, {});
    return error;
  }

  /** Throws `STORAGE_DAMAGED` unless the content is the one that was written. */
  checkContent(file: StoredContent): void {
    const { scope, fileNo, content, deletedAt, hash } = file;
    const isThere = content !== null || deletedAt !== null;
    if (isThere && hashText(content ?? '') === hash) return;
    const error = new MemoryError('STORAGE_DAMAGED', CONTENT_DAMAGED, {
      details: { reason: 'content' },
    });
    // No path: it names a user.
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
