import type { Imported } from '../archive/import.ts';
import type { ImportedFile, SkippedItem } from '../contracts/admin.ts';
import { createProgress } from './running-server.ts';
import { writeOutput } from './streams.ts';

/** What the operator said of an import. */
interface ImportReport {
  dryRun: boolean;
  /** Whose memory it is, where it does not say so. */
  userId?: string | null;
  /** Names that got another Unicode form. */
  normalised?: number;
}

/** Tells the operator how an import goes on, what was left out and masked, and how it ended. */
export async function reportImport(
  imported: Imported,
  { dryRun, userId = null, normalised = 0 }: ImportReport,
): Promise<void> {
  const progress = createProgress('files');
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
    if (owner !== undefined && owner !== userId) others.set(owner, (others.get(owner) ?? 0) + 1);
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
  if (normalised > 0) {
    writeOutput(
      `${normalised} of them had names in another Unicode form (NFD, as a Mac may write), which became NFC.\n`,
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
  process.stderr.write(`  masked ${toPlainLine(path)}: ${lines}\n`);
}

/** Names skipped items on standard error. */
function createSkipReport(): { add(item: SkippedItem): void; end(): void } {
  let named = 0;
  const counts = new Map<string, number>();
  return {
    add({ item, reason }) {
      named += 1;
      if (named <= MOST_SKIPPED) {
        process.stderr.write(`  skipped ${toPlainLine(item)}: ${toPlainLine(reason)}\n`);
        return;
      }
      const isKnown = counts.has(reason) || counts.size < MOST_REASONS;
      const key = isKnown ? reason : 'Other reasons.';
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    end() {
      for (const [reason, count] of counts) {
        process.stderr.write(`  skipped ${count} more: ${toPlainLine(reason)}\n`);
      }
    },
  };
}

/** Without what a terminal obeys: a path in an archive may have any character. */
export const toPlainLine = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
