import type { OwnFlag } from './own-flags.ts';

/** A sub-command: the export of a file in this folder, and a line in `main.ts`. */
export interface Command {
  summary: string;
  /** The flags that are not settings. */
  flags?: Readonly<Record<string, OwnFlag>>;
  /** The name of its argument in the help; only for a command that takes one. */
  argument?: string;
  run(context: CommandContext): Promise<void>;
}

/** What a sub-command gets. */
export interface CommandContext {
  /** The command line without the sub-command's name, argument and own flags. */
  argv: readonly string[];
  /** The sub-command's own flags. */
  flags: ReadonlyMap<string, string>;
  /** `null` for a command without an argument. */
  argument: string | null;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}
