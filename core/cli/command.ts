import type { OwnFlag } from './own-flags.ts';

/** A sub-command. Each is exported by its own file in this folder and listed in `main.ts`. */
export interface Command {
  summary: string;
  /** The flags that are not settings. */
  flags?: Readonly<Record<string, OwnFlag>>;
  /** The argument's name in the help; absent if the command takes none. */
  argument?: string;
  /** The command also runs without its argument. */
  isArgumentOptional?: true;
  /** What the exit codes say, where they say more than success and failure. */
  exitCodes?: string;
  run(context: CommandContext): Promise<void>;
}

/** The input of a sub-command. */
export interface CommandContext {
  /** The command line without the sub-command's name, argument and own flags. */
  argv: readonly string[];
  /** The sub-command's own flags. */
  flags: ReadonlyMap<string, string>;
  /** `null` where none is given. */
  argument: string | null;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}
