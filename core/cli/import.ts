import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { compress } from '../archive/export.ts';
import { packFolder } from '../archive/folder.ts';
import { loadConfig } from '../config/index.ts';
import type { OnExisting } from '../contracts/admin.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { carryMemory } from './memory-carrier.ts';
import { createProgress } from './running-server.ts';

const ON_EXISTING: Readonly<Record<string, OnExisting>> = {
  refuse: 'refuse',
  skip: 'skip',
  'new-versions': 'new_versions',
};

/**
 * `memory-service import <file.tar.gz | folder>`: imports an archive of the export, or a folder of
 * plain text files, with or without a running server.
 */
export const importCommand: Command = {
  summary: 'Import an archive of the export, or a folder of text files.',
  argument: 'file.tar.gz|folder',
  flags: {
    user: { value: 'userId', summary: 'Whose files a folder holds; else users/<userId>/ in it.' },
    'dry-run': { value: null, summary: 'Say for each file what would happen; write nothing.' },
    'on-existing': {
      value: 'how',
      summary: 'For files with another content: refuse (default), skip, new-versions.',
    },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const source = resolve(context.cwd, context.argument ?? '');
  const userId = context.flags.get('user') ?? null;
  const dryRun = context.flags.has('dry-run');
  const how = context.flags.get('on-existing') ?? 'refuse';
  const onExisting = Object.hasOwn(ON_EXISTING, how) ? ON_EXISTING[how] : undefined;
  if (onExisting === undefined) {
    throw new StartError(`--on-existing is one of ${Object.keys(ON_EXISTING).join(', ')}.`);
  }
  const found = await stat(source).catch(() => null);
  if (found === null) throw new StartError(`There is nothing at ${source}.`);
  if (!found.isDirectory() && userId !== null) {
    throw new StartError('--user is for a folder: an archive names its users itself.');
  }
  const directory = await mkdtemp(join(tmpdir(), 'memory-service-folder-'));
  try {
    const file = found.isDirectory() ? await pack(source, { directory, userId }) : source;
    await carryMemory(loaded, async (carrier) => {
      const progress = createProgress('files');
      const imported = await carrier.import(file, { onExisting, dryRun });
      let files = 0;
      let next = await imported.next();
      for (; next.done !== true; next = await imported.next()) {
        files += 1;
        progress(files, null);
        if (dryRun) process.stdout.write(`${next.value.outcome.padEnd(10)}${next.value.path}\n`);
      }
      const { restored, created, updated, unchanged, skipped } = next.value;
      process.stdout.write(
        `${dryRun ? 'Would import' : 'Imported'} ${restored + created + updated} files:` +
          ` ${restored} restored with their history, ${created} created, ${updated} updated;` +
          ` ${unchanged} unchanged, ${skipped} skipped.\n`,
      );
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function pack(
  folder: string,
  { directory, userId }: { directory: string; userId: string | null },
): Promise<string> {
  const file = join(directory, 'folder.tar.gz');
  const progress = createProgress('files read');
  const chunks = packFolder(folder, {
    userId,
    onFile: (done) => progress(done, null),
    onLeftOut({ path, why }) {
      process.exitCode = 1;
      process.stderr.write(`  left out ${path}: ${why}\n`);
    },
  });
  await pipeline(compress(chunks), createWriteStream(file, { mode: 0o600 }));
  return file;
}
