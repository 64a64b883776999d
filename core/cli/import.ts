import { createWriteStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { compress } from '../archive/export.ts';
import { packFolder } from '../archive/folder.ts';
import { loadConfig } from '../config/index.ts';
import type { ImportedFile, ImportFormat, OnExisting, SkippedItem } from '../contracts/admin.ts';
import { makeTemporaryFolder } from '../maintenance/temporary-folders.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { carryMemory, reportFolder } from './memory-carrier.ts';
import { createProgress } from './running-server.ts';
import { writeOutput } from './streams.ts';

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
      const progress = createProgress('files');
      const imported = await carrier.import(file, {
        onExisting,
        dryRun,
        from: isFolder
          ? ((from as ImportFormat | undefined) ?? 'markdown')
          : (from as ImportFormat),
        // A packed folder says it itself.
        userId: isFolder ? null : userId,
      });
      const skips = createSkipReport();
      const others = new Map<string, number>();
      let files = 0;
      let masked = 0;
      let next = await imported.next();
      for (; next.done !== true; next = await imported.next()) {
        if ('reason' in next.value) {
          process.exitCode = 1;
          skips.add(next.value);
          continue;
        }
        files += 1;
        const [, owner] = /^users\/([^/]+)\//.exec(next.value.path) ?? [];
        if (owner !== undefined && owner !== userId)
          others.set(owner, (others.get(owner) ?? 0) + 1);
        progress(files, null);
        if (next.value.masked !== undefined) {
          masked += 1;
          if (masked <= MOST_MASKED) reportMasked(next.value);
        }
        if (dryRun) writeOutput(`${next.value.outcome.padEnd(10)}${next.value.path}\n`);
      }
      skips.end();
      if (masked > MOST_MASKED) {
        process.stderr.write(`  masked in ${masked - MOST_MASKED} more files\n`);
      }
      const { restored, created, updated, unchanged, skipped, source } = next.value;
      writeOutput(
        `${dryRun ? 'Would import' : 'Imported'} ${restored + created + updated} files:` +
          ` ${restored} restored with their history, ${created} created, ${updated} updated;` +
          ` ${unchanged} unchanged, ${skipped} skipped.\n`,
      );
      if (packed !== null && packed.normalised > 0) {
        writeOutput(
          `${packed.normalised} of them had names in another Unicode form (NFD, as a Mac may write), which became NFC.\n`,
        );
      }
      if (source === undefined) return;
      writeOutput(
        `Of ${source.items} items of ${source.from}, ${source.written} are in these files; ${source.skipped} were skipped.\n`,
      );
      if (userId === null || others.size === 0) return;
      const names = [...others].slice(0, MOST_USERS).map(([id, count]) => `${id} (${count})`);
      const more = others.size > MOST_USERS ? ` and ${others.size - MOST_USERS} more` : '';
      writeOutput(
        `It names other users than ${userId} itself. Their files are in their own memory: ${names.join(', ')}${more}.\n`,
      );
    });
  } finally {
    await folder.remove();
  }
}

/** Users whom an export names that are named by the command. */
const MOST_USERS = 20;
/** Skipped items that are named one by one; of the others, there is a count for each reason. */
const MOST_SKIPPED = 200;
const MOST_REASONS = 20;

/** Files with something masked that are named one by one. */
const MOST_MASKED = 200;

/** Names the lines of a file in which screening masked something, on standard error. */
function reportMasked({ path, masked = [] }: ImportedFile): void {
  const lines = masked.map(({ line, kind }) => `line ${line} (${kind})`).join(', ');
  process.stderr.write(`  masked ${toPlain(path)}: ${lines}\n`);
}

/** Names skipped items on standard error. */
function createSkipReport(): { add(item: SkippedItem): void; end(): void } {
  let named = 0;
  const counts = new Map<string, number>();
  return {
    add({ item, reason }) {
      named += 1;
      if (named <= MOST_SKIPPED) {
        process.stderr.write(`  skipped ${toPlain(item)}: ${toPlain(reason)}\n`);
        return;
      }
      const isKnown = counts.has(reason) || counts.size < MOST_REASONS;
      const key = isKnown ? reason : 'Other reasons.';
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    end() {
      for (const [reason, count] of counts) {
        process.stderr.write(`  skipped ${count} more: ${toPlain(reason)}\n`);
      }
    },
  };
}

/** Without what a terminal obeys: a path in an archive may have any character. */
const toPlain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');

/** The files in a folder that look like exports. */
async function nameExports(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => /\.(?:json|jsonl|ndjson|af)$/i.test(name));
  if (names.length === 0) return '';
  return ` Import its files one by one: ${names.sort().slice(0, 5).map(toPlain).join(', ')}${names.length > 5 ? ', …' : ''}.`;
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
