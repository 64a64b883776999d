import type { ScopeKey, ScopeState } from '../../core/contracts/records.ts';

/** The state of a scope that nobody has written. */
export function emptyScope(scope: ScopeKey): ScopeState {
  return {
    scope,
    version: 0,
    nextFileNo: 1,
    lastMs: 0,
    idCounter: 0,
    files: 0,
    bytes: 0,
    revisions: 0,
    lastWriteAt: null,
    lastQualifyingAt: null,
    chainHead: null,
    chainAfter: null,
    erasedAt: null,
    erasureNumber: 0,
    redactions: 0,
    holdId: null,
    holdKind: null,
    uncovered: false,
    archivedAt: null,
    quota: null,
  };
}
