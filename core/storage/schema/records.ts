import type {
  AccessRecord,
  AuditRecord,
  EventRecord,
  FileListing,
  FileRecord,
  FileState,
  HoldRecord,
  IdempotencyRecord,
  LeaseRecord,
  NewRevision,
  PrunedRevision,
  RevisionRecord,
  RevisionStep,
  ScopeKey,
  ScopeState,
  ShownRow,
  SpaceRecord,
  SpanAttributes,
  SpanRecord,
} from '../../contracts/records.ts';
import type { KeyRecord } from '../../contracts/access.ts';
import type { CheckOutcome, CheckResultRecord, CheckRunRecord } from '../../contracts/checks.ts';
import { MemoryError } from '../../errors.ts';
import { toHex, toUuid } from './ids.ts';
import { toIntegerOrNull, toText, toTextOrNull } from './rows.ts';
import { mapTable, type Unusual } from './table-map.ts';
import { toUserId } from '../../files/paths.ts';

export const META = mapTable<{ key: string; value: string }>('svc_meta');

export const SCOPES = mapTable<ScopeState>(
  'svc_scope',
  { scope: 'scope-text', uncovered: 'boolean' },
  { fixed: ['scope'] },
);

/**
 * A scope without a row. File numbers start at 1, because 0 is the scope itself in svc_file_stat.
 */
export function newScopeState(scope: ScopeKey): ScopeState {
  return SCOPES.blank({ scope, nextFileNo: 1 });
}

/** The settings of spaces. */
export const SPACES = mapTable<SpaceRecord>('svc_space', {
  metadata: 'json',
  dream: 'boolean',
  exclusivePaths: 'boolean',
});

export const HOLDS = mapTable<HoldRecord>('svc_scope_hold', {
  scope: 'scope-text',
  id: { name: 'hold_id' },
  kind: { name: 'hold_kind' },
  details: { name: 'hold_details', kind: 'json' },
});

const lines = { name: 'line_count' };

// A path keeps its number, so the index by number never changes.
export const FILES = mapTable<FileRecord>('svc_file', { lines }, { fixed: ['file_no'] });

/** Files with the column `content` of `svc_content`. */
export const FILE_STATES = mapTable<FileState>('svc_file', { lines, content: 'text' });

/** The columns of `svc_file_stat`; NULL if nothing was ever read. */
export const READS: Unusual<Pick<FileListing, 'reads' | 'lastReadAt'>> = {
  reads: { kind: 'number', fromCell: (cell) => toIntegerOrNull(cell) ?? 0 },
  lastReadAt: 'number',
};

/** Files with the columns `reads` and `last_read_at` of `svc_file_stat`. */
export const FILE_LISTINGS = mapTable<FileListing>('svc_file', { lines, ...READS });

type FileVersion = Pick<FileState, 'scope' | 'fileNo' | 'version'>;

export const CONTENTS = mapTable<FileVersion & Pick<FileState, 'content'>>('svc_content');
export const INDEX_QUEUE = mapTable<FileVersion>('svc_index_queue');

/**
 * The reads of a file. The whole scope has the file number 0, and alone has `lastShownAt`, when an agent
 * was last shown something.
 */
export interface FileStat {
  scope: ScopeKey;
  fileNo: number;
  reads: number;
  lastReadAt: number | null;
  lastShownAt: number | null;
}

export const FILE_STATS = mapTable<FileStat>('svc_file_stat');

/** In place of a hash that a redaction removed: the column takes no NULL. */
const NO_HASH = '0'.repeat(64);

const revision: Unusual<RevisionRecord> = {
  // Of the file.
  path: 'text',
  addedLines: { name: 'added' },
  removedLines: { name: 'removed' },
  contentSalt: 'hex',
  redacted: 'boolean',
  redactedBefore: 'boolean',
  existedBefore: 'boolean',
  existsAfter: 'boolean',
  hash: {
    toCell: (hash) => hash ?? NO_HASH,
    fromCell: (cell) => {
      const hash = toHex(cell as Uint8Array);
      return hash === NO_HASH ? null : hash;
    },
  },
};
const STEP = ['delta', 'keyframe'];

/** Revisions without their deltas, with the column `path` of their file. */
export const REVISIONS = mapTable<RevisionRecord>('svc_revision', revision, { without: STEP });
export const REVISION_STEPS = mapTable<RevisionStep>(
  'svc_revision',
  { existedBefore: 'boolean' },
  { only: ['version', 'existed_before', ...STEP] },
);
export const NEW_REVISIONS = mapTable<NewRevision>('svc_revision', revision);

export const PRUNED_REVISIONS = mapTable<PrunedRevision>('svc_pruned_revision', {
  contentSalt: 'hex',
  shown: { toCell: packShown, fromCell: unpackShown },
});

const ID_BYTES = 16;
const SHOWN_BYTES = ID_BYTES + 32;

/** Ids and hashes, one after the other. */
function packShown(shown: readonly ShownRow[] | null): Uint8Array | null {
  if (shown === null) return null;
  const hex = shown.map(({ id, rowHash }) => id.replaceAll('-', '') + rowHash).join('');
  return Buffer.from(hex, 'hex');
}

function unpackShown(cell: unknown): ShownRow[] | null {
  if (cell === null || cell === undefined) return null;
  const bytes = Buffer.from(cell as Uint8Array);
  return Array.from({ length: Math.floor(bytes.length / SHOWN_BYTES) }, (_, index) => {
    const at = index * SHOWN_BYTES;
    const id = toUuid(bytes.subarray(at, at + ID_BYTES));
    return { id, rowHash: bytes.toString('hex', at + ID_BYTES, at + SHOWN_BYTES) };
  });
}

export const ACCESS_ROWS = mapTable<AccessRecord>('svc_access_log', {
  // Filled for shared memory and spaces alone, where the scope does not name the user. So the index by
  // user has few rows.
  userId: {
    toCell: (userId, access: AccessRecord) => (toUserId(access.scope) === null ? userId : null),
    fromCell: (cell, scope) =>
      scope === undefined ? null : (toUserId(scope) ?? toTextOrNull(cell)),
  },
  lines: { name: 'lines_shown' },
  key: { name: 'key_name' },
});

export const EVENTS = mapTable<Omit<EventRecord, 'parent' | 'knownErasure'>>('svc_event', {
  attributes: 'json',
  key: { name: 'key_name' },
  spans: { toCell: packSpans, fromCell: unpackSpans },
});

type PackedSpan = [
  spanId: string,
  parentSpanId: string | null,
  kind: string,
  name: string,
  /** `null` for a successful span, empty for a failure without a code. */
  errorCode: string | null,
  startedAt: number,
  durationMs: number,
  attributes: SpanAttributes,
];

/** Without member names, which would be half of the size of a call's spans. */
function packSpans(spans: readonly SpanRecord[]): string {
  return JSON.stringify(
    spans.map((span): PackedSpan => [
      span.spanId,
      span.parentSpanId,
      span.kind,
      span.name,
      span.status === 'ok' ? null : (span.errorCode ?? ''),
      span.startedAt,
      span.durationMs,
      span.attributes,
    ]),
  );
}

function unpackSpans(cell: unknown): SpanRecord[] {
  // eslint-disable-next-line no-restricted-syntax -- this service wrote it
  return (JSON.parse(toText(cell)) as PackedSpan[]).map(
    ([spanId, parentSpanId, kind, name, errorCode, startedAt, durationMs, attributes]) => ({
      spanId,
      parentSpanId,
      kind: kind as SpanRecord['kind'],
      name,
      status: errorCode === null ? 'ok' : 'error',
      errorCode: errorCode === '' ? null : errorCode,
      startedAt,
      durationMs,
      attributes,
    }),
  );
}

export const IDEMPOTENCY_ROWS = mapTable<IdempotencyRecord>('svc_idempotency');

export const AUDIT_ROWS = mapTable<AuditRecord>(
  'svc_admin_audit',
  { details: 'json' },
  { without: ['scope_id'] },
);

/** An audit row with the number of the scope that was changed; 0 for none. */
export type NewAuditRow = AuditRecord & { scopeId: number };

export const NEW_AUDIT_ROWS = mapTable<NewAuditRow>('svc_admin_audit', {
  details: 'json',
  scopeId: {},
});

/** A lease with the number of the scope whose work it is for; 0 for the whole service. */
export type StoredLease = LeaseRecord & { scopeId: number };

export const LEASES = mapTable<StoredLease>('svc_lease', { scopeId: {} });

/** A JSON value by its key. */
export interface Setting {
  key: string;
  value: unknown;
}

export const SETTINGS = mapTable<Setting>('svc_config', {
  value: { toCell: toSettingText, fromCell: parseSetting },
});

/** The stored text of a setting. Throws `INTERNAL` for what is not a JSON value. */
export function toSettingText(value: unknown): string {
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new MemoryError('INTERNAL', 'A setting is a JSON value.');
  return json;
}

/** `undefined` for a value that was damaged by hand. */
function parseSetting(cell: unknown): unknown {
  try {
    // eslint-disable-next-line no-restricted-syntax -- this service wrote it
    return JSON.parse(toText(cell)) as unknown;
  } catch {
    return undefined;
  }
}

/** Named keys, and tokens of operators. */
export const KEYS = mapTable<KeyRecord>('svc_api_key', { rules: 'json' });

/** How many writes of a budget were made. */
export interface Budget {
  /** Of the mutation that counted first. */
  scopeId: number;
  name: string;
  used: number;
}

export const BUDGETS = mapTable<Budget>('svc_budget', { scopeId: {} }, { fixed: ['scope_id'] });

export const CHECK_RUNS = mapTable<CheckRunRecord>('svc_check_run');
export const CHECK_RESULTS = mapTable<CheckResultRecord>('svc_check_result', {
  passed: 'boolean',
  places: 'json',
});

/** The columns of a result that say its outcome. */
export const CHECK_OUTCOMES = mapTable<CheckOutcome>(
  'svc_check_result',
  { passed: 'boolean' },
  { only: ['run_id', 'check_no', 'name', 'passed', 'place'] },
);
