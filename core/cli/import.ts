import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { compress } from '../archive/export.ts';
import { packFolder } from '../archive/folder.ts';
import { loadConfig } from '../config/index.ts';
import type { ImportFormat, OnExisting } from '../contracts/admin.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { carryMemory, reportFolder } from './memory-carrier.ts';
import { createProgress } from './running-server.ts';

const ON_EXISTING: Readonly<Record<string, OnExisting>> = {
  refuse: 'refuse',
  skip: 'skip',
  'new-versions': 'new_versions',
};

/** What `--from` takes. */
const FROM: ReadonlySet<string> = new Set<ImportFormat>([
  'archive',
  'markdown',
  'mem0',
  'letta',
  'server-memory',
  'basic-memory',
]);
/** Formats that are a folder. */
const FOLDERS: ReadonlySet<string> = new Set(['markdown', 'basic-memory']);

/**
 * `memory-service import <file | folder>`: imports an archive of the export, a folder of plain text
 * files, or an export of another program, with or without a running server.
 */
export const importCommand: Command = {
  summary: 'Import an archive of the export, a folder of text files, or memory of another program.',
  argument: 'file|folder',
  flags: {
    from: {
      value: 'format',
      summary:
        'archive, markdown, mem0, letta, server-memory, basic-memory; else found by the content.',
    },
    user: {
      value: 'userId',
      summary: 'Whose memory it is, where it does not say so; else users/<userId>/ in a folder.',
    },
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
  const from = context.flags.get('from');
  if (from !== undefined && !FROM.has(from)) {
    throw new StartError(`--from is one of ${[...FROM].join(', ')}.`);
  }
  const isFolder = found.isDirectory();
  if (from !== undefined && FOLDERS.has(from) !== isFolder) {
    throw new StartError(`${from} is ${isFolder ? 'a file' : 'a folder'}, and ${source} is not.`);
  }
  if (from === 'basic-memory' && userId === null) {
    throw new StartError('basic-memory does not say whose its notes are: give --user.');
  }
  const directory = await mkdtemp(join(tmpdir(), 'memory-service-folder-'));
  try {
    const packed = isFolder ? await pack(source, { directory, userId }) : null;
    const file = packed?.file ?? source;
    await carryMemory(loaded, { mayCreate: true }, async (carrier) => {
      const progress = createProgress('files');
      const imported = await carrier.import(file, {
        ...{ onExisting, dryRun },
        from: from as ImportFormat | undefined,
        // A packed folder says it itself.
        userId: isFolder ? null : userId,
      });
      let files = 0;
      let next = await imported.next();
      for (; next.done !== true; next = await imported.next()) {
        if ('reason' in next.value) {
          process.exitCode = 1;
          process.stderr.write(`  skipped ${next.value.item}: ${next.value.reason}\n`);
          continue;
        }
        files += 1;
        progress(files, null);
        if (dryRun) process.stdout.write(`${next.value.outcome.padEnd(10)}${next.value.path}\n`);
      }
      const { restored, created, updated, unchanged, skipped, source } = next.value;
      process.stdout.write(
        `${dryRun ? 'Would import' : 'Imported'} ${restored + created + updated} files:` +
          ` ${restored} restored with their history, ${created} created, ${updated} updated;` +
          ` ${unchanged} unchanged, ${skipped} skipped.\n`,
      );
      if (packed !== null && packed.normalised > 0) {
        process.stdout.write(
          `${packed.normalised} of them had names in another Unicode form (NFD, as a Mac may write), which became NFC.\n`,
        );
      }
      if (source === undefined) return;
      process.stdout.write(
        `Of ${source.items} items of ${source.from}, ${source.written} are in these files; ${source.skipped} were skipped.\n`,
      );
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Packs a folder, and counts the names that got another Unicode form. */
async function pack(
  folder: string,
  { directory, userId }: { directory: string; userId: string | null },
): Promise<{ file: string; normalised: number }> {
  const file = join(directory, 'folder.tar.gz');
  let normalised = 0;
  const chunks = packFolder(folder, {
    userId,
    ...reportFolder('files read'),
    onNormalised(path) {
      normalised += 1;
      process.stderr.write(`  read ${path}: its name became NFC\n`);
    },
  });
  await pipeline(compress(chunks), createWriteStream(file, { mode: 0o600 }));
  return { file, normalised };
}
