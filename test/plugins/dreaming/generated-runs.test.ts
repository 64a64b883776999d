import path from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { OPERATION_KINDS, type Operation } from '../../../plugins/dreaming/operations.ts';
import { mysql } from '../../../plugins/storage-mysql/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { type DreamService, MINUTE, openDreams, operation } from './dream-service.ts';
import {
  drafts,
  frontMatterOf,
  goodOperations,
  lossyOperations,
  memory,
  PINNED,
  toOperation,
} from './generated-memory.ts';

const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 8 : 500;

const DATABASES = {
  SQLite: async (): Promise<Storage> =>
    sqlite({ filename: path.join(await temporaryDirectory(), 'memory.db') }),
  MariaDB: async (): Promise<Storage> => mysql({ url: await freshDatabase() }),
};

const INDEX = 'user/index.md';
const CATALOG = '# Index\n\n- [Notes](a.md): what there is\n';

/** Something to do for an operation of each kind, whatever else is generated. */
const EXAMPLE = {
  'user/a.md': `---
title: x
---
- Met Anna on Mondays 12 tea.
- Met Anna on Mondays 12 tea.
- Lives in Berlin.
- Correction: lives in Madrid now, moved from Berlin.
- It is important to note that he basically really prefers short answers.
${PINNED.join('\n')}
- Decided on Postgres v2.1 billing.
`,
  'user/b.md': '---\ntitle: y\n---\n- Works with Zoë 09:30 billing.\n- Met Acme $500 tea.\n',
};

it.each(['SQLite', 'MariaDB'] as const)(
  'a run on %s keeps each specific and what is protected, and its undoing gives every byte back',
  { timeout: 180_000 + RUNS * 4_000 },
  async (name) => {
    const service = await openDreams({ storage: await DATABASES[name]() });
    const applied = new Set<string>();
    let users = 0;
    await fc.assert(
      fc.asyncProperty(memory, drafts, fc.nat(), async (generated, all, word) => {
        const userId = `user${(users += 1)}`;
        const before = { ...generated, [INDEX]: CATALOG };
        for (const [file, content] of Object.entries(before)) {
          await service.write(userId, file, content);
        }
        service.clock.advance(31 * MINUTE);
        service.say(() => ({
          operations: [
            ...all.map((it) => toOperation(before, it)),
            ...lossyOperations(generated, word),
            ...goodOperations(generated),
            entryOf(generated, 'user/b.md'),
          ],
        }));
        const run = await service.dream(userId);
        expect(run).toMatchObject({ state: 'completed', error: null });
        for (const { kind, status } of run.operations as { kind: string; status: string }[]) {
          if (status === 'applied') applied.add(kind);
        }

        const after = await readAll(service, userId, Object.keys(before));
        // What the catalog says of a file does not stand in for it.
        const tokens = new Set(Object.keys(generated).flatMap((it) => tokensOf(after[it] ?? '')));
        for (const [file, was] of Object.entries(generated)) {
          expect(specificsOf(was).filter((specific) => !tokens.has(specific))).toEqual([]);
          const content = after[file] ?? '';
          expect(content.startsWith(frontMatterOf(was))).toBe(true);
          for (const pinned of PINNED) expect(count(content, pinned)).toBe(count(was, pinned));
        }
        expect(after[INDEX]?.startsWith(CATALOG)).toBe(true);
        if (run.writes === 0) {
          expect(after).toEqual(before);
          return;
        }
        expect(after).not.toEqual(before);
        const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
        expect(json).toMatchObject({ outcome: 'reverted', left: [] });
        expect(await readAll(service, userId, Object.keys(before))).toEqual(before);
        expect(await service.read(userId, 'user/dream-log.md')).toBeNull();
      }),
      { numRuns: RUNS, endOnFailure: true, examples: [[EXAMPLE, [], 0]] },
    );
    // Else there is a kind that was not tried.
    expect([...applied].sort()).toEqual([...OPERATION_KINDS].sort());
    expect(service.provider.violations).toEqual([]);
  },
);

/** An entry of the catalog in words of the file's first fact. */
function entryOf(contents: Record<string, string>, file: string): Operation {
  const lines = (contents[file] ?? '').split('\n');
  const at = lines.findIndex((line) => line.startsWith('- '));
  return operation({
    kind: 'index',
    add: {
      path: INDEX,
      heading: null,
      lines: [`- [b](${file.slice('user/'.length)}): ${lines[at]?.slice(2) ?? ''}`],
    },
    sources: [{ path: file, line: at + 1 }],
  });
}

async function readAll(service: DreamService, userId: string, files: readonly string[]) {
  const contents = await Promise.all(files.map((file) => service.read(userId, file)));
  return Object.fromEntries(files.map((file, index) => [file, contents[index] ?? '']));
}

/** Found in a way of its own, as the generated lines show them: not by the code that is tried. */
function specificsOf(content: string): string[] {
  return content
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .flatMap((line) => tokensOf(line).slice(2))
    .filter((token) => /[\p{Nd}\p{Lu}\p{Lo}@`]|:\/\/|\]\(/u.test(token));
}

function tokensOf(content: string): string[] {
  return content.split(/\s+/).map((token) => token.replace(/[.,]$/, ''));
}

function count(content: string, part: string): number {
  return content.split(part).length - 1;
}
