import { ConfigError } from '../config/error.ts';
import type { LoadedConfig } from '../config/index.ts';
import type { RedactTextAnswer, RedactTextRequest } from '../contracts/admin.ts';
import { withAdminApi } from './admin-api.ts';
import { fileLines } from './file-lines.ts';
import { readText } from './read-text.ts';
import { toColumns } from './history/text.ts';

type Flags = ReadonlyMap<string, string>;

/** Redacts a text, or lines of a revision: page after page. Returns all of it as one answer. */
export async function redactText(
  loaded: LoadedConfig,
  { revisionId, flags }: { revisionId: string | null; flags: Flags },
): Promise<RedactTextAnswer> {
  const request = await toRequest(revisionId, flags);
  return await withAdminApi(loaded, async (api) => {
    let answer: RedactTextAnswer | null = null;
    for (let cursor: string | null | undefined; cursor !== null;) {
      const body = cursor === undefined ? request : { ...request, cursor };
      const page: RedactTextAnswer = await api.ask('POST', 'redact', body);
      answer = answer === null ? page : join(answer, page);
      cursor = page.nextCursor;
      if (cursor !== null) process.stderr.write(`Looked through ${page.progress.files} files.\n`);
    }
    return answer as RedactTextAnswer;
  });
}

async function toRequest(revisionId: string | null, flags: Flags): Promise<RedactTextRequest> {
  const [where, userId, path] = ['in', 'user', 'path'].map((name) => flags.get(name));
  if (where !== undefined && where !== 'file' && where !== 'user' && where !== 'everywhere') {
    throw new ConfigError(null, '--in is file, user or everywhere.');
  }
  const replacement = flags.get('replacement');
  const lines = flags.get('lines');
  if (revisionId === null && where === undefined) {
    throw new ConfigError(null, '--text needs --in=file, --in=user or --in=everywhere.');
  }
  return {
    ...(revisionId === null ? { text: await readText('Text: ') } : { revisionId }),
    ...(lines !== undefined && { lines }),
    ...(where !== undefined && { in: where }),
    ...(userId !== undefined && { userId }),
    ...(path !== undefined && { path }),
    ...(replacement !== undefined && { replacement }),
    reason: flags.get('reason') ?? 'redacted on the command line',
    dryRun: !flags.has('yes'),
    removeCopies: flags.has('remove-copies'),
  };
}

function join(one: RedactTextAnswer, other: RedactTextAnswer): RedactTextAnswer {
  const records = { ...other.records, reasons: one.records.reasons + other.records.reasons };
  const all = <Item>(items: readonly Item[], more: readonly Item[]) => [
    ...new Set([...items, ...more]),
  ];
  return {
    ...other,
    files: [...one.files, ...other.files],
    records,
    left: {
      paths: all(one.left.paths, other.left.paths),
      userIds: all(one.left.userIds, other.left.userIds),
      actors: all(one.left.actors, other.left.actors),
    },
    readers: [...one.readers, ...other.readers],
    readersComplete: one.readersComplete && other.readersComplete,
  };
}

/** The answer for a person. It never has the text. */
export function toTextLines(answer: RedactTextAnswer): string[] {
  const { dryRun, files, records, left, readers, readersComplete, mayRemain } = answer;
  const found = Object.entries(records).filter(([, count]) => count > 0);
  const names = [...left.paths, ...left.userIds, ...left.actors];
  const rows = files.map(({ path, versions, fromVersion, toVersion, current, version }) => [
    `  ${path}`,
    `${versions} ${versions === 1 ? 'version' : 'versions'}`,
    fromVersion === toVersion ? `v${toVersion}` : `v${fromVersion}-v${toVersion}`,
    version !== null ? `now v${version}` : current ? 'now' : '',
  ]);
  if (files.length === 0 && found.length === 0) return ['The text was not found.'];
  return [
    dryRun ? 'Would redact:' : 'Redacted:',
    ...toColumns(rows),
    ...found.map(([name, count]) => `  ${name}: ${count}`),
    ...(names.length === 0 ? [] : ['These names have the text, and stay:']),
    ...names.map((name) => `  ${name}`),
    ...(readers.length === 0 ? [] : ['Written by somebody who had read it, so look at:']),
    ...readers.map(({ path }) => `  ${path}`),
    ...(readersComplete ? [] : ['  There may be more.']),
    ...fileLines(answer),
    'May remain elsewhere:',
    ...mayRemain.map((line) => `  ${line}`),
    ...(dryRun ? ['Nothing was changed. Run it again with --yes.'] : []),
  ];
}
