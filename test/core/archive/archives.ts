import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ImportSource } from '../../../core/archive/archive.ts';
import { packEntry, readTar, TAR_END, type TarEntry } from '../../../core/archive/tar.ts';
import type { ImportedFile, ImportSummary } from '../../../core/contracts/admin.ts';
import type { Core } from '../../../core/service.ts';

/** Exports a memory into memory. */
export async function exportAll(
  core: Core,
  { userId = null, history = true }: { userId?: string | null; history?: boolean } = {},
): Promise<Buffer> {
  return await buffer(await core.archive.export({ userId, history }, null));
}

/** Imports an archive, and returns the lines and the summary. */
export async function importAll(
  core: Core,
  archive: Buffer,
  options: Partial<ImportSource> = {},
): Promise<{
  files: Record<string, ImportedFile['outcome']>;
  skipped: Record<string, string>;
  summary: ImportSummary;
}> {
  const imported = await core.archive.import(() => Readable.from([archive]), {
    onExisting: 'refuse',
    dryRun: false,
    caller: null,
    ...options,
  });
  const files: Record<string, ImportedFile['outcome']> = {};
  const skipped: Record<string, string> = {};
  for (;;) {
    const next = await imported.next();
    if (next.done === true) return { files, skipped, summary: next.value };
    if ('reason' in next.value) skipped[next.value.item] = next.value.reason;
    else files[next.value.path] = next.value.outcome;
  }
}

/** The entries of an archive. */
export async function unpack(archive: Buffer): Promise<TarEntry[]> {
  const tar = Readable.from([gunzipSync(archive)]) as AsyncIterable<Buffer>;
  const entries: TarEntry[] = [];
  for await (const entry of readTar(tar, { entries: Infinity, entryBytes: () => Infinity })) {
    entries.push(entry);
  }
  return entries;
}

/** An archive of these entries; further bytes stand where the entries end. */
export function pack(entries: readonly (TarEntry | Buffer)[]): Buffer {
  const parts = entries.map((entry) =>
    Buffer.isBuffer(entry) ? entry : packEntry(entry, { modifiedAt: 0 }),
  );
  return gzipSync(Buffer.concat([...parts, TAR_END]));
}
