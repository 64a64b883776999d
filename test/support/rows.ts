import { createHash, randomBytes } from 'node:crypto';
import type { RunRecord } from '../../core/contracts/runs.ts';
import type {
  AccessRecord,
  EventRecord,
  FileKey,
  FileState,
  RevisionAction,
  ScopeKey,
} from '../../core/contracts/records.ts';
import type {
  Current,
  Decision,
  Guard,
  MutateRequest,
  Storage,
} from '../../core/contracts/storage.ts';
import { toUserId } from '../../core/files/paths.ts';

let lastMs = 0;
let counter = 0;

/** A UUIDv7. Ids sort in the order of the calls, unless `ms` sets another time. */
export function makeId(ms?: number): string {
  const time = ms ?? Math.max(Date.now(), lastMs);
  if (ms === undefined) lastMs = time;
  counter += 1;
  const bytes = randomBytes(16);
  bytes.writeUIntBE(time, 0, 6);
  // The counter fills the bits beside the version and the variant.
  bytes.writeUInt16BE(0x7000 | ((counter >>> 14) & 0x0fff), 6);
  bytes.writeUInt16BE(0x8000 | (counter & 0x3fff), 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function makeTraceId(): string {
  return randomBytes(16).toString('hex');
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export interface WriteOptions {
  actor?: string;
  tool?: string | null;
  action?: RevisionAction;
  at?: number;
  id?: string;
  toolCallId?: string | null;
  traceId?: string | null;
  runId?: string | null;
  reason?: string | null;
  /** The step back to the previous content. Default: a keyframe of it. */
  step?: (before: string) => { delta: Uint8Array | null; keyframe: string | null };
}

/**
 * The decision of a write of one file, with rows as core makes them but without the rules of core.
 * `content` maps the current content to the new content; `null` deletes the file.
 */
export function decideWrite(
  key: FileKey,
  content: (before: string | null) => string | null,
  options: WriteOptions = {},
): (current: Current) => Decision<{ version: number; revisionId: string }> {
  return (current) => {
    const scope = current.scope(key.scope);
    const file = current.file(key);
    const before = file?.content ?? null;
    const after = content(before);
    const at = options.at ?? Date.now();
    const id = options.id ?? makeId();
    const version = (file?.version ?? 0) + 1;
    const size = after === null ? 0 : Buffer.byteLength(after);
    const fileNo = file?.fileNo ?? scope.nextFileNo;
    const step = options.step?.(before ?? '') ?? { delta: null, keyframe: before };
    const state: FileState = {
      ...key,
      fileNo,
      version,
      size,
      lines: after === null || after === '' ? 0 : after.split('\n').length,
      hash: sha256(after ?? ''),
      deletedAt: after === null ? at : null,
      createdAt: file?.createdAt ?? at,
      updatedAt: at,
      revisions: (file?.revisions ?? 0) + 1,
      writes: version,
      latestActor: options.actor ?? 'agent',
      latestRevisionId: id,
      lineageId: file?.lineageId ?? null,
      chainRows: step.keyframe === null ? (file?.chainRows ?? 0) + 1 : 0,
      chainBytes: step.keyframe === null ? (file?.chainBytes ?? 0) + (step.delta?.length ?? 0) : 0,
      content: after,
    };
    // Not as core makes them: a driver keeps what it gets.
    const chainHead = sha256(`chain ${id}`);
    const common = {
      ...key,
      fileNo,
      actor: state.latestActor,
      tool: options.tool === undefined ? 'memory_write' : options.tool,
      toolCallId: options.toolCallId ?? null,
      traceId: options.traceId ?? null,
      at,
    };
    return {
      result: { version, revisionId: id },
      writes: 1,
      changes: {
        scopes: [
          {
            ...scope,
            version: scope.version + 1,
            nextFileNo: Math.max(scope.nextFileNo, fileNo + 1),
            files: scope.files + Number(after !== null) - Number(before !== null),
            bytes: scope.bytes + size - (file?.size ?? 0),
            revisions: scope.revisions + 1,
            lastWriteAt: at,
            lastQualifyingAt: at,
            chainHead,
            chainAfter: id,
          },
        ],
        files: [state],
        revisions: [
          {
            ...common,
            operator: null,
            ...step,
            id,
            version,
            action:
              options.action ?? (after === null ? 'delete' : before === null ? 'create' : 'update'),
            reason: options.reason ?? null,
            runId: options.runId ?? null,
            size,
            addedLines: 1,
            removedLines: 2,
            peerId: null,
            reverts: null,
            redacted: false,
            redactedBefore: false,
            rowHash: null,
            redactionId: null,
            lineageId: state.lineageId,
            keyId: null,
            commitId: null,
            hash: state.hash,
            contentSalt: sha256(id).slice(32),
            contentSeal: null,
            previousHash: scope.chainHead,
            chainHash: chainHead,
            hashFormat: 2,
            existedBefore: before !== null,
            existsAfter: after !== null,
          },
        ],
        access: [
          {
            ...common,
            key: null,
            userId: toUserId(key.scope),
            runId: null,
            id: makeId(),
            action: 'write',
            revisionId: id,
            version,
            lines: '',
            rank: null,
            outcome: 'ok',
          },
        ],
      },
    };
  };
}

/** Writes one file through `mutate`. */
export function write(
  storage: Storage,
  key: FileKey,
  content: string | null | ((before: string | null) => string | null),
  options: WriteOptions & { guards?: readonly Guard[] } = {},
): Promise<{ version: number; revisionId: string }> {
  const { guards } = options;
  const request: MutateRequest = {
    scopes: [key.scope],
    files: [key],
    ...(guards === undefined ? {} : { guards }),
  };
  const next = typeof content === 'function' ? content : () => content;
  return storage.mutate(request, decideWrite(key, next, options));
}

export function accessRow(scope: ScopeKey, more: Partial<AccessRecord> = {}): AccessRecord {
  const at = more.at ?? Date.now();
  return {
    id: makeId(),
    at,
    scope,
    userId: toUserId(scope),
    fileNo: null,
    path: 'notes.md',
    actor: 'agent',
    key: null,
    tool: 'memory_read',
    action: 'read',
    toolCallId: null,
    traceId: null,
    runId: null,
    revisionId: null,
    version: null,
    lines: null,
    rank: null,
    outcome: 'ok',
    ...more,
  };
}

export function eventRow(scope: ScopeKey, more: Partial<EventRecord> = {}): EventRecord {
  return {
    id: makeId(),
    scope,
    traceId: makeTraceId(),
    spanId: '00f067aa0ba902b7',
    parentSpanId: null,
    toolCallId: makeId(),
    callerToolCallId: 'call_1',
    userId: scope === 's' ? null : scope.slice(2),
    kind: 'tool',
    name: 'memory_read',
    status: 'ok',
    errorCode: null,
    startedAt: Date.now(),
    durationMs: 1.25,
    tool: 'memory_read',
    actor: 'agent',
    key: null,
    attributes: { rows: 3, mode: 'text', hit: true },
    spans: [
      {
        spanId: '00f067aa0ba902b8',
        parentSpanId: '00f067aa0ba902b7',
        kind: 'db.read',
        name: 'read the file',
        status: 'error',
        errorCode: 'FILE_NOT_FOUND',
        startedAt: 12,
        durationMs: 0.5,
        attributes: {},
      },
    ],
    ...more,
  };
}

/** A dream run that was just started. */
export function dreamRunRow(
  scope: ScopeKey,
  createdAt: number,
  more: Partial<RunRecord> = {},
): RunRecord {
  return {
    id: makeId(),
    plugin: 'dreaming',
    scope,
    origin: 'schedule',
    dryRun: false,
    mode: 'auto',
    state: 'running',
    outcome: null,
    createdAt,
    startedAt: createdAt,
    endedAt: null,
    watermark: null,
    filesRead: 0,
    filesTouched: 0,
    writes: 0,
    applied: 0,
    waiting: 0,
    isWaiting: false,
    dropped: 0,
    inputTokens: 0,
    outputTokens: 0,
    model: null,
    promptVersion: null,
    errorCode: null,
    errorMessage: null,
    fence: null,
    details: '{}',
    ...more,
  };
}
