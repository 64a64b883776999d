/**
 * What the tests kill writes, in order: rows of a run's state, and files with the rows that end the
 * run. Each is a point before its commit and one behind it; of the run `model` is one of its own.
 */
export const POINTS = {
  /** A run of three files, in auto mode. */
  run: /** @type {const} */ ([
    'queued',
    'running',
    'tokens asked for',
    'tokens used',
    'verdict tokens asked for',
    'verdict tokens used',
    'proposed',
    'files',
  ]),
  /** The applying of operations on three files. */
  apply: /** @type {const} */ (['files']),
  /** The undoing of a run of three files, which are written with the end of the undoing. */
  revert: /** @type {const} */ (['begun', 'undone']),
};
