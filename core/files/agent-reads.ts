import type { FileService, ListedFile, ToolCall } from '../contracts/tool.ts';
import type { PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { IdSource } from '../ids/ids.ts';
import { answerList } from '../lists/page.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { logAccess } from '../telemetry/access-rows.ts';
import { formatLines } from '../telemetry/shown-lines.ts';
import { toExpiredLines } from '../markdown/valid-until.ts';
import { toTime } from '../time/time.ts';
import type { Attempt } from './agent-attempt.ts';
import { checkLineRange, sliceLines } from './content.ts';
import { fileNotFound, parseVirtualPrefix, type PathPrefix, toVirtualPath } from './paths.ts';

/** Agents' reads of memory files. Each leaves an access row. */
export type AgentReads = Pick<FileService, 'list' | 'read'>;

/** Reads for agents, over a storage. */
export function createAgentReads(
  attempt: Attempt,
  deps: {
    storage: Storage;
    ids: IdSource;
    accessQueue: AccessQueue;
    /** In which the days of memory end. */
    timeZone: string;
    now: () => number;
  },
): AgentReads {
  const { storage } = deps;
  return {
    async list(args, call) {
      // In path order: shared/ comes before spaces/, and that before user/.
      const roots = parseVirtualPrefix(args.path, call).sort((a, b) =>
        a.scope < b.scope ? -1 : 1,
      );
      const { items: files, nextCursor } = await answerList(args, {
        list: 'memory_list',
        sort: 'path',
        defaultOrder: 'asc',
        filters: { userId: call.userId, spaces: spacesOf(call), path: args.path },
        async read({ limit, after }) {
          if (after !== null && !isRootKey(after)) throw new MemoryError('INVALID_CURSOR');
          const span = call.trace.start('db.read', 'list files');
          const found = await listRoots(storage, { roots, limit, after });
          span.end({ files: found.items.length });
          return found;
        },
        toItem: (file): ListedFile => file,
      });
      const [root] = args.path === undefined || args.path === '' ? [roots.at(-1)] : roots;
      const { scope, prefix } = root as PathPrefix;
      await logAccess(deps, { call, rows: [{ scope, path: prefix, action: 'list' }] });
      return { files, nextCursor };
    },

    read: (args, call) =>
      attempt({ paths: [args.path], action: 'read', call }, async (key) => {
        const { startLine = 1, endLine = Number.MAX_SAFE_INTEGER } = args;
        checkLineRange(startLine, endLine);
        const span = call.trace.start('db.read', 'read file');
        const file = await storage.files.read(key);
        span.end({ bytes: file?.size ?? 0 });
        if (file === null) throw fileNotFound(toVirtualPath(key));
        const { fileNo, latestRevisionId: revisionId, version } = file;
        const lines = formatLines([{ startLine, endLine: Math.min(endLine, file.lines) }]);
        const row = { ...key, action: 'read', fileNo, revisionId, version, lines } as const;
        const waiting = logAccess(deps, { call, rows: [row] });
        if (waiting !== undefined) await waiting;
        const expired = toExpiredLines(
          file.content,
          { at: deps.now(), timeZone: deps.timeZone },
          { startLine, endLine },
        );
        const isWhole = args.startLine === undefined && args.endLine === undefined;
        return {
          path: toVirtualPath(key),
          content: isWhole ? file.content : sliceLines(file.content, startLine, endLine),
          version,
          updatedAt: toTime(file.updatedAt),
          totalLines: file.lines,
          ...(expired !== undefined && { expired }),
        };
      }),
  };
}

/** In a cursor: it goes on over the same spaces. */
function spacesOf({ spaces = [] }: ToolCall): string | undefined {
  return spaces.length === 0 ? undefined : spaces.map(({ id }) => id).join(' ');
}

/** The key of a list of roots: scope and path. */
function isRootKey(key: readonly (string | number)[]): boolean {
  return key.length === 2 && key.every((part) => typeof part === 'string');
}

/** Lists the files of roots in path order. */
async function listRoots(
  storage: Storage,
  {
    roots,
    limit,
    after,
  }: { roots: readonly PathPrefix[]; limit: number; after: PageRequest['after'] },
): Promise<PageResult<ListedFile>> {
  const [afterScope, afterPath] = (after ?? ['', null]) as [string, string | null];
  const files: { scope: string; listed: ListedFile; path: string }[] = [];
  for (const { scope, prefix } of roots) {
    if (scope < afterScope) continue;
    const found = await storage.files.list(scope, {
      prefix,
      after: scope === afterScope ? afterPath : null,
      // Reads one file more than the page holds, to know whether there is a next page.
      limit: limit + 1 - files.length,
    });
    for (const file of found) {
      const { size, version, updatedAt } = file;
      const listed = { path: toVirtualPath(file), size, version, updatedAt: toTime(updatedAt) };
      files.push({ scope, listed, path: file.path });
    }
    if (files.length > limit) break;
  }
  const page = files.slice(0, limit);
  const last = page.at(-1);
  const isMore = files.length > limit && last !== undefined;
  return {
    items: page.map(({ listed }) => listed),
    next: isMore ? [last.scope, last.path] : null,
  };
}
