/** A memory file as the engine gets it. */
export interface EditedFile {
  /** Virtual. */
  path: string;
  /** 0 for a file that an operation creates. */
  version: number;
  content: string;
  /** When each line was written, in milliseconds; absent where it is not known. */
  times?: readonly number[];
  /** The numbers of the lines that the model is shown; absent for all. */
  shown?: ReadonlySet<number>;
  /** What the ids of its lines start with in prompts; see `nameLines`. */
  letters?: string;
}

/** What operations are located in. */
export interface EditedMemory {
  /** What the paths of the memory that is edited start with; default `user/`. */
  home?: string;
  files: readonly EditedFile[];
  /** The paths of all files of that memory. */
  paths: ReadonlySet<string>;
  /** The fact of `memory_remember`. */
  fact?: string;
}
