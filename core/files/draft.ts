import type {
  AccessRecord,
  FileKey,
  FileState,
  NewRevision,
  PrunedRevision,
  RevisionAction,
  ScopeKey,
  ScopeState,
} from '../contracts/records.ts';
import type { Changes, Current } from '../contracts/storage.ts';
import type { Caller, WriteResult } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { checkContent, type ContentFacts, NO_CONTENT } from './content.ts';
import { appendToChain, HASH_FORMAT } from '../history/chain.ts';
import { diffTexts } from '../history/delta.ts';
import { encodeDelta } from '../history/delta/codec.ts';
import { isExcludedFromDreams } from './dream-exclusion.ts';
import { Lineages } from './lineage.ts';
import { checkOverlaps } from './overlaps.ts';
import { toIdMs } from '../ids/id-time.ts';
import { createScopeIds, type InstanceIds } from '../ids/ids.ts';
import type { Screening, ScreenedLine } from '../screening/screening.ts';
import { newSpace } from '../access/spaces.ts';
import { fileNotFound, SHARED, toOwner, toPhysicalPath, toUserId } from './paths.ts';
import { NO_LINES } from '../telemetry/shown-lines.ts';

/** The most revisions between two keyframes, which limits how far a read walks back. */
const KEYFRAME_ROWS = 64;
/** A chain of deltas has at most twice the file's bytes, or twice this for a shorter file. */
const KEYFRAME_FLOOR_BYTES = 4096;
/** A delta that is larger than the older text by more than this is stored as that text. */
const DELTA_SLACK_BYTES = 256;

/** Who writes, and how. */
export interface Writing {
  caller: Caller;
  /** The path of a file in the caller's form, for error messages. */
  toPath: (key: FileKey) => string;
  /** Whether the write makes its user eligible for dreaming; default `true`. */
  triggersDream?: boolean | undefined;
}

/** The caller of a write that neither a tool call makes, nor a user asks for. */
export const NO_TOOL_CALL = { userId: null, tool: null, toolCallId: null } as const;

/** The new state of a file. `content: null` deletes it. `write` creates or updates it. */
export interface FileChange {
  content: string | null;
  facts: ContentFacts;
  action: RevisionAction | 'write';
  reason: string | null;
  /** The content before it as the history will have it, where a redaction replaces that, too. */
  before?: string;
  /** What a move brings along: screening looks at what is new in it. */
  moved?: string;
  /** Set for what this service exported: a secret in it is flagged only. */
  isOwnExport?: boolean;
  /** What a revert takes back: see `RevisionRecord`. */
  reverts?: string | undefined;
}

/** The actions that may bring text which was not in memory before. */
const SCREENED: ReadonlySet<string> = new Set<FileChange['action']>([
  'write',
  'create',
  'update',
  'delete',
  'move',
]);

/** The chain of an archive's scope: see {@link ScopeState}. `newest` is its newest revision. */
export interface AdoptedChain {
  head: string | null;
  after: string | null;
  newest: string | null;
}

/** The result of a write. */
export type Written = Omit<WriteResult, 'path'>;

/**
 * The rows of one mutation while `decide` makes them up: pure and synchronous, one draft a try.
 * Only the write path (`commit.ts`) makes one.
 */
export class Draft {
  readonly #current: DraftBase;
  readonly #now: number;
  readonly #ids: InstanceIds;
  readonly #caller: Caller;
  readonly #toPath: Writing['toPath'];
  readonly #triggersDream: boolean;
  readonly #maxFilesPerUser: number;
  readonly #screening: Pick<Screening, 'admit' | 'admitText' | 'admitPath'>;
  readonly #masked: ScreenedLine[] = [];
  readonly #scopes = new Map<ScopeKey, ScopeDraft>();
  readonly #files = new Map<string, FileState>();
  readonly #lineages = new Lineages();
  readonly #revisions: NewRevision[] = [];
  readonly #restored = new Set<NewRevision>();
  readonly #pruned: PrunedRevision[] = [];
  readonly #access: AccessRecord[] = [];

  constructor(
    current: DraftBase,
    options: Writing & {
      now: number;
      ids: InstanceIds;
      maxFilesPerUser: number;
      screening: Pick<Screening, 'admit' | 'admitText' | 'admitPath'>;
    },
  ) {
    this.#current = current;
    this.#now = options.now;
    this.#ids = options.ids;
    this.#caller = options.caller;
    this.#toPath = options.toPath;
    this.#triggersDream = options.triggersDream ?? true;
    this.#maxFilesPerUser = options.maxFilesPerUser;
    this.#screening = options.screening;
  }

  /** The file as it is under the lock, when it exists. */
  existing(key: FileKey): (FileState & { content: string }) | null {
    const file = this.file(key);
    return file === null || file.content === null
      ? null
      : (file as FileState & { content: string });
  }

  /** The file as it is under the lock. Throws `FILE_NOT_FOUND` when there is none. */
  required(key: FileKey): FileState & { content: string } {
    const file = this.existing(key);
    if (file === null) throw fileNotFound(this.#toPath(key));
    return file;
  }

  /** Throws `VERSION_CONFLICT` unless the file is at that version; 0 is a file that does not exist. */
  expectVersion(key: FileKey, expected: number | undefined): void {
    if (expected === undefined) return;
    const actual = this.existing(key)?.version ?? 0;
    if (actual === expected) return;
    const path = this.#toPath(key);
    throw versionConflict(path, { expected, actual });
  }

  /** Throws `VERSION_CONFLICT` unless as many redactions changed past versions of the scope. */
  expectRedactions(scope: ScopeKey, expected: number | undefined): void {
    const actual = this.#current.scope(scope).redactions;
    if (expected === undefined || actual === expected) return;
    throw new MemoryError('VERSION_CONFLICT', 'A redaction changed the history meanwhile.', {
      details: { reason: 'redacted' },
    });
  }

  /** Changes one file: its row, a revision with the step back, an access row. */
  put(key: FileKey, asked: FileChange): Written {
    const before = this.file(key);
    const { change, masked } = this.#screen(key, before, asked);
    const exists = before !== null && before.content !== null;
    const scope = this.#scope(key.scope);
    if (exists && before.content === change.content) {
      const { fileNo, version, latestRevisionId: revisionId } = before;
      this.#logWrite(scope, { key, fileNo, version, revisionId });
      return {
        version: before.version,
        revisionId: before.latestRevisionId,
        created: false,
        unchanged: true,
        ...masked,
      };
    }
    if (!exists && change.content !== null) this.#checkQuota(scope.state);

    const id = scope.ids.next();
    const at = scope.ids.lastMs;
    const version = (before?.version ?? 0) + 1;
    const fileNo = before?.fileNo ?? scope.state.nextFileNo++;
    const step = stepBack(before, change);
    const { scope: scopeKey, path } = key;
    const { size, lines, hash } = change.facts;
    const { action } = change;
    const lineageId = this.#lineages.of(before, { scope: scopeKey, id, fileNo, action });
    // No spread: with so many properties it makes objects of twenty times the size.
    const after: FileState = {
      scope: scopeKey,
      path,
      fileNo,
      version,
      size,
      lines,
      hash,
      content: change.content,
      deletedAt: change.content === null ? at : null,
      createdAt: before?.createdAt ?? at,
      updatedAt: at,
      revisions: (before?.revisions ?? 0) + 1,
      writes: version,
      latestActor: this.#caller.actor,
      latestRevisionId: id,
      lineageId,
      chainRows: step.chainRows,
      chainBytes: step.chainBytes,
    };
    this.#files.set(toPhysicalPath(key), after);
    this.#revisions.push({
      scope: scopeKey,
      path,
      id,
      fileNo,
      version,
      action: action === 'write' ? (exists ? 'update' : 'create') : action,
      actor: this.#caller.actor,
      operator: this.#caller.operator ?? null,
      reason: change.reason,
      tool: this.#caller.tool,
      toolCallId: this.#caller.toolCallId,
      traceId: this.#caller.trace.traceId,
      runId: this.#caller.runId ?? null,
      at,
      size,
      hash,
      contentSalt: null,
      contentSeal: null,
      previousHash: null,
      chainHash: null,
      hashFormat: HASH_FORMAT,
      rowHash: null,
      redactionId: null,
      lineageId,
      keyId: this.#caller.apiKey?.id ?? null,
      commitId: null,
      addedLines: step.addedLines,
      removedLines: step.removedLines,
      peerId: null,
      reverts: change.reverts ?? null,
      redacted: false,
      redactedBefore: false,
      existedBefore: exists,
      existsAfter: change.content !== null,
      delta: step.delta,
      keyframe: step.keyframe,
    });
    this.#logWrite(scope, { key, fileNo, version, revisionId: id });

    scope.state.files += (change.content === null ? 0 : 1) - (exists ? 1 : 0);
    scope.state.bytes += change.facts.size - (before?.size ?? 0);
    scope.state.revisions += 1;
    scope.state.lastWriteAt = at;
    if (this.#triggersDream && key.scope !== SHARED && !isExcludedFromDreams(key.path)) {
      scope.state.lastQualifyingAt = at;
    }
    return { version, revisionId: id, created: !exists, unchanged: false, ...masked };
  }

  /** Masks or refuses what must not be stored, except in what was in memory already. */
  #screen(
    key: FileKey,
    before: FileState | null,
    change: FileChange,
  ): { change: FileChange; masked?: { masked: ScreenedLine[] } } {
    if (!SCREENED.has(change.action) || change.isOwnExport === true) return { change };
    const reason =
      change.reason === null ? null : this.#screening.admitText(change.reason, 'reason').content;
    // A deletion brings no text but its reason.
    if (change.content === null) return { change: { ...change, reason } };
    const known = before?.content ?? null;
    if (known === null) {
      const { scope } = key;
      this.#screening.admitPath(key.path, (path) => this.#toPath({ scope, path }));
    }
    // A move mostly brings only its new path.
    if (change.content === change.moved) return { change: { ...change, reason } };
    const path = this.#toPath(key);
    const { content, masked } = this.#screening.admit({
      before: change.moved ?? known,
      content: change.content,
      path,
    });
    if (masked.length === 0) return { change: { ...change, reason } };
    this.#masked.push(...masked);
    const facts = checkContent(content, Infinity);
    return { change: { ...change, content, facts, reason }, masked: { masked } };
  }

  /**
   * Puts back a file with its newest revisions as another database held them: ids, actors and times
   * are kept. There must be no file of this path, not even a deleted one.
   */
  restore(
    state: Omit<FileState, 'fileNo'>,
    revisions: readonly Omit<NewRevision, 'fileNo'>[],
  ): void {
    const scope = this.#scope(state.scope);
    const exists = state.content !== null;
    if (exists) this.#checkQuota(scope.state);
    this.#bumpClock(scope, state.latestRevisionId);
    const fileNo = scope.state.nextFileNo++;
    scope.state.files += exists ? 1 : 0;
    scope.state.bytes += state.size;
    scope.state.lastWriteAt = Math.max(scope.state.lastWriteAt ?? 0, state.updatedAt);
    this.#addRestored(scope, { ...state, fileNo, revisions: 0 }, revisions);
  }

  /**
   * Gives a scope without revisions the chain of an archive. It sets the head before the revisions are
   * imported, so that writes in between follow the head. Returns `false` if the scope has another
   * chain already.
   */
  adoptChain(key: ScopeKey, { head, after, newest }: AdoptedChain): boolean {
    const scope = this.#scope(key);
    const { chainHead, chainAfter, revisions } = scope.state;
    if (chainHead === head && chainAfter === after && revisions > 0) return true;
    if (chainHead !== null || chainAfter !== null || revisions > 0) return false;
    scope.state.chainHead = head;
    scope.state.chainAfter = after;
    if (newest !== null) this.#bumpClock(scope, newest);
    return true;
  }

  /** Adds what an archive has of pruned revisions. */
  addPruned(key: ScopeKey, pruned: readonly Omit<PrunedRevision, 'scope'>[]): void {
    this.#scope(key);
    this.#pruned.push(...pruned.map((each) => ({ ...each, scope: key })));
  }

  /** Ids of later writes must come after the restored ones. */
  #bumpClock(scope: ScopeDraft, newest: string): void {
    const newestMs = toIdMs(newest);
    if (newestMs < scope.ids.lastMs) return;
    const clock = { ...scope.state, lastMs: newestMs + 1, idCounter: 0 };
    scope.ids = createScopeIds(clock, this.#now, this.#ids);
  }

  /** Puts back revisions that are older than the oldest one of a file that exists or is deleted. */
  restoreOlder(file: FileState, revisions: readonly Omit<NewRevision, 'fileNo'>[]): void {
    this.#addRestored(this.#scope(file.scope), file, revisions);
  }

  #addRestored(
    scope: ScopeDraft,
    file: FileState,
    revisions: readonly Omit<NewRevision, 'fileNo'>[],
  ): void {
    const { scope: scopeKey, path, fileNo } = file;
    for (const revision of revisions) {
      const restored = { ...revision, fileNo };
      this.#revisions.push(restored);
      this.#restored.add(restored);
      const { id: revisionId, version } = revision;
      this.#logWrite(scope, { key: { scope: scopeKey, path }, fileNo, version, revisionId });
    }
    scope.state.revisions += revisions.length;
    const after = { ...file, revisions: file.revisions + revisions.length };
    this.#files.set(toPhysicalPath(file), after);
  }

  /**
   * The file as it is under the lock, a deleted one too; `null` when there never was one. One draft
   * may write a file several times: each write builds on the one before.
   */
  file(key: FileKey): FileState | null {
    return this.#files.get(toPhysicalPath(key)) ?? this.#current.file(key);
  }

  /** Makes two revisions of this draft each other's peer, as those of a move are. */
  pair(a: string, b: string): void {
    for (const revision of this.#revisions) {
      if (revision.id === a) revision.peerId = b;
      if (revision.id === b) revision.peerId = a;
    }
    this.#lineages.move(a, b);
  }

  /** The number of revisions in the draft. */
  get revisionCount(): number {
    return this.#revisions.length;
  }

  /** What screening replaced in the draft. */
  get masked(): readonly ScreenedLine[] {
    return this.#masked;
  }

  /** The rows to write. Called once. */
  changes(extra: Pick<Changes, 'idempotency' | 'audit' | 'holds' | 'runs'>): Changes {
    const revisions = this.#revisions.filter((revision) => !this.#restored.has(revision));
    this.#lineages.settle([...this.#files.values()], revisions);
    checkOverlaps(this.#current, [...this.#files.values()], this.#toPath);
    // Only now, since the two revisions of a move name each other.
    for (const revision of revisions) {
      if (revisions.length > 1) revision.commitId = revisions[0]?.id ?? null;
      appendToChain(this.#scope(revision.scope).state, revision);
    }
    // A space exists from its first write on.
    const spaces = [...this.#scopes.keys()]
      .filter((scope) => toOwner(scope).spaceId !== null)
      .filter((scope) => this.#current.space(scope) === null)
      .map((scope) => newSpace(scope, this.#now));
    const scopes = [...this.#scopes.values()].map(({ state, ids }) => ({
      ...state,
      version: state.version + 1,
      lastMs: ids.lastMs,
      idCounter: ids.idCounter,
    }));
    return {
      scopes,
      files: [...this.#files.values()],
      revisions: this.#revisions,
      ...(spaces.length === 0 ? {} : { spaces }),
      ...(this.#pruned.length === 0 ? {} : { pruned: this.#pruned }),
      access: this.#access,
      ...extra,
    };
  }

  #scope(key: ScopeKey): ScopeDraft {
    let draft = this.#scopes.get(key);
    if (draft === undefined) {
      const state = { ...this.#current.scope(key) };
      draft = { state, ids: createScopeIds(state, this.#now, this.#ids) };
      this.#scopes.set(key, draft);
    }
    return draft;
  }

  #checkQuota(state: ScopeState): void {
    const max = state.quota ?? this.#maxFilesPerUser;
    if (state.scope === SHARED || state.files < max) return;
    throw tooManyFiles(state.files, max);
  }

  #logWrite(
    scope: ScopeDraft,
    {
      key,
      fileNo,
      version,
      revisionId,
    }: { key: FileKey; fileNo: number; version: number; revisionId: string },
  ): void {
    const id = scope.ids.next();
    this.#access.push({
      id,
      at: scope.ids.lastMs,
      scope: key.scope,
      userId: toUserId(key.scope) ?? this.#caller.userId,
      fileNo,
      path: key.path,
      actor: this.#caller.actor,
      key: this.#caller.apiKey?.name ?? null,
      tool: this.#caller.tool,
      action: 'write',
      toolCallId: this.#caller.toolCallId,
      traceId: this.#caller.trace.traceId,
      runId: this.#caller.runId ?? null,
      revisionId,
      version,
      lines: NO_LINES,
      rank: null,
      outcome: 'ok',
    });
  }
}

/** What a draft builds on. */
type DraftBase = Pick<Current, 'scope' | 'file' | 'space' | 'overlaps'>;

interface ScopeDraft {
  state: ScopeState;
  ids: ReturnType<typeof createScopeIds>;
}

interface StepBack {
  delta: Uint8Array | null;
  keyframe: string | null;
  addedLines: number;
  removedLines: number;
  chainRows: number;
  chainBytes: number;
}

/** How to restore the content before a change: by a delta, a keyframe, or neither for a new file. */
function stepBack(before: FileState | null, change: FileChange): StepBack {
  const reset = { chainRows: 0, chainBytes: 0 };
  if (before === null || before.content === null) {
    return {
      delta: null,
      keyframe: null,
      addedLines: change.facts.lines,
      removedLines: 0,
      ...reset,
    };
  }
  const older = change.before ?? before.content;
  if (change.content === null) {
    return { delta: null, keyframe: older, addedLines: 0, removedLines: before.lines, ...reset };
  }
  const { delta, addedLines, removedLines } = diffTexts(older, change.content);
  const encoded = encodeDelta(delta);
  const chainRows = before.chainRows + 1;
  const chainBytes = before.chainBytes + encoded.byteLength;
  const heaviest = 2 * Math.max(change.facts.size, KEYFRAME_FLOOR_BYTES);
  // The delta of a rewritten file holds the whole older text plus the overhead of its hunks.
  const isRewritten = encoded.byteLength > before.size + DELTA_SLACK_BYTES;
  const isKeyframe = isRewritten || chainRows >= KEYFRAME_ROWS || chainBytes > heaviest;
  return {
    delta: isRewritten ? null : encoded,
    keyframe: isKeyframe ? older : null,
    addedLines,
    removedLines,
    ...(isKeyframe ? reset : { chainRows, chainBytes }),
  };
}

/** The error of a write that expected another version; 0 means that the file doesn't exist. */
export function versionConflict(
  path: string,
  { expected, actual }: { expected: number; actual: number },
): MemoryError {
  const state = actual === 0 ? 'does not exist' : `is at version ${actual}`;
  const wanted = expected === 0 ? 'it must not exist' : `not ${expected}`;
  return new MemoryError('VERSION_CONFLICT', `${path} ${state}, ${wanted}.`, {
    details: { path, expected, actual },
  });
}

/**
 * The change that restores an earlier content; `null` deletes the file. The content is accepted even
 * if the limit is lower now.
 */
export function revertTo(
  content: string | null,
  reason: string | null,
  reverts?: string,
): FileChange {
  if (content === null) return { ...deletion('revert', reason), reverts };
  const facts = checkContent(content, Number.MAX_SAFE_INTEGER);
  return { content, facts, action: 'revert', reason, reverts };
}

/** The change that deletes a file. */
export function deletion(action: RevisionAction, reason: string | null): FileChange {
  return { content: null, facts: NO_CONTENT, action, reason };
}

/** The error of a new file for a user who has as many as are allowed. */
export function tooManyFiles(files: number, max: number): MemoryError {
  return new MemoryError(
    'QUOTA_EXCEEDED',
    `The memory has ${files} files; at most ${max} are allowed.`,
    { details: { limit: 'maxFilesPerUser', max } },
  );
}
