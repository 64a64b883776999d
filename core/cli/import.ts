import { createWriteStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { compress } from '../archive/export.ts';
import { packFolder } from '../archive/folder.ts';
import { ConfigError } from '../config/error.ts';
import { loadConfig } from '../config/index.ts';
import type { ImportFormat, OnExisting } from '../contracts/admin.ts';
import { makeTemporaryFolder } from '../maintenance/temporary-folders.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { carryMemory, reportFolder } from './memory-carrier.ts';
import { importStores } from './import-stores.ts';
import { reportImport, toPlainLine } from './report-import.ts';

const ON_EXISTING: Readonly<Record<string, OnExisting>> = {
  refuse: 'refuse',
  skip: 'skip',
  'new-versions': 'new_versions',
};

/** What is read from a service. */
const STORES = 'memory-stores';
/** What `--from` takes. */
const FROM: ReadonlySet<string> = new Set<ImportFormat>([
  'archive',
  'markdown',
  'mem0',
  'letta',
  'server-memory',
  'basic-memory',
  STORES,
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
  isArgumentOptional: true,
  flags: {
    from: {
      value: 'format',
      summary:
        'archive, markdown, mem0, letta, server-memory, basic-memory, memory-stores; else found.',
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
    url: { value: 'address', summary: 'Of memory-stores: where the stores are.' },
    key: {
      value: 'key',
      summary: 'Of memory-stores: a key for them; better in ANTHROPIC_API_KEY.',
    },
    store: { value: 'id', summary: 'Of memory-stores: only this one.' },
    space: {
      value: 'spaceId',
      summary: 'Of memory-stores: into this space; default: the store’s id.',
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
  const from = context.flags.get('from');
  if (from !== undefined && !FROM.has(from)) {
    throw new StartError(`--from is one of ${[...FROM].join(', ')}.`);
  }
  const ofStores = ['url', 'key', 'store', 'space'].filter((name) => context.flags.has(name));
  if (from === STORES) {
    if (context.argument !== null || userId !== null) {
      throw new StartError(`${STORES} takes --url, and no file and no --user.`);
    }
    return await importStores(context, { onExisting, dryRun });
  }
  if (ofStores.length > 0) throw new StartError(`--${ofStores[0]} goes with --from=${STORES}.`);
  if (context.argument === null) {
    throw new ConfigError(null, 'import needs a file|folder: memory-service import <file|folder>.');
  }
  const found = await stat(source).catch(() => null);
  if (found === null) throw new StartError(`There is nothing at ${source}.`);
  const isFolder = found.isDirectory();
  if (from !== undefined && FOLDERS.has(from) !== isFolder) {
    const candidates = isFolder ? await nameExports(source) : '';
    throw new StartError(
      `${from} is ${isFolder ? 'a file' : 'a folder'}, and ${source} is not.${candidates}`,
    );
  }
  if (from === 'basic-memory' && userId === null) {
    throw new StartError('basic-memory does not say whose its notes are: give --user.');
  }
  const folder = await makeTemporaryFolder('folder');
  try {
    const packed = isFolder ? await pack(source, { directory: folder.path, userId }) : null;
    const file = packed?.file ?? source;
    await carryMemory(loaded, { mayCreate: true }, async (carrier) => {
      const imported = await carrier.import(file, {
        onExisting,
        dryRun,
        from: isFolder
          ? ((from as ImportFormat | undefined) ?? 'markdown')
          : (from as ImportFormat),
        // A packed folder says it itself.
        userId: isFolder ? null : userId,
      });
      await reportImport(imported, { dryRun, userId, normalised: packed?.normalised ?? 0 });
    });
  } finally {
    await folder.remove();
  }
}

/** The files in a folder that look like exports. */
async function nameExports(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => /\.(?:json|jsonl|ndjson|af)$/i.test(name));
  if (names.length === 0) return '';
  return ` Import its files one by one: ${names.sort().slice(0, 5).map(toPlainLine).join(', ')}${names.length > 5 ? ', …' : ''}.`;
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
