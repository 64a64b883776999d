import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';

/** A directory with a database of some users, as the command finds one. */
export async function filledDatabase(
  options: { files?: number; now?: () => number } = {},
): Promise<{ cwd: string; filename: string }> {
  const cwd = await temporaryDirectory();
  const filename = path.join(cwd, 'data', 'memory.db');
  await mkdir(path.dirname(filename), { recursive: true });
  const { files = 9, now = Date.now } = options;
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
  return { cwd, filename };
}

/** What a command says on standard error while it works, when that takes long enough. */
export const PROGRESS = /^(?: {2}\d+(?: of \d+)? \w+\n)*$/;
