// Patches one file of 64 KB many times. Measures how much the store grows, and how long it takes to
// tell who wrote each line.

import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import { toNote } from '../support/notes.ts';
import { ADMIN_SECRET, fetchAdmin, importService } from '../support/service.ts';

const FILE_BYTES = 65_536;
const CONTEXT = { context: { userId: 'patcher' } };
const FILE = 'user/notes.md';

/** Facts: `fileBytes`, and the database's bytes `before` and `after` the patches, closed. */
export const open: OpenContestant<{ patches: number }> = async ({ patches, directory }) => {
  const { createMemoryService, sqlite } = await importService();
  const filename = path.join(directory, 'memory.db');
  const withService = async (
    work: (call: (tool: string, args: object) => Promise<unknown>) => Promise<void>,
  ): Promise<number> => {
    const service = createMemoryService({ storage: sqlite({ filename }) });
    await work((tool, args) => service.tools.execute(tool, { ...CONTEXT, arguments: args }));
    await service.close();
    return (await stat(filename)).size;
  };

  let content = '';
  for (let seed = 0; content.length < FILE_BYTES; seed += 1) content += toNote(seed);
  content = content.slice(0, FILE_BYTES - 1) + '\n';
  const lines = content.split('\n');
  const before = await withService(async (call) => {
    await call('memory_write', { path: FILE, content });
  });
  const after = await withService(async (call) => {
    for (let patch = 0; patch < patches; patch += 1) {
      // A line somewhere in the file gets a word more; each line is found by what it is alone in.
      const at = pickLine(lines, content, patch);
      const oldText = `\n${lines[at] ?? ''}\n`;
      lines[at] = `${lines[at] ?? ''} again`;
      content = lines.join('\n');
      await call('memory_patch', {
        path: FILE,
        edits: [{ oldText, newText: `\n${lines[at] ?? ''}\n` }],
      });
    }
  });
  const service = createMemoryService({
    storage: sqlite({ filename }),
    adminSecret: ADMIN_SECRET,
  });
  await service.start();
  const server = createServer(service.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    facts: { fileBytes: Buffer.byteLength(content), before, after },
    operations: {
      async blame() {
        const file = 'files/users/patcher/notes.md?blame=true';
        const { blame } = await fetchAdmin<{ blame: { version: number }[] }>(port, file);
        const versions = new Set(blame.map(({ version }) => version));
        if (versions.size < patches / 4) throw new Error('Lines lack their versions.');
      },
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await service.close();
    },
  };
};

/** A line that comes once, so that the patch is not ambiguous. */
function pickLine(lines: readonly string[], content: string, patch: number): number {
  for (let step = 0; step < lines.length; step += 1) {
    const at = 1 + ((patch * 97 + step) % (lines.length - 2));
    const line = lines[at] ?? '';
    const needle = `\n${line}\n`;
    if (line !== '' && content.indexOf(needle) === content.lastIndexOf(needle)) return at;
  }
  throw new Error('Every line comes twice.');
}
