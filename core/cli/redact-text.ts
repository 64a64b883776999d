import { ConfigError } from '../config/error.ts';
import type { LoadedConfig } from '../config/index.ts';
import type { RedactTextAnswer, RedactTextRequest } from '../contracts/admin.ts';
import { withAdminApi } from './admin-api.ts';
import { fileLines } from './file-lines.ts';
import { addRedactionPage } from '../history/redaction/add-page.ts';
import { listLeft } from '../history/redaction/left-names.ts';
import { postPages } from './post-pages.ts';
import { readText } from './read-text.ts';
import { toColumns } from './history/text.ts';

type Flags = ReadonlyMap<string, string>;

/** Redacts a text, or lines of a revision: page after page. Returns all of it as one answer. */
export async function redactText(
  loaded: LoadedConfig,
  { revisionId, flags }: { revisionId: string | null; flags: Flags },
): Promise<RedactTextAnswer> {
  const request = await toRequest(revisionId, flags);
  return await withAdminApi(loaded, (api) =>
    postPages(api, { route: 'redact', body: request }, addRedactionPage),
  );
}

async function toRequest(revisionId: string | null, flags: Flags): Promise<RedactTextRequest> {
  const [where, userId, spaceId, path] = ['in', 'user', 'space', 'path'].map((name) =>
    flags.get(name),
  );
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
    ...(spaceId !== undefined && { spaceId }),
    ...(path !== undefined && { path }),
    ...(replacement !== undefined && { replacement }),
    reason: flags.get('reason') ?? 'redacted on the command line',
    dryRun: !flags.has('yes'),
    removeCopies: flags.has('remove-copies'),
  };
}

/** The answer for a person. It never has the text. */
export function toTextLines(answer: RedactTextAnswer): string[] {
  const { dryRun, files, records, left, readers, readersComplete, mayRemain } = answer;
  const found = Object.entries(records).filter(([, count]) => count > 0);
  const names = listLeft(left);
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
