import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** Rules that `npm test` also runs on MariaDB and PostgreSQL. */
const ON_EACH_DATABASE = [
  'test/core/search/search-oracle.test.ts',
  'test/core/checks/stored-checks.test.ts',
  'test/core/files/exclusive-paths.test.ts',
  'test/core/http/values.test.ts',
  'test/core/storage/{holds,lost-commit}.test.ts',
  'test/core/storage/schema/neighbours.test.ts',
  'test/plugins/memory-stores/each-database.test.ts',
  'test/support/service.test.ts',
];

/**
 * Rules that `npm test` also runs on MariaDB, because the answer depends on the database: on its
 * transactions, locks, order of texts, indexes or migrations. test/plugins/storage-mysql runs
 * all rules of the stores there, test/core/testing those of a database.
 */
const ON_BOTH_DATABASES = [
  'test/core/access/{space-settings,spaces}.test.ts',
  'test/core/erase/{erase,erase-prefix,order}.test.ts',
  'test/core/files/{commit,freeze,idempotency}.test.ts',
  'test/core/history/{redact-text,redacted-columns,time-travel}.test.ts',
  'test/core/history/undo/carried.test.ts',
  'test/core/http/{influence,text-search}.test.ts',
  'test/core/maintenance/retention.test.ts',
  'test/core/search/index/{failing-statements,indexer}.test.ts',
  'test/core/storage/schema/earlier-schemas.test.ts',
  'test/core/telemetry/{access-log,traces}.test.ts',
  'test/core/tools/{foreign-memory,memory_find,memory_move}.test.ts',
  'test/plugins/dreaming/spaces.test.ts',
];

/** The rest of the product on MariaDB, for the release: it computes with what the stores have read. */
const ON_BOTH_FOR_RELEASE = [
  'test/core/archive/{existing,round-trip}.test.ts',
  'test/core/files/files.test.ts',
  'test/core/history/{blame,line-history,redact,restore,revert-writes,revisions}.test.ts',
  'test/core/http/{access-matrix,keys,reembed,spaces,undo}.test.ts',
  'test/core/maintenance/verify-chain.test.ts',
  'test/core/search/{find,hint,time}.test.ts',
  'test/core/search/embedding/embedding.test.ts',
  'test/core/subagents/{context,context-fill,remember}.test.ts',
  'test/core/subagents/remember/{filing,forget,inbox,model-faults}.test.ts',
  'test/core/tools/{memory_patch,run-tool}.test.ts',
  'test/plugins/memory-stores/memory-stores.test.ts',
];

/** What `npm run test:rules` leaves out: whatever starts commands or servers, kills, or opens a browser. */
const BEYOND_RULES = [
  'test/*.test.ts',
  'test/{cluster,console,docs,examples,faults,openapi,python,support}/**',
  'test/core/{build,cli}/**',
  'test/core/archive/git.test.ts',
  'test/core/http/health.test.ts',
  'test/core/search/embedding/{embedding-faults,embedding-worker}.test.ts',
  'test/core/testing/check-database.test.ts',
  'test/adapters/{client-elsewhere,missing-peers,next-majors}.test.ts',
  'test/plugins/storage-mysql/**',
  'test/plugins/storage-postgres/**',
  'test/plugins/storage-sqlite/{database-lock,one-index,open-files,two-processes}.test.ts',
  'test/plugins/storage-sqlite/drivers/**',
  'test/plugins/dreaming/{lease,mariadb,processes}.test.ts',
  'test/plugins/mcp/conformance.test.ts',
];

/** Checks what all others have sent to the databases, so it runs after them. */
const QUERY_PLANS = 'test/core/storage/query-plans.test.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const isRules = process.env['MEMORY_TEST_RULES'] !== undefined;

const EVERY_TEST: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'all',
    include: ['test/**/*.test.ts'],
    exclude: [
      ...['test/bench/**', QUERY_PLANS, '**/node_modules/**'],
      ...(isRules ? BEYOND_RULES : []),
    ],
  },
};

const ON_MARIADB: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'on MariaDB',
    include: [...ON_EACH_DATABASE, ...ON_BOTH_DATABASES, ...(isRelease ? ON_BOTH_FOR_RELEASE : [])],
    env: { MEMORY_TEST_DATABASE: 'mariadb' },
  },
};

/** More of them on PostgreSQL, for the release. */
const ON_POSTGRES_FOR_RELEASE = [
  'test/core/access/{space-settings,spaces}.test.ts',
  'test/core/erase/{erase-prefix,order}.test.ts',
  'test/core/http/{access-matrix,keys,spaces}.test.ts',
  'test/core/files/{commit,files,freeze,idempotency}.test.ts',
  'test/core/history/{blame,redact-text,revert-writes,time-travel}.test.ts',
  'test/core/history/undo/carried.test.ts',
  'test/core/http/text-search.test.ts',
  'test/core/search/embedding/embedding.test.ts',
  'test/core/search/find.test.ts',
  'test/core/telemetry/access-log.test.ts',
  'test/plugins/dreaming/spaces.test.ts',
  'test/plugins/memory-stores/memory-stores.test.ts',
];

const ON_POSTGRES: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'on PostgreSQL',
    include: [...ON_EACH_DATABASE, ...(isRelease ? ON_POSTGRES_FOR_RELEASE : [])],
    env: { MEMORY_TEST_DATABASE: 'postgres' },
  },
};

const AFTER_ALL: TestProjectInlineConfiguration = {
  extends: true,
  test: { name: 'query plans', include: [QUERY_PLANS], sequence: { groupOrder: 1 } },
};

export default defineConfig({
  test: {
    globalSetup: [
      'test/support/mariadb-setup.ts',
      'test/support/postgres-setup.ts',
      'test/support/statements-setup.ts',
    ],
    setupFiles: [
      'test/support/processor-time.ts',
      'test/support/seed.ts',
      'test/support/statements.ts',
    ],
    // A test that needs longer than this hangs, on a busy machine too. Nothing in the suite asserts
    // on time.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    // One more than the cores of a small machine: much of the suite waits for processes, browsers
    // and the database.
    maxWorkers: 3,
    // A worker keeps what it has loaded for its next file: to load it anew for each took a third of
    // the run. So a test leaves nothing behind: no environment, no global, no timer.
    isolate: false,
    // Prepared once by test/run.mjs, so that a bare `vitest run` works on what is built already.
    environment: 'node',
    projects: isRules ? [EVERY_TEST] : [EVERY_TEST, ON_MARIADB, ON_POSTGRES, AFTER_ALL],
  },
});
