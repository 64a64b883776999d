/**
 * What a plugin's author imports: `memory-service/plugin`. Types, the one error class, the circuit
 * breaker, the rules of paths and user ids, and at the end what only a database needs.
 */

export type * from './contracts/runs.ts';
export type * from './contracts/embedder.ts';
export type * from './contracts/model-provider.ts';
export type * from './contracts/plugin.ts';
export type * from './contracts/records.ts';
export type * from './contracts/route.ts';
export type * from './contracts/storage.ts';
export type * from './contracts/tool.ts';
export type * from './contracts/screener.ts';
export type * from './contracts/trace-exporter.ts';
export { CircuitBreaker } from './providers/circuit-breaker.ts';
export type { CircuitBreakerOptions } from './providers/circuit-breaker.ts';
export { ConfigError } from './config/error.ts';
export { readOptions } from './config/option.ts';
export { decodeUrlPart, readTlsFiles, SERVER_OPTIONS } from './storage/server-options.ts';
export type { Option, OptionTable, OptionsOf, ReadOptions } from './config/option.ts';
export { ERROR_CODES, MemoryError } from './errors.ts';
export type { ErrorBody, ErrorCode, MemoryErrorOptions } from './errors.ts';
export {
  assertFileKey,
  assertScope,
  belowUser,
  homeOf,
  isUserPath,
  labelOf,
  ownerOf,
  parseSpaceId,
  parseUserId,
  SHARED,
  toFilteredScope,
  toOwner,
  toPhysicalPath,
  toScope,
  toUserId,
  toUserPath,
  toVirtualPath,
  virtualHomeOf,
} from './files/paths.ts';
export { spaceNotFound } from './access/space-settings.ts';
export { answerList } from './lists/page.ts';
export { adminRoute, defineRoute } from './schemas/define-route.ts';
export { defineTool } from './schemas/define-tool.ts';
export {
  count,
  filterText,
  listOf,
  nullable,
  pageQuery,
  physicalPathSchema,
  sinceQuery,
  strictObject,
  text,
  timeSchema,
  userIdSchema,
} from './schemas/shapes.ts';
export type { ListAnswer, PageQuery } from './schemas/shapes.ts';

// For a database.
export type * from './storage/dialect.ts';
export type * from './storage/sql-database.ts';
export type { ColumnKind, TableDefinition } from './storage/schema/columns.ts';
export { outcomeUnknown } from './errors.ts';
export { DOUBT_MS, isDoubtful, LOOK_MS } from './maintenance/look-again.ts';
export { makeTemporaryFolder } from './maintenance/temporary-folders.ts';
export { bindNames } from './storage/bind-names.ts';
export { pathBehind, successorOf } from './storage/read/text-range.ts';
export { kindOf } from './storage/schema/columns.ts';
export { checkId, toHashHex, toIdHex } from './storage/schema/ids.ts';
export { toInteger, toText } from './storage/schema/rows.ts';
export { SCOPE_TABLES } from './storage/schema/tables.ts';
export { translateOnce } from './storage/translate-once.ts';
