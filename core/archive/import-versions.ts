import { createInterface } from 'node:readline';
import type { FileKey, FileState, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import { MemoryError } from '../errors.ts';
import { hashText } from '../files/content.ts';
import { isErased } from '../files/hold.ts';
import { homeOf, labelOf, parsePhysicalPath, parseSpaceId, toScope } from '../files/paths.ts';
import { IMPORT_ACTOR } from '../files/service-actors.ts';
import { readRows } from '../lists/page.ts';
import {
  type ImportedFile,
  type ImportSummary,
  type SkippedItem,
  StoreHead,
  StoreVersion,
} from '../schemas/archive.ts';
import { compileSchema } from '../schemas/validate.ts';
import { createPause } from '../time/pause.ts';
import { ImportAudit } from './import-audit.ts';
import type { ImportDependencies, Imported, ImportOptions } from './import.ts';
import { invalidArchive } from './invalid-archive.ts';
import type { OpenArchive } from './read.ts';
import { toSkipped } from './skipped-file.ts';

/** Versions written at once: SQLite commits them together. */
const AT_ONCE = 16;
/** Conflicts that an error names. */
const NAMED_CONFLICTS = 20;
/** The start of the reason of an imported version, by which a repeated import knows it. */
const REASON = /^Imported (memver_[A-Za-z0-9_-]+), /;

const parseHead = compileSchema<StoreHead>(StoreHead);
const parseVersion = compileSchema<StoreVersion>(StoreVersion);

/** A memory of the store, and what it is in the space so far. */
class StoreMemory {
  /** Its versions so far. Both passes count them. */
  seen = 0;
  /** Up to which of its versions an earlier import came: what that left out is left out. */
  done = 0;
  /** Versions that are to be written. */
  left = 0;
  /** Where those stand; the first one comes first. */
  paths = new Set<string>();
  /** Where its last version of the store stands; of one without a path, the one before. */
  lastPath = '';
  /** The hash of its last content; `null` where it is deleted. */
  lastHash: string | null = null;
  /** Where it is in the space; `null` where it is not. */
  path: string | null = null;
  /** The newest revision that it must have there. */
  revisionId: string | null = null;
  outcome: 'created' | 'updated' | 'unchanged' = 'unchanged';
  masked: NonNullable<ImportedFile['masked']> = [];
  /** Why the rest of it is not imported. */
  skipped: string | null = null;
}

/** What is known before anything is written. */
interface StorePlan {
  scope: ScopeKey;
  memories: ReadonlyMap<string, StoreMemory>;
  versions: number;
}

/**
 * Imports the versions of a hosted store into a space, in the order in which they were written there: each
 * becomes a revision by the actor `import`, whose reason names the version and its time. They pass screening
 * and quotas as any write does. An import that is repeated goes on behind the last version that it wrote, so
 * one that was cut off is completed, and a later one brings what is new.
 *
 * A file that stands where a memory belongs, or that somebody has changed since it was imported, is a conflict:
 * `onExisting` says what becomes of it. With `refuse`, nothing is written then.
 */
export async function importVersions(
  deps: ImportDependencies,
  open: OpenArchive,
  options: ImportOptions,
): Promise<Imported> {
  const knownErasure = deps.erasures.latest();
  const plan = await planStore(deps, open, options);
  if (options.dryRun) return report(plan, true);
  deps.files.checkWrites({ userId: null, actor: IMPORT_ACTOR, scopes: [plan.scope] });
  return write(deps, open, { ...options, plan, knownErasure });
}

/** Reads all lines once, and compares them with the space. */
async function planStore(
  deps: ImportDependencies,
  open: OpenArchive,
  { onExisting }: ImportOptions,
): Promise<StorePlan> {
  const memories = new Map<string, StoreMemory>();
  let known: ReadonlyMap<string, string> = new Map();
  let scope: ScopeKey | null = null;
  let versions = 0;
  for await (const line of readLines(open)) {
    if (scope === null) {
      scope = toScope({ spaceId: parseSpaceId(parseHead(line).spaceId) });
      known = await readImported(deps, scope);
      continue;
    }
    const version = parseVersion(line);
    versions += 1;
    const memory = memories.get(version.memoryId) ?? new StoreMemory();
    memories.set(version.memoryId, memory);
    memory.seen += 1;
    if (version.path !== null) memory.lastPath = version.path;
    if (isRedacted(version)) continue;
    memory.lastHash = version.content === null ? null : hashText(version.content);
    const revisionId = known.get(version.id);
    if (revisionId === undefined) {
      memory.left += 1;
      memory.paths.add(memory.lastPath);
      continue;
    }
    memory.done = memory.seen;
    memory.left = 0;
    memory.paths.clear();
    memory.path = version.content === null ? null : version.path;
    memory.revisionId = version.content === null ? null : revisionId;
  }
  if (scope === null) throw invalidArchive('It has no versions of a store.');
  const plan = { scope, memories, versions };
  await findConflicts(deps, plan, onExisting);
  return plan;
}

/** The revisions of an earlier import, by the version that each came from. */
async function readImported(
  { storage }: Pick<ImportDependencies, 'storage'>,
  scope: ScopeKey,
): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, string>();
  const filter = { scope, actor: IMPORT_ACTOR };
  for await (const row of readRows((page) => storage.revisions.list(filter, page))) {
    const [, id] = REASON.exec(row.reason ?? '') ?? [];
    // Of the two revisions of a move, the one that arrived comes later.
    if (id !== undefined) known.set(id, row.id);
  }
  return known;
}

/** Finds what others wrote where the rest of a memory would go. */
async function findConflicts(
  { storage }: Pick<ImportDependencies, 'storage'>,
  { scope, memories }: StorePlan,
  onExisting: ImportOptions['onExisting'],
): Promise<void> {
  const conflicts: string[] = [];
  // Files of an import that was cut off are no obstacle: they move on before another memory takes their path.
  const own = new Set(Array.from(memories.values(), ({ revisionId }) => revisionId));
  for (const memory of memories.values()) {
    if (memory.left === 0) continue;
    const found = await findObstacle(storage, { scope, memory, own });
    memory.outcome = memory.path === null && found?.present === undefined ? 'created' : 'updated';
    if (found === null) continue;
    const { key, present } = found;
    const isLast = toKey(scope, memory.lastPath)?.path === key.path;
    if (present !== undefined && isLast && present.hash === memory.lastHash) {
      memory.outcome = 'unchanged';
      memory.skipped = '';
    } else if (onExisting === 'new_versions') {
      // A memory takes over a file where it stands and at its last path, but none in between.
      const isTaken = isLast || key.path === memory.path?.slice(1);
      if (!isTaken) continue;
      memory.path = present === undefined ? null : `/${present.path}`;
      memory.revisionId = present?.latestRevisionId ?? null;
    } else {
      conflicts.push(`${homeOf(scope)}${key.path}`);
      memory.skipped = 'Somebody else has written there.';
    }
  }
  if (onExisting !== 'refuse' || conflicts.length === 0) return;
  const count = conflicts.length;
  throw new MemoryError(
    'IMPORT_CONFLICT',
    `${count} ${count === 1 ? 'file was' : 'files were'} written by others there. Nothing was imported.`,
    { details: { count, paths: conflicts.slice(0, NAMED_CONFLICTS) } },
  );
}

/** The first of a memory's places that is not as the import left it; `null` where all are. */
async function findObstacle(
  storage: Pick<Storage, 'files'>,
  { scope, memory, own }: { scope: ScopeKey; memory: StoreMemory; own: ReadonlySet<string | null> },
): Promise<{ key: FileKey; present: FileState | undefined } | null> {
  const places = memory.path === null ? [] : [memory.path];
  for (const path of [...places, ...memory.paths]) {
    const key = toKey(scope, path);
    // The write names it.
    if (key === null) continue;
    const found = await storage.files.get(key);
    const present = found === null || found.content === null ? undefined : found;
    const isExpected =
      path === memory.path
        ? present?.latestRevisionId === memory.revisionId
        : present === undefined || own.has(present.latestRevisionId);
    if (!isExpected) return { key, present };
  }
  return null;
}

/** What a dry run says, and what is said of memories of which nothing is left to write. */
async function* report(plan: StorePlan, dryRun: boolean): Imported {
  const counter = new VersionCounter(plan, dryRun);
  for (const memory of plan.memories.values()) {
    counter.written += memory.skipped === null ? memory.left : 0;
    yield counter.end(memory);
  }
  return counter.summary();
}

/** Writes the versions in their order. */
async function* write(
  deps: ImportDependencies,
  open: OpenArchive,
  work: ImportOptions & { plan: StorePlan; knownErasure: number },
): Imported {
  const { plan, caller, onExisting, knownErasure } = work;
  const counter = new VersionCounter(plan, false);
  const details = { onExisting, versions: plan.versions, from: 'memory-stores' };
  const audit = new ImportAudit(deps, { target: labelOf(plan.scope), caller, details });
  const options = { traceId: caller?.traceId ?? null, knownErasure, isOwnExport: false };

  async function writeOne(version: StoreVersion, memory: StoreMemory): Promise<SkippedItem | null> {
    const path = version.path ?? memory.path ?? memory.lastPath;
    const key = toKey(plan.scope, path);
    const item = `${version.id} (${path})`;
    if (key === null) {
      memory.skipped = 'Memory does not take its path.';
      return { item, reason: memory.skipped };
    }
    const given = {
      key,
      from: toKey(plan.scope, memory.path ?? path) ?? key,
      content: version.content,
      reason: `Imported ${version.id}, written ${version.at}.`,
      expected: memory.revisionId,
    };
    const begin = audit.take();
    try {
      const written = await deps.files.importVersion(given, { ...options, audit: begin });
      if (written === null) {
        audit.giveBack(begin);
        memory.skipped = 'Somebody else has written there.';
        return { item, reason: memory.skipped };
      }
      memory.revisionId = written.revisionId;
      memory.path = written.revisionId === null ? null : path;
      memory.masked = [...(written.masked ?? [])];
      memory.left -= 1;
      counter.written += 1;
      return null;
    } catch (error) {
      audit.giveBack(begin);
      const skipped = isErased(error)
        ? { item, reason: (error as Error).message }
        : toSkipped(key, error);
      if (skipped === null) throw error;
      // A version whose content is refused is left out; a later one may be taken.
      memory.left -= 1;
      return { item, reason: skipped.reason };
    }
  }

  let isComplete = false;
  try {
    for (const memory of plan.memories.values()) {
      if (memory.left === 0 || memory.skipped !== null) yield counter.end(memory);
    }
    for (const memory of plan.memories.values()) memory.seen = 0;
    for await (const batch of inBatches(readVersions(open), plan)) {
      // The row of the audit is in the first write.
      const parts = audit.isWaiting ? [batch.slice(0, 1), batch.slice(1)] : [batch];
      for (const part of parts) {
        // An error waits for all of them: a repeated import would take a write under way for somebody else's.
        const settled = await Promise.allSettled(
          part.map(([version, memory]) => writeOne(version, memory)),
        );
        const written = settled.map((one) => {
          if (one.status === 'rejected') throw one.reason;
          return one.value;
        });
        for (const skipped of written) if (skipped !== null) yield skipped;
      }
      for (const [, memory] of batch) {
        if (memory.left === 0 || memory.skipped !== null) yield counter.end(memory);
      }
    }
    isComplete = true;
    return counter.summary();
  } finally {
    const { source: _, ...counts } = counter.summary();
    await audit.end(counts, { isComplete });
  }
}

/** Groups versions that touch different files, and keeps the others in their order. */
async function* inBatches(
  versions: AsyncIterable<StoreVersion>,
  { memories }: StorePlan,
): AsyncGenerator<(readonly [StoreVersion, StoreMemory])[], void> {
  let batch: (readonly [StoreVersion, StoreMemory])[] = [];
  for await (const version of versions) {
    const memory = memories.get(version.memoryId);
    if (memory === undefined) continue;
    memory.seen += 1;
    if (memory.seen <= memory.done || memory.skipped !== null || isRedacted(version)) continue;
    const isAlone = version.operation === 'deleted' || memory.lastPath !== version.path;
    const isFull = batch.length === AT_ONCE || batch.some(([, other]) => other === memory);
    if (batch.length > 0 && (isAlone || isFull)) {
      yield batch;
      batch = [];
      if (memory.skipped !== null) continue;
    }
    batch.push([version, memory]);
    if (!isAlone) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Counts memories and versions for the summary. */
class VersionCounter {
  readonly #plan: StorePlan;
  readonly #counts: Omit<ImportSummary, 'source'>;
  /** Versions. */
  written = 0;

  constructor(plan: StorePlan, dryRun: boolean) {
    this.#plan = plan;
    this.#counts = { dryRun, restored: 0, created: 0, updated: 0, unchanged: 0, skipped: 0 };
  }

  end(memory: StoreMemory): ImportedFile {
    const { scope } = this.#plan;
    const isSkipped = memory.skipped !== null && memory.skipped !== '';
    const outcome: ImportedFile['outcome'] = isSkipped ? 'skipped' : memory.outcome;
    this.#counts[outcome] += 1;
    const file = { path: `${homeOf(scope)}${memory.lastPath.slice(1)}`, outcome };
    return memory.masked.length === 0 ? file : { ...file, masked: memory.masked };
  }

  summary(): ImportSummary {
    const items = this.#plan.versions;
    const { written } = this;
    let done = 0;
    for (const memory of this.#plan.memories.values()) done += memory.done;
    const skipped = items - written - done;
    return { ...this.#counts, source: { from: 'memory-stores', items, written, skipped } };
  }
}

/** What was redacted has no content, and is no deletion. */
function isRedacted({ content, operation }: StoreVersion): boolean {
  return content === null && operation !== 'deleted';
}

/** The file of a path in a store; `null` for one that memory does not take. */
function toKey(scope: ScopeKey, path: string): FileKey | null {
  if (!path.startsWith('/')) return null;
  try {
    return parsePhysicalPath(`${homeOf(scope)}${path.slice(1)}`);
  } catch (error) {
    if (error instanceof MemoryError) return null;
    throw error;
  }
}

/** The lines behind the first one. */
async function* readVersions(open: OpenArchive): AsyncGenerator<StoreVersion, void> {
  let isFirst = true;
  for await (const line of readLines(open)) {
    if (!isFirst) yield line as StoreVersion;
    isFirst = false;
  }
}

async function* readLines(open: OpenArchive): AsyncGenerator<unknown, void> {
  const pause = createPause();
  for await (const line of createInterface({ input: open(), crlfDelay: Infinity })) {
    if (line === '') continue;
    try {
      yield parseForeignJson(line);
    } catch (error) {
      throw invalidArchive('It is not the versions of a store, a line of JSON for each.', error);
    }
    await pause();
  }
}
