import { toMemoryError } from '../../errors.ts';
import { explainProviderError } from '../../providers/provider-failure.ts';

/** The failures of an embedder since the start, and the last one until it works again. */
export class EmbeddingFailures {
  count = 0;
  /** The reason of the last failure, and what it means in words. */
  last: { reason: string; inWords: string | null } | null = null;
  /** The last failure, also once the embedder works again. */
  error: unknown = null;

  record(error: unknown): void {
    this.count += 1;
    this.error = error;
    this.last = {
      reason: String(toMemoryError(error).details?.['reason'] ?? 'failed'),
      inWords: explainProviderError(error),
    };
  }

  /** Notes that the embedder works. */
  clear(): void {
    this.last = null;
  }
}
