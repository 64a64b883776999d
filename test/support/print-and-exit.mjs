/**
 * Prints the text and ends the process once all of it is written: an exit before that would cut off
 * its end on a pipe.
 *
 * @param {string} text
 * @param {number} code
 * @returns {Promise<never>}
 */
export function printAndExit(text, code) {
  return new Promise(() => void process.stdout.write(text, () => process.exit(code)));
}
