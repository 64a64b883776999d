import { checkKeyTool } from '../access/key-rules.ts';
import type { FileKey, FileState, RevisionRecord, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { ListedEntry, SpaceCall, SpaceFiles, StoredFile } from '../contracts/stores.ts';
import { MemoryError } from '../errors.ts';
import type { Texts } from '../history/texts.ts';
import { isUuid } from '../ids/ids.ts';
import type { IdSource } from '../ids/ids.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { logAccess, toOutcome } from '../telemetry/access-rows.ts';
import { formatLines } from '../telemetry/shown-lines.ts';
import type { Commit, CommitDependencies } from './commit.ts';
import { checkContent } from './content.ts';
import { deletion, type Draft } from './draft.ts';
import type { Idempotency } from './idempotency.ts';
import { lineageOf } from './lineage.ts';
import { moveFile } from './move-file.ts';
import { homeOf, parsePhysicalPath, toPhysicalPath, toScope } from './paths.ts';

/** How often a write looks again for a file that moves meanwhile: of several moves at once, each look lets one pass. */
const LOOKS = 50;

/** What a new path needs, whatever else the call changes. */
const MOVE = { name: 'memory_move', readOnly: false };

interface SpaceFileDependencies extends Pick<CommitDependencies, 'limits'> {
  storage: Pick<Storage, 'files' | 'revisions'>;
  texts: Pick<Texts, 'textAt'>;
  ids: IdSource;
  accessQueue: AccessQueue;
  idempotency: Pick<Idempotency, 'replay'>;
}

/** Creates the files of spaces by their lineages, over the one write path. */
export function createSpaceFiles(commit: Commit, deps: SpaceFileDependencies): SpaceFiles {
  return { ...createWrites(commit, deps), ...createReads(deps) };
}

/** Writes files of spaces, for {@link createWrites}. */
function createWriter(commit: Commit, deps: SpaceFileDependencies) {
  const { storage } = deps;

  /** A refusal leaves an access row of the refused file. */
  async function attempt<R>(
    { key, action, call }: { key: FileKey; action: 'read' | 'write'; call: SpaceCall },
    run: () => Promise<R>,
  ): Promise<R> {
    try {
      return await run();
    } catch (error) {
      // It looks again.
      if (error instanceof HasMoved) throw error;
      await logAccess(deps, { call, rows: [{ ...key, action, outcome: toOutcome(error) }] });
      throw error;
    }
  }

  function write(
    keys: readonly FileKey[],
    call: SpaceCall,
    plan: (draft: Draft) => StoredFile,
  ): Promise<StoredFile> {
    const caller = { ...call, spaces: [] };
    return commit({ keys, caller, toPath: toPhysicalPath, call, isOnly: true }, plan);
  }

  /** Finds the file; or the first answer of a repeated call, which may have deleted it. */
  async function findOrReplay(
    place: Place,
    call: SpaceCall,
  ): Promise<FileState | { replayed: StoredFile }> {
    try {
      return await findFile(storage, place);
    } catch (error) {
      const scope = toScope({ spaceId: place.spaceId });
      const replayed = await deps.idempotency.replay<StoredFile>(call, scope);
      if (replayed === null) throw error;
      return { replayed };
    }
  }

  /** Writes a file that is found by its lineage: again, if it moved before it was locked. */
  async function writeFound(
    place: Place,
    { target, call }: { target: string | undefined; call: SpaceCall },
    plan: (draft: Draft, file: FileState & { content: string }) => FileKey,
  ): Promise<StoredFile> {
    for (let look = 1; ; look += 1) {
      const found = await findOrReplay(place, call);
      if ('replayed' in found) return found.replayed;
      const { scope, path } = found;
      const keys = [{ scope, path }];
      if (target !== undefined && target !== path) keys.push(toKey(place.spaceId, target));
      try {
        return await attempt({ key: { scope, path }, action: 'write', call }, () =>
          write(keys, call, (draft) => {
            const file = draft.existing({ scope, path });
            if (file === null || lineageOf(file) !== place.lineageId) throw new HasMoved();
            const key = plan(draft, file);
            return { ...toStored(draft, key), lineageId: place.lineageId };
          }),
        );
      } catch (error) {
        if (!(error instanceof HasMoved) || look === LOOKS) throw error;
      }
    }
  }

  return { attempt, write, writeFound };
}

function createWrites(
  commit: Commit,
  deps: SpaceFileDependencies,
): Pick<SpaceFiles, 'create' | 'update' | 'remove'> {
  const { limits } = deps;
  const { attempt, write, writeFound } = createWriter(commit, deps);
  return {
    async create(spaceId, { path, content }, call) {
      const key = toKey(spaceId, path);
      return await attempt({ key, action: 'write', call }, async () => {
        const facts = checkContent(content, limits.maxFileBytes);
        return await write([key], call, (draft) => {
          if (draft.existing(key) !== null) throw isTaken(key);
          const { revisionId } = draft.put(key, { content, facts, action: 'write', reason: null });
          return { ...toStored(draft, key), lineageId: revisionId };
        });
      });
    },

    async update(place, { path, content, expectedHash }, call) {
      const facts = content === undefined ? null : checkContent(content, limits.maxFileBytes);
      return await writeFound(place, { target: path, call }, (draft, file) => {
        const target = path === undefined ? file : toKey(place.spaceId, path);
        const isMove = target.path !== file.path;
        const isChange = facts !== null && facts.hash !== file.hash;
        if (isMove || isChange) checkHash(file, expectedHash);
        if (isMove) checkKeyTool(call.apiKey, MOVE);
        if (!isMove) {
          if (facts === null || content === undefined) return file;
          draft.put(file, { content, facts, action: 'write', reason: null });
          return file;
        }
        const key: FileKey = { scope: target.scope, path: target.path };
        if (draft.existing(key) !== null) throw isTaken(key);
        const changed =
          content === undefined || facts === null ? undefined : { text: content, facts };
        moveFile(draft, { from: file, to: key, content: changed });
        return key;
      });
    },

    remove: (place, { expectedHash }, call) =>
      writeFound(place, { target: undefined, call }, (draft, file) => {
        checkHash(file, expectedHash);
        draft.put(file, deletion('delete', null));
        return file;
      }),
  };
}

function createReads(
  deps: Omit<SpaceFileDependencies, 'limits'>,
): Omit<SpaceFiles, 'create' | 'update' | 'remove'> {
  const { storage } = deps;
  return {
    async read(place, call) {
      const file = await findFile(storage, place);
      await logAccess(deps, { call, rows: [toRead(file)] });
      return file;
    },

    async at(spaceId, path) {
      const file = await storage.files.get(toKey(spaceId, path));
      return file === null || file.content === null ? null : file;
    },

    async list(spaceId, options, call) {
      const scope = toScope({ spaceId });
      const found = options.isFlat
        ? await listFlat(storage, scope, options)
        : await listAll(storage, scope, options);
      const items: ListedEntry[] = [];
      for (const item of found.items) {
        if (!('file' in item) || !options.hasContents) items.push(item);
        else {
          const file = await storage.files.get(item.file);
          // Deleted since it was listed.
          if (file !== null && file.content !== null) items.push({ file });
        }
      }
      const shown = items.flatMap((item) =>
        'file' in item ? [toRead(item.file as FileState)] : [],
      );
      const rows = options.hasContents
        ? shown
        : [{ scope, path: options.prefix, action: 'list' as const }];
      await logAccess(deps, { call, rows });
      return { items, next: found.next };
    },

    async versions(spaceId, { lineageId, since, until, after, limit }, call) {
      const scope = toScope({ spaceId });
      const page = { limit, order: 'desc', after: after === null ? null : [after] } as const;
      const { items, next } = await storage.revisions.list(
        { scope, lineageId, since, until },
        page,
      );
      await logAccess(deps, { call, rows: [{ scope, path: '', action: 'list' }] });
      return { items, next: next === null ? null : String(next[0]) };
    },

    async version(spaceId, revisionId, call) {
      const revision = isUuid(revisionId) ? await storage.revisions.get(revisionId) : null;
      const scope = toScope({ spaceId });
      if (revision?.scope !== scope) throw noSuchVersion(revisionId);
      await logAccess(deps, { call, rows: [{ scope, path: revision.path, action: 'list' }] });
      return revision;
    },

    async contentOf(revision, call) {
      const { scope, path, version, id: revisionId, fileNo } = revision;
      const content = await deps.texts.textAt({ scope, path }, version);
      const row = { scope, path, action: 'read', fileNo, revisionId, version } as const;
      await logAccess(deps, { call, rows: [row] });
      return content;
    },
  };
}

interface Place {
  spaceId: string;
  lineageId: string;
}

async function findFile(
  storage: Pick<Storage, 'files'>,
  { spaceId, lineageId }: Place,
): Promise<FileState> {
  const file = await storage.files.ofLineage(toScope({ spaceId }), lineageId);
  if (file === null) throw noSuchFile(lineageId);
  return file;
}

/** The file is no longer where it was found. */
class HasMoved extends MemoryError {
  constructor() {
    super('VERSION_CONFLICT', 'The memory was moved or deleted meanwhile.');
  }
}

function toKey(spaceId: string, path: string): FileKey {
  return parsePhysicalPath(`${homeOf(toScope({ spaceId }))}${path}`);
}

function toRead({ scope, path, fileNo, latestRevisionId: revisionId, version, lines }: FileState) {
  const shown = formatLines([{ startLine: 1, endLine: lines }]);
  return { scope, path, action: 'read', fileNo, revisionId, version, lines: shown } as const;
}

function toStored(draft: Draft, key: FileKey): StoredFile {
  const file = draft.file(key) as FileState;
  const { path, fileNo, lineageId, hash, size, createdAt, updatedAt, latestRevisionId } = file;
  return { path, fileNo, lineageId, hash, size, createdAt, updatedAt, latestRevisionId };
}

function checkHash({ hash, scope, path }: FileState, expected: string | undefined): void {
  if (expected === undefined || expected === hash) return;
  throw new MemoryError('VERSION_CONFLICT', 'The memory has another content.', {
    details: { path: toPhysicalPath({ scope, path }), reason: 'content_sha256' },
  });
}

function isTaken(key: FileKey): MemoryError {
  const path = toPhysicalPath(key);
  return new MemoryError('PATH_CONFLICT', `${path} exists already.`, {
    details: { path, conflictingPath: path },
  });
}

function noSuchFile(lineageId: string): MemoryError {
  return new MemoryError('FILE_NOT_FOUND', 'There is no such memory.', { details: { lineageId } });
}

function noSuchVersion(revisionId: string): MemoryError {
  return new MemoryError('REVISION_NOT_FOUND', 'There is no such memory version.', {
    details: { revisionId },
  });
}

type ListRange = { prefix: string; after: string | null; limit: number };

async function listAll(
  storage: Pick<Storage, 'files'>,
  scope: ScopeKey,
  { prefix, after, limit }: ListRange,
): Promise<{ items: ListedEntry[]; next: string | null }> {
  const found = await storage.files.list(scope, { prefix, after, limit: limit + 1 });
  const page = found.slice(0, limit);
  return {
    items: page.map((file) => ({ file: { ...file, content: null } })),
    next: found.length > limit ? (page.at(-1)?.path ?? null) : null,
  };
}

/** `after` is the name of an entry. */
async function listFlat(
  storage: Pick<Storage, 'files'>,
  scope: ScopeKey,
  { prefix, after, limit }: ListRange,
): Promise<{ items: ListedEntry[]; next: string | null }> {
  const page = { limit, order: 'asc', after: after === null ? null : [after] } as const;
  const { items, next } = await storage.files.listFolder(`${homeOf(scope)}${prefix}`, page);
  return {
    items: items.map((item) =>
      'file' in item ? { file: { ...item.file, content: null } } : { folder: item.folder },
    ),
    next: next === null ? null : String(next[0]),
  };
}

/** What a version did to its memory. */
export function operationOf(revision: RevisionRecord): 'created' | 'modified' | 'deleted' {
  if (!revision.existsAfter) return 'deleted';
  const isFirst =
    revision.lineageId === null ? !revision.existedBefore : revision.lineageId === revision.id;
  return isFirst ? 'created' : 'modified';
}
