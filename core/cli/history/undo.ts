import { createInterface } from 'node:readline/promises';
import { ConfigError } from '../../config/error.ts';
import { loadConfig } from '../../config/index.ts';
import { withAdminApi } from '../admin-api.ts';
import type { Command } from '../command.ts';
import { EXIT_FAILED, EXIT_LEFT } from '../failure.ts';
import type { OwnFlag } from '../own-flags.ts';
import type { RunningServer } from '../running-server.ts';
import type { Given } from './look.ts';
import { toColumns, toDiff, toText } from './text.ts';
import { takeStreams, writeOutput } from '../streams.ts';

/** What an undo did to each file, or would do. */
export interface Outcomes {
  files: readonly {
    path: string;
    outcome: string;
    version: number | null;
    why: string | null;
    diff: string;
    diffOmitted: boolean;
  }[];
  /** How many files had which outcome. */
  counts: Readonly<Record<string, number>>;
  /** Files that are counted and not listed. */
  filesOmitted: number;
  /** What else a person should know. */
  notes?: readonly string[];
}

/** A command that undoes something by new revisions. */
interface Undo<Answer> extends Omit<Command, 'run' | 'flags' | 'exitCodes'> {
  flags: Readonly<Record<string, OwnFlag>>;
  /** Called before anything is opened. `preview` is what a person agreed to; `null` if none was shown. */
  ask(
    given: Given,
  ): (api: RunningServer, options: { dryRun: boolean; preview: Answer | null }) => Promise<Answer>;
  toOutcomes(answer: Answer): Outcomes;
}

/** Files with these outcomes stay as they are, though they were to be undone. */
const LEFT = ['left', 'conflict', 'gone', 'refused'];
const IDLE = [...LEFT, 'unchanged'];

/**
 * Makes a command that shows what would happen before it writes. On a terminal it asks first;
 * elsewhere it writes only if `--yes` is given. `--json` prints the answer of the admin API.
 */
export function createUndo<Answer>({ ask, toOutcomes, flags, ...command }: Undo<Answer>): Command {
  return {
    ...command,
    flags: {
      ...flags,
      'dry-run': { value: null, summary: 'Show what would happen, with diffs; write nothing.' },
      yes: { value: null, summary: 'Write without asking.' },
      json: { value: null, summary: 'Print the answer as JSON; with --dry-run or --yes.' },
    },
    exitCodes: '0 done, 1 failed or not wanted, 2 some files were left as they are',
    async run(context) {
      const given = { argument: context.argument ?? '', flags: context.flags };
      const request = ask(given);
      const [isDry, isSure, isJson] = ['dry-run', 'yes', 'json'].map((flag) =>
        given.flags.has(flag),
      );
      const isTerminal = process.stdin.isTTY && takeStreams().output.isTTY;
      if (!isDry && !isSure && (isJson || !isTerminal)) {
        const message = 'Nothing was written: look with --dry-run, then write with --yes.';
        throw new ConfigError(null, message);
      }
      const loaded = await loadConfig(context);
      /** Opened anew for the write, so that nobody waits for the database while a person thinks. */
      const send = async (dryRun: boolean, preview: Answer | null = null) => {
        const answer = await withAdminApi(loaded, (api) => request(api, { dryRun, preview }));
        const outcomes = toOutcomes(answer);
        writeOutput(isJson ? `${JSON.stringify(answer, null, 2)}\n` : print(outcomes, { dryRun }));
        if (hasAny(outcomes, (outcome) => LEFT.includes(outcome))) process.exitCode = EXIT_LEFT;
        return { answer, outcomes };
      };
      if (isDry || isSure) {
        await send(isDry === true);
        return;
      }
      const { answer: preview, outcomes } = await send(true);
      if (!hasAny(outcomes, (outcome) => !IDLE.includes(outcome))) return;
      if (await confirm('Write this? [y/N] ')) {
        await send(false, preview);
        return;
      }
      writeOutput('Nothing was written.\n');
      process.exitCode = EXIT_FAILED;
    },
  };
}

function hasAny({ counts }: Outcomes, isMeant: (outcome: string) => boolean): boolean {
  return Object.entries(counts).some(([outcome, count]) => count > 0 && isMeant(outcome));
}

function print(
  { files, counts, filesOmitted, notes = [] }: Outcomes,
  { dryRun }: { dryRun: boolean },
): string {
  const heads = toColumns(
    files.map(({ outcome, path, version, why, diffOmitted }) => [
      ...[outcome, path, version === null ? '' : `v${version}`],
      [why ?? '', diffOmitted ? '(the diff is left out)' : ''].filter(Boolean).join(' '),
    ]),
  );
  const listed = heads.map((head, index) => `${head}\n${toDiff(files[index]?.diff ?? '')}`);
  const sum = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`);
  return [
    ...listed,
    filesOmitted === 0 ? '' : `and ${filesOmitted} more files\n`,
    toText([...notes, `${dryRun ? 'Would be' : 'Done'}: ${sum.join(', ') || 'no files'}.`]),
  ].join('');
}

/** Asks a person; the end of the input is a no. */
async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  const answer = await Promise.race([terminal.question(question), closed]);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}
