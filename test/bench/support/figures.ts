/**
 * The figures that the service is to reach, each against what is measured beside it in the same
 * run. They are printed with each row and never asserted: what a shared machine measures is no test.
 */
export interface Figure {
  operation: string;
  /** What is compared with what, in words. */
  claim: string;
  is: 'at least' | 'at most';
  value: number;
  unit: '×' | '/s' | 'ms' | 'MB' | 'KB' | '%' | 's' | 'shift';
}

export const FIGURES = {
  'http-read-limit': atLeast(0.4, '×', 'read over HTTP, 32 callers', 'of the same read, bare'),
  'http-read-peer': atLeast(100, '×', 'read over HTTP, 32 callers', 'server-memory at 10k'),
  'http-write-burst': atLeast(2_000, '/s', 'write over HTTP, 32 callers', 'in a burst of 10 s'),
  'http-write-sustained': atLeast(
    800,
    '/s',
    'write over HTTP, 32 callers',
    'with the index kept up',
  ),
  'http-write-peer': atLeast(50, '×', 'write over HTTP, 32 callers', 'server-memory at 10k'),
  'process-read-limit': atLeast(
    0.5,
    '×',
    'read in process, 32 callers',
    'of prepared statements, bare',
  ),
  'process-read-mastra': atLeast(1, '×', 'read in process, 32 callers', 'of Mastra with one'),
  'process-write-files': atLeast(
    1,
    '×',
    'write in process, 32 callers',
    'of a file with fsync, one caller',
  ),
  'process-write-mastra': atLeast(0.4, '×', 'write in process, 32 callers', 'of Mastra with one'),
  'search-sqlite': atMost(1, 'ms', 'text search in process', 'median on SQLite, 1,000 of 10k'),
  'search-mysql': atMost(3, 'ms', 'text search in process', 'median on MariaDB, 1,000 of 10k'),
  'search-mem0': atLeast(100, '×', 'text search in process', 'mem0'),
  'search-grep': atLeast(100, '×', 'text search in process', 'grep through the same 10,000 notes'),
  'growth-search': atMost(1.5, '×', 'search, 500k documents', 'of the time with 10k'),
  'growth-read': atMost(1.5, '×', 'read, 500k documents', 'of the time with 10k'),
  'growth-write': atMost(1.5, '×', 'write, 500k documents', 'of the time with 10k'),
  'search-hybrid': atMost(3, 'ms', 'hybrid search, 1,000 × 384', 'beside the embedder'),
  'find-in-spaces': atMost(1.5, '×', 'text search with three spaces', 'of the time with one'),
  'find-beside-spaces': atMost(1.5, '×', 'text search with three spaces', 'of the time without'),
  'read-named-key': atLeast(
    0.97,
    '×',
    'read over HTTP with a named key',
    'of the same with the service key',
  ),
  'loop-delay': atMost(10, 'ms', 'event loop delay under load', 'p99'),
  stall: atMost(50, 'ms', 'worst-case arguments, each tool and route', 'longest stall of the loop'),
  'revert-stall': atMost(50, 'ms', 'revert of 10,000 revisions', 'longest stall of the loop'),
  'revert-memory': atMost(200, 'MB', 'revert of 10,000 revisions', 'more than before'),
  'redact-text': atMost(30, 's', 'a text in 520 versions of 40 files', 'redacted everywhere'),
  'checks-time': atMost(60, 's', '200 checks, 1,000 users × 50 files', 'all of them'),
  'checks-stall': atMost(
    50,
    'ms',
    '200 checks, 1,000 users × 50 files',
    'longest stall of the loop',
  ),
  'redact-stall': atMost(
    50,
    'ms',
    'a text in 520 versions of 40 files',
    'longest stall of the loop',
  ),
  'memory-resident': atMost(250, 'MB', '500k documents, 1,000 active users', 'resident'),
  'index-bytes': atMost(0.8, '×', 'index, files written once', 'of the bytes of the text'),
  'database-bytes': atMost(3.5, '×', 'database, files written once', 'of the bytes of the text'),
  'write-indexed': atLeast(0.8, '×', 'writes until they are indexed', 'of a burst until answered'),
  'merge-share': atMost(10, '%', 'processor time of merges', 'of all indexing'),
  'store-size': atMost(10, '%', '1,000 small patches of a 64 KB file', 'of 1,000 copies'),
  blame: atMost(200, 'ms', 'blame, 1,000 revisions of 64 KB', 'whole answer over HTTP'),
  'console-list': atMost(100, 'ms', 'console, 100k files, 1M log rows', 'every list at the API'),
  'console-screen': atMost(2, 's', 'console, 100k files, 1M log rows', 'first screen'),
  'console-paint': atMost(600, 'ms', 'console, 100k files, 1M log rows', 'slowest largest paint'),
  'console-task': atMost(200, 'ms', 'console, also texts of 6,000 lines', 'longest task of a view'),
  'console-live': atMost(200, 'ms', 'console, 500 live events a second', 'longest task'),
  'console-shift': atMost(0.02, 'shift', 'console, 100k files, 1M log rows', 'worst of the views'),
  'console-frame': atMost(100, 'ms', 'console, 10,000 files and 1,000 users', 'scrolling'),
  'console-transfer': atMost(200, 'KB', 'console, first screen', 'transferred'),
  dashboard: atMost(100, 'ms', 'dashboard, 1M log rows, 2M events', 'each answer, median'),
  'start-cold': atMost(2, 's', 'cold start, migrated database', 'until it names its address'),
} as const satisfies Record<string, Figure>;

export type FigureId = keyof typeof FIGURES;

function atLeast(value: number, unit: Figure['unit'], operation: string, claim: string): Figure {
  return { operation, claim, is: 'at least', value, unit };
}

function atMost(value: number, unit: Figure['unit'], operation: string, claim: string): Figure {
  return { operation, claim, is: 'at most', value, unit };
}
