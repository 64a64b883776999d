import { ConfigError } from '../../config/error.ts';
import { loadConfig } from '../../config/index.ts';
import { MemoryError } from '../../errors.ts';
import { PAGE_LIMITS } from '../../lists/page.ts';
import type { ListAnswer } from '../../schemas/shapes.ts';
import { withAdminApi } from '../admin-api.ts';
import type { Command } from '../command.ts';
import type { OwnFlag } from '../own-flags.ts';
import { type RunningServer, toQuery } from '../running-server.ts';
import { writeOutput } from '../streams.ts';

/** A command that asks the admin API something and changes nothing. */
interface Look<Answer> extends Omit<Command, 'run' | 'flags'> {
  flags: Readonly<Record<string, OwnFlag>>;
  ask(api: RunningServer, given: Given): Promise<Answer>;
  /** The answer as text. */
  print(answer: Answer, given: Given): string;
}

/** What the command line gives. */
export interface Given {
  argument: string;
  flags: ReadonlyMap<string, string>;
}

/** Makes the command; with `--json` it prints the answer as the admin API gives it. */
export function createLook<Answer>({ ask, print, flags, ...command }: Look<Answer>): Command {
  return {
    ...command,
    flags: { ...flags, json: { value: null, summary: 'Print the answer as JSON.' } },
    async run(context) {
      const given = { argument: context.argument ?? '', flags: context.flags };
      const loaded = await loadConfig(context);
      const answer = await withAdminApi(loaded, (api) => ask(api, given));
      const text = given.flags.has('json')
        ? `${JSON.stringify(answer, null, 2)}\n`
        : print(answer, given);
      writeOutput(text);
    },
  };
}

/** Asks for a list, page after page, until it has `limit` items or the list ends. */
export async function askList<Answer extends ListAnswer<unknown>>(
  api: RunningServer,
  path: string,
  { query, limit }: { query: Parameters<typeof toQuery>[0]; limit: number },
): Promise<Answer> {
  const items: unknown[] = [];
  let cursor: string | null = null;
  for (;;) {
    const size = String(Math.min(PAGE_LIMITS.max, limit - items.length));
    const page: Answer = await api.ask(
      'GET',
      `${path}?${toQuery({ ...query, cursor, limit: size })}`,
    );
    items.push(...page.items);
    cursor = page.nextCursor;
    if (cursor === null || items.length >= limit) return { ...page, items };
  }
}

/**
 * Throws `FILE_NOT_FOUND` for a path or a memory that nothing was ever written to. Call it for an empty
 * list: the admin API answers one in that case, too.
 */
export async function assertWritten(
  api: RunningServer,
  query: { path: string } | { userId: string } | { spaceId: string } | { shared: 'true' },
): Promise<void> {
  const { items } = await api.ask<ListAnswer<unknown>>(
    'GET',
    `revisions?${toQuery({ ...query, limit: '1' })}`,
  );
  if (items.length > 0) return;
  throw new MemoryError('FILE_NOT_FOUND', `${toName(query)} does not exist, and has no history.`, {
    details: query,
  });
}

function toName(query: Parameters<typeof assertWritten>[1]): string {
  if ('path' in query) return query.path;
  if ('shared' in query) return 'Shared memory';
  return 'userId' in query
    ? `The memory of ${query.userId}`
    : `The memory of the space ${query.spaceId}`;
}

/** The flag of {@link limitOf}. */
export const LIMIT_FLAG: OwnFlag = {
  value: 'n',
  summary: `How many rows, the newest ones; default ${PAGE_LIMITS.default}.`,
};

/** The value of `--limit`. Throws a `ConfigError` for what is not a whole number from 1. */
export function limitOf({ flags }: Given): number {
  const text = flags.get('limit') ?? String(PAGE_LIMITS.default);
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new ConfigError(null, '--limit is a whole number from 1.');
}

/** The address of a memory file in the admin API. */
export function toFilePath(physicalPath: string): string {
  return `files/${physicalPath.split('/').map(encodeURIComponent).join('/')}`;
}
