import type { Settings } from '../config/settings.ts';
import type { FileKey, FileRecord, ScopeKey } from '../contracts/records.ts';
import type { InspectionStore } from '../contracts/inspection.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type { Screening } from '../screening/screening.ts';
import { IMPORT_ACTOR } from '../files/service-actors.ts';
import { hashText } from '../files/content.ts';
import type { Files } from '../files/files.ts';
import { isErased } from '../files/hold.ts';
import type { KnownErasures } from '../files/known-erasures.ts';
import {
  type FileToImport,
  type ImportedFiles,
  isSameRevision,
  planImport,
  readSeam,
} from '../files/imported-files.ts';
import { type AdoptedChain, tooManyFiles } from '../files/draft.ts';
import { labelOf, SHARED, toFilteredScope, toOwner, toPhysicalPath } from '../files/paths.ts';
import type { IdSource } from '../ids/ids.ts';
import type {
  ArchiveManifest,
  ImportedFile,
  ImportSummary,
  OnExisting,
  SkippedItem,
  SourceName,
} from '../schemas/archive.ts';
import { ImportAudit } from './import-audit.ts';
import { invalidArchive } from './invalid-archive.ts';
import {
  type ArchivedFile,
  type ArchivedRevision,
  compareKeys,
  type OlderRevisions,
  type OpenArchive,
  readArchive,
  type ReadOptions,
} from './read.ts';
import type { ArchivedChain } from './read-chain.ts';
import { toSkipped } from './skipped-file.ts';
import { listScopeFiles, requireInspection } from './scopes.ts';

/** What {@link importMemory} needs. */
export interface ImportDependencies {
  storage: Storage;
  files: ImportedFiles & Pick<Files, 'checkWrites'>;
  limits: Settings['limits'];
  /** What an import of another program's export, or of a folder, passes as any write does. */
  screening: Pick<Screening, 'admit' | 'admitPath'>;
  ids: IdSource;
  /** An import writes nothing of a user who was erased since it began. */
  erasures: Pick<KnownErasures, 'latest'>;
  now(): number;
}

/** How an archive is imported. */
export interface ImportOptions {
  onExisting: OnExisting;
  dryRun: boolean;
  caller: AuditCaller | null;
  /** The other program, or the folder, that the archive was made of. */
  from?: SourceName;
  /** Whether files that can't be taken are skipped and named. Otherwise nothing is imported then. */
  goesOn?: boolean;
}

/** The lines of an import. */
export type Imported = AsyncGenerator<ImportedFile | SkippedItem, ImportSummary>;

/** Files written at once: SQLite commits them together. */
const FILES_AT_ONCE = 16;
/** Conflicts that an error names. */
const NAMED_CONFLICTS = 20;

/**
 * Imports an archive in two passes. The first, before this function resolves, reads all of it and
 * compares it with the memory; it throws for an archive that is not valid, for files that exist
 * with `onExisting: 'refuse'`, for too many files, and while writes there are frozen, and nothing is written then. The second pass
 * writes while the result is iterated; each file is written whole or not at all.
 *
 * Where all that a user has is in the archive, ids, actors, times and history are kept. So an
 * import that was interrupted can simply be repeated. Other users get new versions by the actor
 * `import`. Users who are erased after the beginning are skipped. An audit row is in the transaction
 * of the first write, and another one says how the import ended.
 */
export async function importMemory(
  deps: ImportDependencies,
  open: OpenArchive,
  options: ImportOptions,
): Promise<Imported> {
  const inspection = requireInspection(deps.storage);
  const knownErasure = deps.erasures.latest();
  const plan = await planArchive({ ...deps, inspection }, open, options);
  return options.dryRun
    ? compare({ ...deps, inspection }, open, { ...options, plan })
    : write(deps, open, { ...options, plan, knownErasure });
}

/** The outcome of the first pass. */
interface Plan {
  manifest: ArchiveManifest;
  /** Users that have something that is not in the archive. */
  merged: Set<ScopeKey>;
  /** The chains of the users whose history is kept. */
  chains: ReadonlyMap<ScopeKey, AdoptedChain>;
  files: number;
}

type Reading = ImportDependencies & { inspection: InspectionStore };

function read(deps: ImportDependencies, open: OpenArchive, onBadFile: ReadOptions['onBadFile']) {
  return readArchive(open, { maxFileBytes: deps.limits.maxFileBytes, now: deps.now(), onBadFile });
}

async function planArchive(
  deps: Reading,
  open: OpenArchive,
  { onExisting, dryRun, goesOn = false }: ImportOptions,
): Promise<Plan> {
  const merged = new Set<ScopeKey>();
  const chains = new Map<ScopeKey, AdoptedChain>();
  const conflicts: string[] = [];
  let found = 0;
  let files = 0;
  let user = null as UserPlan | null;
  const finish = async (): Promise<void> => {
    if (user === null) return;
    await user.finish(goesOn ? Infinity : deps.limits.maxFilesPerUser);
    if (!user.isMerged) return;
    merged.add(user.scope);
    found += user.conflicts;
    conflicts.push(...user.named.slice(0, NAMED_CONFLICTS - conflicts.length));
  };
  // The second pass names them.
  const archive = read(deps, open, goesOn ? () => undefined : undefined);
  const moves = new Map<string, string>();
  let next = await archive.next();
  for (; next.done !== true; next = await archive.next()) {
    const file = next.value;
    if (file.type !== 'chain') addMoves(moves, file.revisions);
    if (file.type === 'chain') {
      if (!file.isLast) continue;
      const { scope, head, after, newest } = file;
      chains.set(scope, { head, after, newest });
      if (!(await takesChain(deps.inspection, file))) user?.merge();
      continue;
    }
    if (file.type === 'older') {
      if (await takesId(deps.storage, file)) user?.merge();
      continue;
    }
    files += 1;
    if (user?.scope !== file.key.scope) {
      await finish();
      user = new UserPlan(deps.inspection, file.key.scope);
      const { scope } = user;
      if (!dryRun) deps.files.checkWrites({ userId: null, actor: IMPORT_ACTOR, scopes: [scope] });
    }
    await user.add(file);
    if (!user.isMerged && (await takesId(deps.storage, file))) user.merge();
  }
  await finish();
  await checkMoves(moves, () => read(deps, open, undefined));
  if (onExisting === 'refuse' && found > 0) {
    throw new MemoryError(
      'IMPORT_CONFLICT',
      `${found} ${found === 1 ? 'file exists' : 'files exist'} already with another content. Nothing was imported.`,
      { details: { count: found, paths: conflicts } },
    );
  }
  return { manifest: next.value, merged, chains, files };
}

function addMoves(
  moves: Map<string, string>,
  revisions: readonly Pick<ArchivedRevision, 'id' | 'peerId'>[],
): void {
  for (const { id, peerId } of revisions) if (peerId !== null) moves.set(id, peerId);
}

/**
 * Checks that the two revisions of a move name each other, as `verify` does. The other one may be
 * pruned, or of a user whose memory is not in the archive: only then the archive is read again.
 */
async function checkMoves(
  moves: ReadonlyMap<string, string>,
  read: () => ReturnType<typeof readArchive>,
): Promise<void> {
  const others = new Set<string>();
  for (const [id, peerId] of moves) {
    const back = moves.get(peerId);
    if (back === undefined) others.add(peerId);
    else if (back !== id) throw lacksMove(id);
  }
  if (others.size === 0) return;
  for await (const item of read()) {
    if (item.type === 'chain') continue;
    const found = item.revisions.find(({ id }) => others.has(id));
    if (found !== undefined) throw lacksMove(found.id);
  }
}

function lacksMove(id: string): MemoryError {
  return invalidArchive(`Revision ${id} lacks the other half of its move.`);
}

/** Compares a user's files in an archive with those that the user has, both in path order. */
class UserPlan {
  readonly scope: ScopeKey;
  isMerged = false;
  conflicts = 0;
  readonly named: string[] = [];
  readonly #existing: ExistingFiles;
  /** Files that exist afterwards. */
  #files = 0;

  constructor(inspection: InspectionStore, scope: ScopeKey) {
    this.scope = scope;
    this.#existing = new ExistingFiles(inspection, (file) => this.#keep(file));
  }

  async add({ key, content, state }: ArchivedFile): Promise<void> {
    const existing = await this.#existing.find(key);
    if (content !== null || existing?.deletedAt === null) this.#files += 1;
    if (state === null) this.merge();
    if (existing === null) return;
    if (state === null || !isSameRevision(existing, state)) this.merge();
    if (content === null || existing.deletedAt !== null) return;
    if (existing.hash === (state?.hash ?? hashText(content))) return;
    this.conflicts += 1;
    if (this.named.length < NAMED_CONFLICTS) this.named.push(toPhysicalPath(key));
  }

  merge(): void {
    this.isMerged = true;
  }

  /** Throws `QUOTA_EXCEEDED` when the user would have too many files. */
  async finish(maxFiles: number): Promise<void> {
    await this.#existing.rest();
    if (this.scope === SHARED || this.#files <= maxFiles) return;
    throw new MemoryError(
      'QUOTA_EXCEEDED',
      `The memory of ${labelOf(this.scope)} would have ${this.#files} files; at most ${maxFiles} are allowed. Nothing was imported.`,
      { details: { limit: 'maxFilesPerUser', max: maxFiles, ...toOwner(this.scope) } },
    );
  }

  #keep(file: FileRecord): void {
    if (file.deletedAt === null) this.#files += 1;
    this.merge();
  }
}

/** The files of one user at a time, read in the order of an archive. */
class ExistingFiles {
  readonly #inspection: InspectionStore;
  readonly #onOther: (file: FileRecord) => void;
  #scope: ScopeKey | null = null;
  #files: AsyncGenerator<FileRecord, void> | null = null;
  #next: FileRecord | null = null;

  /** @param onOther called with each file that was not asked for. */
  constructor(inspection: InspectionStore, onOther: (file: FileRecord) => void) {
    this.#inspection = inspection;
    this.#onOther = onOther;
  }

  async find(key: FileKey): Promise<FileRecord | null> {
    if (this.#scope !== key.scope) {
      this.#scope = key.scope;
      this.#files = listScopeFiles(this.#inspection, key.scope);
      await this.#advance();
    }
    while (this.#next !== null && compareKeys(this.#next, key) < 0) {
      this.#onOther(this.#next);
      await this.#advance();
    }
    const found = this.#next;
    if (found === null || compareKeys(found, key) > 0) return null;
    await this.#advance();
    return found;
  }

  async rest(): Promise<void> {
    for (; this.#next !== null; await this.#advance()) this.#onOther(this.#next);
  }

  async #advance(): Promise<void> {
    const next = await this.#files?.next();
    this.#next = next === undefined || next.done === true ? null : next.value;
  }
}

/** Whether a scope has no revisions, or those of this chain alone. */
async function takesChain(
  inspection: InspectionStore,
  { scope, head, after }: ArchivedChain,
): Promise<boolean> {
  const state = await inspection.scope(scope);
  if (state === null || (state.revisions === 0 && state.chainHead === null)) return true;
  return state.chainHead === head && state.chainAfter === after;
}

/**
 * Whether an id of a file's revisions belongs to another revision here: then its history can't be
 * restored.
 */
async function takesId(
  storage: Storage,
  { key, revisions }: { key: FileKey; revisions: readonly ArchivedRevision[] },
): Promise<boolean> {
  const taken = await Promise.all(
    revisions.map(async ({ id, version, peerId }) => {
      const found = await storage.revisions.get(id);
      const isOther =
        found !== null &&
        (found.scope !== key.scope || found.path !== key.path || found.version !== version);
      if (isOther || peerId === null) return isOther;
      // Reverting one half of a move reverts the other half.
      const peer = await storage.revisions.get(peerId);
      return peer !== null && peer.peerId !== id;
    }),
  );
  return taken.includes(true);
}

type Work = ImportOptions & { plan: Plan };

function toImport(
  { key, content, state, revisions }: ArchivedFile,
  { plan, onExisting }: Work,
): FileToImport {
  const restored = state === null || plan.merged.has(key.scope) ? null : { state, revisions };
  return { key, content, restored, onExisting, chain: null };
}

/** What the audit calls the memory of an archive. */
function labelOfManifest(manifest: ArchiveManifest): string {
  const scope = toFilteredScope(manifest);
  return scope === null ? 'all' : labelOf(scope);
}

class Counter {
  readonly summary: ImportSummary;

  constructor(dryRun: boolean) {
    this.summary = { dryRun, restored: 0, created: 0, updated: 0, unchanged: 0, skipped: 0 };
  }

  count(key: FileKey, { outcome, masked }: Taken): ImportedFile {
    this.summary[outcome] += 1;
    const file = { path: toPhysicalPath(key), outcome };
    return masked === undefined ? file : { ...file, masked };
  }
}

/** The second pass of a dry run. */
async function* compare(deps: Reading, open: OpenArchive, work: Work): Imported {
  const counter = new Counter(true);
  const files = new ExistingFiles(deps.inspection, () => undefined);
  const room = new Room(deps);
  const bad = new BadFiles(work);
  for await (const file of read(deps, open, bad.add)) {
    yield* bad.take();
    if (file.type !== 'file') continue;
    const existing = await files.find(file.key);
    const hash = file.content === null ? '' : hashText(file.content);
    const seam = await readSeam(deps.storage, existing);
    const outcome = planImport(toImport(file, work), { existing, seam, hash });
    const takesRoom = work.goesOn === true && outcome === 'created';
    const reason = takesRoom ? await room.take(file.key.scope) : null;
    if (reason !== null) {
      yield { item: toPhysicalPath(file.key), reason };
      continue;
    }
    const screened = await screen(deps, file, { work, outcome });
    if ('reason' in screened) yield screened;
    else {
      const taken = outcome === 'older' ? 'restored' : outcome;
      yield counter.count(file.key, { outcome: taken, ...screened });
    }
  }
  yield* bad.take();
  return counter.summary;
}

/** What screening would mask in a file, or why it would refuse it. */
async function screen(
  { storage, screening }: Reading,
  { key, content }: ArchivedFile,
  { work, outcome }: { work: Work; outcome: ReturnType<typeof planImport> },
): Promise<Pick<ImportedFile, 'masked'> | SkippedItem> {
  if (work.from === undefined || content === null) return {};
  if (outcome !== 'created' && outcome !== 'updated') return {};
  const before = outcome === 'created' ? null : ((await storage.files.get(key))?.content ?? null);
  try {
    const { scope } = key;
    if (before === null) screening.admitPath(key.path, (path) => toPhysicalPath({ scope, path }));
    const { masked } = screening.admit({ before, content, path: toPhysicalPath(key) });
    return masked.length === 0 ? {} : { masked };
  } catch (error) {
    const skipped = toSkipped(key, error);
    if (skipped === null) throw error;
    return skipped;
  }
}

/** The files that the reader of an archive left out since it was asked last. */
class BadFiles {
  readonly add: ReadOptions['onBadFile'];
  #files: SkippedItem[] = [];

  constructor({ goesOn = false }: ImportOptions) {
    this.add = goesOn ? (file) => void this.#files.push(file) : undefined;
  }

  take(): readonly SkippedItem[] {
    const files = this.#files;
    if (files.length > 0) this.#files = [];
    return files;
  }
}

/** The files that users have and may have, as the writes will count them. */
class Room {
  readonly #deps: Reading;
  readonly #files = new Map<ScopeKey, number>();

  constructor(deps: Reading) {
    this.#deps = deps;
  }

  /** Takes the place of a new file; why there is none, or `null`. */
  async take(scope: ScopeKey): Promise<string | null> {
    if (scope === SHARED) return null;
    const { inspection, limits } = this.#deps;
    const files = this.#files.get(scope) ?? (await inspection.scope(scope))?.files ?? 0;
    const max = limits.maxFilesPerUser;
    this.#files.set(scope, Math.max(files, Math.min(files + 1, max)));
    return files < max ? null : tooManyFiles(files, max).message;
  }
}

/** The second pass of an import. */
async function* write(deps: ImportDependencies, open: OpenArchive, work: WriteWork): Imported {
  const counter = new Counter(false);
  const { plan, onExisting, from, caller } = work;
  const audit = new ImportAudit(deps, {
    target: labelOfManifest(plan.manifest),
    caller,
    details: {
      onExisting,
      files: plan.files,
      history: plan.manifest.history,
      ...(from === undefined ? {} : { from }),
    },
  });
  const writer = new ArchiveWriter(deps, work, audit);
  const bad = new BadFiles(work);
  let isComplete = false;
  try {
    for await (const batch of inBatches(read(deps, open, bad.add))) {
      yield* bad.take();
      const [first] = batch;
      if (first?.type === 'older') {
        await writer.writeOlder(first);
        continue;
      }
      if (first?.type === 'chain') {
        await writer.writePruned(first);
        continue;
      }
      const written = await writer.writeFiles(batch.filter((each) => each.type === 'file'));
      for (const [{ key }, outcome] of written) {
        yield 'reason' in outcome ? outcome : counter.count(key, outcome);
      }
    }
    yield* bad.take();
    isComplete = true;
    return counter.summary;
  } finally {
    await audit.end(counter.summary, { isComplete });
  }
}

type WriteWork = Work & { knownErasure: number };

/** What became of a file, or why it was skipped. */
type Written = Taken | SkippedItem;

type Taken = Pick<ImportedFile, 'outcome' | 'masked'>;

/** Writes the items of an archive in their order. */
class ArchiveWriter {
  readonly #deps: ImportDependencies;
  readonly #work: WriteWork;
  readonly #audit: ImportAudit;
  readonly #writeOptions: {
    traceId: string | null;
    knownErasure: number;
    audit: null;
    isOwnExport: boolean;
  };
  /** The file before those of a batch. */
  #last: FileKey | null = null;

  constructor(deps: ImportDependencies, work: WriteWork, audit: ImportAudit) {
    this.#deps = deps;
    this.#work = work;
    this.#audit = audit;
    const { caller, knownErasure, from } = work;
    const isOwnExport = from === undefined;
    const traceId = caller?.traceId ?? null;
    this.#writeOptions = { traceId, knownErasure, audit: null, isOwnExport };
  }

  async writeOlder(older: OlderRevisions): Promise<void> {
    const { storage, files } = this.#deps;
    if (this.#work.plan.merged.has(older.key.scope)) return;
    // Without its newer revisions, or with ids of others, there is nothing to join on to.
    if (await takesId(storage, older)) return;
    await files.importOlder(older.key, older.revisions, this.#writeOptions);
  }

  async writePruned({ scope, absent }: ArchivedChain): Promise<void> {
    const last = this.#last;
    if (last === null || this.#work.plan.merged.has(scope) || absent.length === 0) return;
    await this.#deps.files.importPruned(last, absent, this.#writeOptions);
  }

  /**
   * Writes a batch of files at once, except:
   *
   * 1. One file alone while the audit row waits, so that no write comes before it.
   * 2. The first file of each scope before the others, because it brings the head of its chain.
   */
  async writeFiles(files: readonly ArchivedFile[]): Promise<ReadonlyMap<ArchivedFile, Written>> {
    const { merged } = this.#work.plan;
    const firsts = new Set(
      files.filter(({ key }, index) => key.scope !== (files[index - 1]?.key ?? this.#last)?.scope),
    );
    const outcomes = new Map<ArchivedFile, Written>();
    const writeAll = async (some: readonly ArchivedFile[]): Promise<void> => {
      const settled = await Promise.allSettled(
        some.map((file) => this.#writeFile(file, { isFirst: firsts.has(file) })),
      );
      throwFirst(settled);
      for (const [index, file] of some.entries()) {
        const { value } = settled[index] as PromiseFulfilledResult<Written>;
        outcomes.set(file, value);
      }
    };
    if (this.#audit.isWaiting) await writeAll(files.slice(0, 1));
    await writeAll(files.filter((file) => firsts.has(file) && !outcomes.has(file)));
    for (const file of firsts) {
      const written = outcomes.get(file);
      const outcome = written !== undefined && 'outcome' in written ? written.outcome : null;
      if (outcome !== 'restored' && outcome !== 'unchanged') merged.add(file.key.scope);
    }
    await writeAll(files.filter((file) => !outcomes.has(file)));
    this.#last = files.at(-1)?.key ?? this.#last;
    return new Map(files.map((file) => [file, outcomes.get(file) as Written]));
  }

  async #writeFile(file: ArchivedFile, { isFirst }: { isFirst: boolean }): Promise<Written> {
    const { storage, files } = this.#deps;
    const { plan, goesOn } = this.#work;
    const asked = toImport(file, this.#work);
    const isTaken = asked.restored !== null && (await takesId(storage, file));
    const given = isTaken ? { ...asked, restored: null } : asked;
    if (given.restored !== null && isFirst) given.chain = plan.chains.get(file.key.scope) ?? null;
    const audit = this.#audit.take();
    try {
      return await files.importFile(given, { ...this.#writeOptions, audit });
    } catch (error) {
      const skipped = goesOn === true ? toSkipped(file.key, error) : null;
      if (!isErased(error) && skipped === null) throw error;
      this.#audit.giveBack(audit);
      if (skipped !== null) return skipped;
      plan.merged.add(file.key.scope);
      return { outcome: 'skipped' };
    }
  }
}

/** Waits for all writes of a batch before the first error ends the import. */
function throwFirst(outcomes: readonly PromiseSettledResult<unknown>[]): void {
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

type ArchivedItem = ArchivedFile | OlderRevisions | ArchivedChain;

/** Groups files, and keeps apart what must follow them: older revisions and chains. */
async function* inBatches(
  archive: AsyncIterable<ArchivedItem>,
): AsyncGenerator<readonly ArchivedItem[], void> {
  let batch: ArchivedFile[] = [];
  for await (const item of archive) {
    if (item.type === 'file') batch.push(item);
    if (batch.length > 0 && (item.type !== 'file' || batch.length === FILES_AT_ONCE)) {
      yield batch;
      batch = [];
    }
    if (item.type !== 'file') yield [item];
  }
  if (batch.length > 0) yield batch;
}
