import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';
import { sqlite } from '../../support/databases.ts';

/** What was written once into a database that was then closed, for others to start with. */
const filled = new Map<number, Buffer>();

/** A directory with a database of some users, as the command finds one. */
export async function filledDatabase(
  options: { files?: number; now?: () => number } = {},
): Promise<{ cwd: string; filename: string }> {
  const cwd = await temporaryDirectory();
  const filename = path.join(cwd, 'data', 'memory.db');
  await mkdir(path.dirname(filename), { recursive: true });
  const { files = 9, now } = options;
  const copy = now === undefined ? filled.get(files) : undefined;
  if (copy === undefined) await fill(filename, { files, now });
  else await writeFile(filename, copy, { mode: 0o600 });
  if (now === undefined && copy === undefined) filled.set(files, await readFile(filename));
  return { cwd, filename };
}

async function fill(
  filename: string,
  { files, now = Date.now }: { files: number; now: (() => number) | undefined },
): Promise<void> {
  const core = await openCore({ storage: sqlite({ filename }), now });
  for (let file = 0; file < files; file += 1) {
    const contents = ['- Saw a heron.\n', `- Saw a heron at pond ${file}.\n`];
    for (const [version, content] of contents.entries()) {
      const args = { path: `user/notes/${file}.md`, content };
      const key = { idempotencyKey: `${file}-${version}` };
      await call(core, `user${file % 3}`, 'memory_write', args, key);
    }
  }
  await core.indexer.drain();
  await core.close();
}

/** What a command says on standard error while it works, when that takes long enough. */
export const PROGRESS = /^(?: {2}\d+(?: of \d+)? \w+\n)*$/;
