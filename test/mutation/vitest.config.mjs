import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';

const root = path.resolve(import.meta.dirname, '../..');
const tests = JSON.parse(process.env['MUTATION_TESTS'] ?? '[]');

/** Files that the module lists by name come first: the tests of a mutant end at the first failure. */
class ListedFirst extends BaseSequencer {
  /** @param {import('vitest/node').TestSpecification[]} files */
  async sort(files) {
    const rank = ({ moduleId }) => {
      const index = tests.indexOf(path.relative(root, moduleId));
      return index < 0 ? tests.length : index;
    };
    return [...files].sort((a, b) => rank(a) - rank(b));
  }
}

/** What a mutant is tried with: the tests of its module, on SQLite. */
export default defineConfig({
  root,
  test: {
    include: tests,
    sequence: { sequencer: ListedFirst },
    // Leaves out a hundred thousand samples and thousands of requests, which take too long for each
    // mutant. The named cases of the same files tell as much.
    testNamePattern: /^(?!.*(?:100,000|SQL in a parameter))/,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    environment: 'node',
  },
});
