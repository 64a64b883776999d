import { stripVTControlCharacters } from 'node:util';

/** The files that took longest are named, so that who shortens the run knows where to look. */
const SLOW_FILES = 20;
const SLOW_MS = 20_000;

/** The length of an error in the line of its test: the whole of it stands further above. */
const ERROR_LENGTH = 300;

/**
 * @typedef {import('vitest/node').TestModule} TestModule
 * @typedef {{ file: string, name: string, error: string }} Failure
 * @typedef {object} SuiteResult
 * @property {number} passed
 * @property {Failure[]} failures
 * @property {string[]} notRun each with the command that would run it
 * @property {string[]} notes what tests annotate
 * @property {{ file: string, ms: number }[]} slow
 */

/**
 * Runs the test files whose path contains one of `filters`, or all.
 *
 * @param {{ root: string, filters: string[] }} options
 * @returns {Promise<SuiteResult>}
 */
export async function runSuite({ root, filters }) {
  // Only now: before the packages are installed there may be no vitest.
  const { startVitest } = await import('vitest/node');
  const vitest = await startVitest('test', filters, { root, run: true, watch: false });
  const modules = vitest.state.getTestModules();
  const result = collect(modules);
  const unhandled = vitest.state.getUnhandledErrors();
  await vitest.close();
  if (result.failures.length === 0) {
    for (const error of unhandled) {
      result.failures.push({ file: 'no file', name: 'unhandled error', error: toText(error) });
    }
  }
  if (result.passed + result.failures.length === 0) {
    const error = modules.length === 0 ? 'no test file was found' : 'no test was run';
    result.failures.push({ file: filters.join(' '), name: 'everything', error });
  }
  return result;
}

/**
 * The lines that a run ends with: the failures last, directly before the counts, because of a long
 * output often only the end is at hand.
 *
 * @param {SuiteResult} result
 * @returns {string[]}
 */
export function toClosingLines({ passed, failures, notRun, notes, slow }) {
  return [
    ...notes,
    ...slow.map(({ file, ms }) => `slow: ${file} (${Math.round(ms / 1_000)} s)`),
    ...notRun.map((line) => `not run: ${line}`),
    ...failures.map(({ file, name, error }) => `failed: ${file} > ${name}: ${error}`),
    `${passed} passed, ${failures.length} failed`,
  ];
}

/**
 * @param {TestModule[]} modules
 * @returns {SuiteResult}
 */
function collect(modules) {
  /** @type {SuiteResult} */
  const result = { passed: 0, failures: [], notRun: [], notes: [], slow: [] };
  for (const module of modules) {
    const file = nameFile(module);
    const failedBefore = result.failures.length;
    for (const test of module.children.allTests()) {
      result.notes.push(...test.annotations().map(({ message }) => message));
      const { state, errors, ...more } = test.result();
      if (state === 'passed') result.passed += 1;
      else if (state === 'failed') {
        result.failures.push({ file, name: test.fullName, error: toText(errors?.[0]) });
      } else {
        const note = 'note' in more ? more.note : undefined;
        const command = `npx vitest run ${module.relativeModuleId}`;
        result.notRun.push(`${test.fullName} (${note ?? command})`);
      }
    }
    // A file that does not even load has no tests to fail: it counts as one.
    if (result.failures.length === failedBefore && module.state() === 'failed') {
      const suites = [module, ...module.children.allSuites()];
      const error = suites.flatMap((suite) => suite.errors())[0];
      result.failures.push({ file, name: 'the file itself', error: toText(error) });
    }
    const { duration: ms } = module.diagnostic();
    if (ms >= SLOW_MS) result.slow.push({ file, ms });
  }
  result.slow.sort((a, b) => b.ms - a.ms).splice(SLOW_FILES);
  return result;
}

/**
 * Its path; with the project, where a file is run by several.
 *
 * @param {TestModule} module
 */
function nameFile({ project, relativeModuleId }) {
  return project.name === 'all' ? relativeModuleId : `[${project.name}] ${relativeModuleId}`;
}

/**
 * The beginning of an error, on one line.
 *
 * @param {unknown} error
 */
function toText(error) {
  const { name, message = String(error) } = /** @type {Partial<Error>} */ (error ?? {});
  const text = stripVTControlCharacters(`${name ?? 'Error'}: ${message}`).replaceAll(/\s+/g, ' ');
  return text.length > ERROR_LENGTH ? `${text.slice(0, ERROR_LENGTH)}…` : text;
}
