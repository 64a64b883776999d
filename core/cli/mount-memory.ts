import type { AdminFile, AdminFileAnswer, ListAnswer } from '../contracts/admin.ts';
import type { ScopeKey } from '../contracts/records.ts';
import { FOLDER_ACTOR } from '../files/service-actors.ts';
import { homeOf, labelOf, toOwner } from '../files/paths.ts';
import {
  type MountedMemory,
  ServiceAway,
  type ServiceMark,
  type ServiceNews,
  type WriteOutcome,
} from '../folders/mounted-memory.ts';
import { PAGE_LIMITS } from '../lists/page.ts';
import type { AdminAudit } from '../schemas/audit.ts';
import type { AdminDeleteAnswer, AdminPutAnswer } from '../schemas/files.ts';
import type { AdminRevision } from '../schemas/revisions.ts';
import { toFilePath } from './history/look.ts';
import { AdminApiError, type RunningServer, toQuery } from './running-server.ts';

/** More than one: a row of another instance or user may get its id earlier and be committed later. */
const NEWEST = 50;
/** An answer takes no longer. */
const ANSWER_MS = 60_000;

type Query = Parameters<typeof toQuery>[0];
type Ask = <T>(
  method: 'GET' | 'PUT' | 'DELETE',
  path: string,
  body?: object,
  ifVersion?: number,
) => Promise<T>;

/** Options of {@link createMountedMemory}. */
interface MountedMemoryOptions {
  /** Finds the admin API before each call: after a restart, the service may be at another address. */
  findApi(): Promise<RunningServer>;
  scope: ScopeKey;
  signal: AbortSignal;
}

/** The memory of a user or a space, by the admin API. */
export function createMountedMemory(options: MountedMemoryOptions): MountedMemory {
  const { scope, signal } = options;
  const { userId, spaceId } = toOwner(scope);
  const owner = { userId, spaceId };
  const home = homeOf(scope);

  const ask: Ask = async (method, path, body, ifVersion) => {
    const limit = new AbortController();
    const stop = (): void => limit.abort();
    const timer = setTimeout(stop, ANSWER_MS);
    // Not AbortSignal.any: it keeps something of each call as long as a mount lasts.
    signal.addEventListener('abort', stop, { once: true });
    try {
      const api = await options.findApi();
      return await api.ask(method, path, body, { ifVersion, signal: limit.signal });
    } catch (error) {
      throw isAway(error) ? new ServiceAway((error as Error).message, { cause: error }) : error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  };

  return {
    news: (mark) => readNews(ask, { scope, mark }),

    async *list() {
      for await (const file of listAll<AdminFile>(ask, 'files', owner)) {
        const { path, version, latestRevisionId: revisionId } = file;
        yield { path: path.slice(home.length), version, revisionId };
      }
    },

    async read(path) {
      try {
        const { file } = await ask<AdminFileAnswer>('GET', toFilePath(`${home}${path}`));
        const { version, latestRevisionId, content } = file;
        return { path, version, revisionId: latestRevisionId ?? '', content };
      } catch (error) {
        if (error instanceof AdminApiError && error.code === 'FILE_NOT_FOUND') return null;
        throw error;
      }
    },

    put: (path, content, version) =>
      toOutcome(async () => {
        const body = { content, actor: FOLDER_ACTOR };
        const answer = await ask<AdminPutAnswer>(
          'PUT',
          toFilePath(`${home}${path}`),
          body,
          version,
        );
        const { masked, file, revisionId } = answer;
        const isAsSent = masked === undefined && file?.size === Buffer.byteLength(content);
        return { kind: 'written', version: answer.version, revisionId, isAsSent };
      }),

    remove: (path, version) =>
      toOutcome(async () => {
        const at = `${toFilePath(`${home}${path}`)}?actor=${FOLDER_ACTOR}`;
        const answer = await ask<AdminDeleteAnswer>('DELETE', at, undefined, version);
        const { revisionId } = answer;
        return { kind: 'written', version: answer.version, revisionId, isAsSent: true };
      }),

    async *versions(path) {
      const query = { path: `${home}${path}` };
      for await (const revision of listAll<AdminRevision>(ask, 'revisions', query)) {
        const { version, action, size, redacted, redactedBefore, redactionId } = revision;
        yield {
          version,
          isRedacted: redacted || redactedBefore || redactionId !== null || action === 'redact',
          isDeletion: size === 0 && ['delete', 'move', 'revert'].includes(action),
        };
      }
    },
  };
}

/** Every item of a list, page after page. */
async function* listAll<T>(ask: Ask, path: string, query: Query): AsyncGenerator<T, void> {
  for (let cursor: string | null = null; ;) {
    const asked = toQuery({ limit: String(PAGE_LIMITS.max), ...query, cursor });
    const page: ListAnswer<T> = await ask('GET', `${path}?${asked}`);
    yield* page.items;
    cursor = page.nextCursor;
    if (cursor === null) return;
  }
}

async function readNews(
  ask: Ask,
  { scope, mark }: { scope: ScopeKey; mark: ServiceMark | null },
): Promise<ServiceNews> {
  const ids = async (path: string, query: Query): Promise<string> => {
    const asked = toQuery({ ...query, limit: String(NEWEST) });
    const { items } = await ask<ListAnswer<{ id: string }>>('GET', `${path}?${asked}`);
    return items.map(({ id }) => id).join();
  };
  // Read before the files: a change between the two is found again.
  const revisions = await ids('revisions', { ...toOwner(scope) });
  const audit = await ids('audit', {});
  if (mark !== null && mark.audit === audit) {
    const isChanged = mark.revisions !== revisions;
    return {
      mark: { ...mark, revisions },
      isChanged,
      isErased: false,
      erasedAt: null,
      isRedacted: false,
    };
  }
  const ofText = await ids('audit', { action: 'memory.redact' });
  const redactions = `${ofText},${await ids('audit', { action: 'revisions.redact' })}`;
  const imports = await ids('audit', { action: 'memory.import' });
  const { newest, last } = await readErasures(ask, { scope, known: mark?.erasures ?? null });
  const now: ServiceMark = {
    revisions,
    audit,
    redactions,
    imports,
    erasures: newest.join(),
    isErasing: last === null ? mark?.isErasing === true : last.isBegin,
  };
  return {
    mark: now,
    isChanged: mark?.revisions !== revisions || mark.imports !== imports || last !== null,
    isErased: mark !== null && last !== null,
    erasedAt: mark === null && last !== null ? last.at : null,
    isRedacted: mark !== null && mark.redactions !== redactions,
  };
}

/**
 * The newest rows of erasures of anybody, and the last step of an erasure of this memory that is not among the
 * known rows.
 */
async function readErasures(
  ask: Ask,
  { scope, known }: { scope: ScopeKey; known: string | null },
): Promise<{ newest: readonly string[]; last: { isBegin: boolean; at: number } | null }> {
  const action = toOwner(scope).spaceId === null ? 'users.erase' : 'spaces.erase';
  const seen = new Set(known === null || known === '' ? [] : known.split(','));
  const newest: string[] = [];
  let found = 0;
  let last: { isBegin: boolean; at: number } | null = null;
  for await (const { id, at, target, details } of listAll<AdminAudit>(ask, 'audit', { action })) {
    if (newest.length < NEWEST) newest.push(id);
    if (seen.has(id)) found += 1;
    else if (target === labelOf(scope)) {
      last ??= { isBegin: details['step'] === 'begin', at: Date.parse(at) };
    }
    const isEnough = known === null ? last !== null : found > 0 && found === seen.size;
    if (isEnough && newest.length === NEWEST) break;
  }
  return { newest, last };
}

/** What the answer to a write means. */
async function toOutcome(write: () => Promise<WriteOutcome>): Promise<WriteOutcome> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof AdminApiError)) throw error;
    const { code, message } = error;
    if (code === 'VERSION_CONFLICT' || code === 'FILE_NOT_FOUND') return { kind: 'moved_on' };
    if (code === 'WRITES_FROZEN' || code === 'READ_ONLY_SCOPE') return { kind: 'stopped', message };
    if (code !== null && FINAL.has(code)) return { kind: 'refused', message, isFinal: true };
    if (code !== null && LATER.has(code)) return { kind: 'refused', message, isFinal: false };
    throw error;
  }
}

/** The service never takes this text at this path. */
const FINAL = new Set([
  'INVALID_PATH',
  'INVALID_CONTENT',
  'PAYLOAD_TOO_LARGE',
  'CONTENT_REFUSED',
  'INVALID_REQUEST',
]);
/** It may take it when other files have gone. */
const LATER = new Set(['QUOTA_EXCEEDED', 'PATH_CONFLICT']);

/** Whether the service may answer later. */
function isAway(error: unknown): boolean {
  if (!(error instanceof AdminApiError)) return false;
  const { status } = error;
  return status === null || status === 429 || (status >= 500 && error.code !== 'STORAGE_DAMAGED');
}
