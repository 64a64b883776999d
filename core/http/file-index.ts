import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';

/** A file, read when the service started. */
export interface IndexedFile {
  /** Below the directory, with `/` between segments. */
  path: string;
  content: Buffer;
  /** Entity tag, in quotes. */
  etag: string;
}

/** Bounds on what is held in memory, far above any docs or console. */
const LIMITS = { depth: 12, files: 5_000, fileBytes: 16 * 1024 * 1024 } as const;

/**
 * Reads the files of a directory once. Requests are answered from this index and never reach the
 * file system. Skips dot files, links and special files, and with `extension` (`.md`) all that have
 * another one. A missing directory is empty.
 */
export function readFileIndex(
  directory: string,
  { extension }: { extension?: string } = {},
): ReadonlyMap<string, IndexedFile> {
  const index = new Map<string, IndexedFile>();
  let root: string;
  try {
    root = realpathSync(directory);
    if (!statSync(root).isDirectory()) return index;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return index;
    throw error;
  }
  const visit = (folder: string, prefix: string, depth: number): void => {
    const entries = readdirSync(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.')) continue;
      const place = join(folder, entry.name);
      const path = prefix + entry.name;
      if (entry.isDirectory()) {
        if (depth < LIMITS.depth) visit(place, `${path}/`, depth + 1);
        continue;
      }
      if (!entry.isFile() || index.size >= LIMITS.files) continue;
      if (extension !== undefined && extname(path).toLowerCase() !== extension) continue;
      if (statSync(place).size > LIMITS.fileBytes) continue;
      const content = readFileSync(place);
      const digest = createHash('sha256').update(content).digest('base64url');
      index.set(path, { path, content, etag: `"${digest.slice(0, 22)}"` });
    }
  };
  visit(root, '', 1);
  return index;
}
