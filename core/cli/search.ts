import { loadConfig } from '../config/index.ts';
import type { FoundVersions, TextSearchAnswer, TextSearchRequest } from '../contracts/admin.ts';
import { withAdminApi } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { toColumns } from './history/text.ts';
import { readText } from './read-text.ts';
import { writeOutput } from './streams.ts';

/** `memory-service search`: where a text stands, with `--history` in which versions. */
export const search: Command = {
  summary: 'Say which files have a text, which is read from standard input.',
  flags: {
    history: { value: null, summary: 'Look at all versions, deleted files too.' },
    user: { value: 'id', summary: 'Only in the memory of this user.' },
    space: { value: 'id', summary: 'Only in the memory of this space.' },
    path: { value: 'path', summary: 'Only in this file: a physical path.' },
    json: { value: null, summary: 'Print the answer as JSON.' },
  },
  exitCodes: '0 found, 1 failed or not found',
  run,
};

async function run(context: CommandContext): Promise<void> {
  const { flags } = context;
  const loaded = await loadConfig(context);
  const [userId, spaceId, path] = ['user', 'space', 'path'].map((flag) => flags.get(flag));
  const request: TextSearchRequest = {
    text: await readText('Text: '),
    history: flags.has('history'),
    ...(userId !== undefined && { userId }),
    ...(spaceId !== undefined && { spaceId }),
    ...(path !== undefined && { path }),
  };
  const items = await withAdminApi(loaded, async (api) => {
    const found: FoundVersions[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const body = cursor === undefined ? request : { ...request, cursor };
      const page: TextSearchAnswer = await api.ask('POST', 'search', body);
      found.push(...page.items);
      cursor = page.nextCursor;
    }
    return found;
  });
  if (items.length === 0) process.exitCode = 1;
  writeOutput(flags.has('json') ? `${JSON.stringify({ items }, null, 2)}\n` : print(items));
}

function print(items: readonly FoundVersions[]): string {
  if (items.length === 0) return 'No file has this text.\n';
  const rows = items.map(({ path, fromVersion, toVersion, current, lines }) => [
    path,
    fromVersion === toVersion ? `v${toVersion}` : `v${fromVersion}-v${toVersion}`,
    current ? 'now' : '',
    `line ${lines.map(({ line }) => line).join(', ')}`,
  ]);
  return `${toColumns(rows).join('\n')}\n`;
}
