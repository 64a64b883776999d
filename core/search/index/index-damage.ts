import { MemoryError } from '../../errors.ts';

/**
 * What the decoders throw: the caller makes the scope's index anew. `scope` is its number among
 * those that were opened together, where that is known.
 */
export function damaged(scope: number | null = null): MemoryError {
  return new MemoryError('INTERNAL', 'The search index is damaged.', {
    details: { reason: 'index_damaged', ...(scope === null ? {} : { scope }) },
  });
}

/** Whether an error is the one that `damaged` makes. */
export function isIndexDamage(error: unknown): boolean {
  return error instanceof MemoryError && error.details?.['reason'] === 'index_damaged';
}

/** The scope that such an error names. */
export function damagedScope(error: unknown): number | null {
  const scope = error instanceof MemoryError ? error.details?.['scope'] : null;
  return typeof scope === 'number' ? scope : null;
}
