/**
 * Of the tests, files without a pattern run first, in this order.
 *
 * @typedef {{ mutate: readonly string[], tests: readonly string[] }} Module
 */

/**
 * What is mutated, with the tests that must notice: the rules on which everything else stands.
 *
 * @type {Readonly<Record<string, Module>>}
 */
export const MODULES = {
  paths: {
    mutate: ['core/files/paths.ts'],
    tests: ['test/core/files/paths.test.ts'],
  },
  patch: {
    mutate: ['core/files/patch.ts', 'core/files/occurrences.ts'],
    tests: [
      'test/core/files/patch.test.ts',
      'test/core/files/occurrences.test.ts',
      'test/core/tools/memory_patch.test.ts',
    ],
  },
  commit: {
    mutate: ['core/files/commit.ts', 'core/files/draft.ts'],
    tests: ['test/core/files/{commit,draft,files}.test.ts', 'test/core/tools/memory_move.test.ts'],
  },
  repeats: {
    mutate: ['core/files/idempotency.ts', 'core/files/hold.ts'],
    tests: [
      'test/core/files/{commit,hold,idempotency}.test.ts',
      'test/core/tools/run-tool.test.ts',
    ],
  },
  quotas: {
    mutate: ['core/files/content.ts', 'core/files/patch-budget.ts', 'core/network/rate-limit.ts'],
    tests: [
      'test/core/files/{content,draft,patch,patch-budget}.test.ts',
      'test/core/http/middleware/auth.test.ts',
      'test/core/network/rate-limit.test.ts',
    ],
  },
  authentication: {
    mutate: ['core/http/middleware/*.ts', 'core/http/signed-in.ts'],
    tests: [
      'test/core/http/middleware/*.test.ts',
      // These test the security headers.
      'test/core/http/{docs,route,signed-in}.test.ts',
    ],
  },
  edge: {
    mutate: [
      'core/http/address.ts',
      'core/http/body.ts',
      'core/http/precondition.ts',
      'core/http/query.ts',
    ],
    tests: ['test/core/http/{address,admin,body,precondition,query}.test.ts'],
  },
  route: {
    mutate: ['core/http/route.ts'],
    tests: [
      'test/core/http/route.test.ts',
      'test/core/http/body.test.ts',
      'test/core/http/middleware/host.test.ts',
      'test/core/http/mount.test.ts',
      'test/core/http/{mount-elsewhere,signed-in}.test.ts',
    ],
  },
};
