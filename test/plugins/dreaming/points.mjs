/**
 * What the run of three files that the tests kill puts down, in order: rows of its state, and writes
 * of memory. Each is a point before its commit and one behind it; `model` is one of its own.
 */
export const POINTS = /** @type {const} */ ([
  'queued',
  'running',
  'tokens asked for',
  'tokens used',
  'proposed',
  'first file',
  'second file',
  'third file',
  'log',
  'completed',
]);
