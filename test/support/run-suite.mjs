import { randomInt } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';

/** The files that took longest are named, so that who shortens the run knows where to look. */
const SLOW_FILES = 20;
const SLOW_MS = 20_000;

/** The length of an error in the line of its test: the whole of it stands further above. */
const ERROR_LENGTH = 300;

/** More files than this do not fail by the load of the machine. */
const FILES_RUN_AGAIN = 10;

/** The name of the failure of a file that does not even load: it has no tests to fail. */
const WHOLE_FILE = 'the file itself';

/**
 * @typedef {import('vitest/node').TestModule} TestModule
 * @typedef {{ file: string, name: string, error: string }} Failure
 * @typedef {object} FileResult
 * @property {string} file
 * @property {string[]} passed
 * @property {Failure[]} failures
 * @property {Failure[]} unsteady what failed in the whole run, and passed when its file ran alone
 * @property {string[]} notRun each with the command that would run it
 * @property {string[]} notes what tests annotate
 * @property {number} ms
 * @property {number | null} processorMs `null` where nothing could be measured
 * @typedef {object} SuiteResult
 * @property {FileResult[]} files
 * @property {Failure[]} failures of no file
 * @property {number} seed
 */

/**
 * Runs the test files whose path contains one of `filters`, or all. A file with a failure is run once
 * more, alone and with the same random values: what passes then failed by the load of the machine,
 * and is `unsteady`.
 *
 * @param {{ root: string, filters: string[] }} options
 * @returns {Promise<SuiteResult>}
 */
export async function runSuite({ root, filters }) {
  const seed = Number((process.env.MEMORY_TEST_SEED ??= `${randomInt(2 ** 31)}`));
  // Only now: before the packages are installed there may be no vitest.
  const { createVitest } = await import('vitest/node');
  // startVitest would close it after the first run.
  const vitest = await createVitest('test', { root, run: true, watch: false });
  await vitest.start(filters).catch((error) => {
    if (error.code !== 'VITEST_FILES_NOT_FOUND') throw error;
  });
  const runs = vitest.state
    .getTestModules()
    .map((module) => ({ module, result: collect(module) }))
    .sort((a, b) => (a.result.file < b.result.file ? -1 : 1));
  const unhandled = [...vitest.state.getUnhandledErrors()];
  const failed = runs.filter(({ result }) => result.failures.length > 0);
  if (failed.length <= FILES_RUN_AGAIN) {
    for (const run of failed) {
      const { project, moduleId } = run.module;
      const { testModules, unhandledErrors } = await vitest.runTestSpecifications([
        project.createSpecification(moduleId),
      ]);
      unhandled.push(...unhandledErrors);
      const again = testModules.find((one) => one.project === project && one.moduleId === moduleId);
      if (again !== undefined) run.result = compare(run.result, collect(again));
    }
  }
  await vitest.close();

  const files = runs.map(({ result }) => result);
  /** @type {Failure[]} */
  const failures = unhandled.map((error) => {
    return { file: 'no file', name: 'unhandled error', error: toText(error) };
  });
  if (files.every((file) => file.passed.length + file.failures.length === 0)) {
    const error = files.length === 0 ? 'no test file was found' : 'no test was run';
    failures.push({ file: filters.join(' '), name: 'everything', error });
  }
  return { files, failures, seed };
}

/**
 * The lines that a run ends with, and whether it passed. The failures stand directly before the
 * counts, because of a long output often only the end is at hand.
 *
 * @param {SuiteResult} result
 * @returns {{ lines: string[], isPassed: boolean }}
 */
export function summarize({ files, failures: others, seed }) {
  const failures = [...files.flatMap((file) => file.failures), ...others];
  const slow = files.filter(({ ms }) => ms >= SLOW_MS).sort((a, b) => b.ms - a.ms);
  const passed = files.reduce((sum, file) => sum + file.passed.length, 0);
  const processorMs = files.reduce((sum, file) => sum + (file.processorMs ?? 0), 0);
  const lines = [
    ...files.flatMap((file) => file.notes),
    ...slow
      .slice(0, SLOW_FILES)
      .map(({ file, ms, processorMs }) => `slow: ${file} (${toSeconds(ms, processorMs)})`),
    ...(processorMs > 0 ? [`processor time of all files: ${seconds(processorMs)}`] : []),
    ...files.flatMap((file) => file.notRun).map((line) => `not run: ${line}`),
    `random values: MEMORY_TEST_SEED=${seed}`,
    ...files
      .flatMap((file) => file.unsteady)
      .map((it) => `unsteady: ${it.file} > ${it.name} (failed once under load: ${it.error})`),
    ...failures.map(({ file, name, error }) => `failed: ${file} > ${name}: ${error}`),
    `${passed} passed, ${failures.length} failed`,
  ];
  return { lines, isPassed: failures.length === 0 };
}

/**
 * @param {number} ms
 * @param {number | null} processorMs
 */
function toSeconds(ms, processorMs) {
  const processor = processorMs === null ? '' : `, ${seconds(processorMs)} of processor time`;
  return `${seconds(ms)}${processor}`;
}

/** @param {number} ms */
function seconds(ms) {
  return `${Math.round(ms / 1_000)} s`;
}

/**
 * @param {TestModule} module
 * @returns {FileResult}
 */
function collect(module) {
  const file = nameFile(module);
  const ms = module.diagnostic().duration;
  const { processorMs = null } = module.meta();
  /** @type {FileResult} */
  const result = {
    file,
    passed: [],
    failures: [],
    unsteady: [],
    notRun: [],
    notes: [],
    ms,
    processorMs,
  };
  for (const test of module.children.allTests()) {
    const name = test.fullName;
    result.notes.push(...test.annotations().map(({ message }) => message));
    const { state, errors, ...more } = test.result();
    if (state === 'passed') result.passed.push(name);
    else if (state === 'failed') result.failures.push({ file, name, error: toText(errors?.[0]) });
    else {
      const note = 'note' in more ? more.note : undefined;
      result.notRun.push(`${name} (${note ?? `npx vitest run ${module.relativeModuleId}`})`);
    }
  }
  if (result.failures.length === 0 && module.state() === 'failed') {
    const suites = [module, ...module.children.allSuites()];
    const error = suites.flatMap((suite) => suite.errors())[0];
    result.failures.push({ file, name: WHOLE_FILE, error: toText(error) });
  }
  return result;
}

/**
 * The second result of a file, with what failed in the first: as unsteady what has passed now, and as
 * failed what has not.
 *
 * @param {FileResult} first
 * @param {FileResult} second
 * @returns {FileResult}
 */
function compare(first, second) {
  const failures = [...second.failures];
  /** @type {Failure[]} */
  const unsteady = [];
  for (const failure of first.failures) {
    if (second.failures.some(({ name }) => name === failure.name)) continue;
    const isPassed =
      second.passed.includes(failure.name) ||
      (failure.name === WHOLE_FILE && second.failures.length === 0);
    (isPassed ? unsteady : failures).push(failure);
  }
  return { ...second, failures, unsteady };
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
