import type { ObservationStore } from '../../contracts/storage.ts';
import { countAccesses } from './access-counts.ts';
import type { LogDatabase } from '../store-database.ts';
import { listEvents, readCalls } from './event-list.ts';
import { countRollups, countRollupScopes, expireRollupRows, readRollups } from '../write/rollup.ts';
import { findFilesWrittenBy } from './written-by.ts';

/** Makes the store of the operators' views of events and the access log. */
export function createObservationStore(database: LogDatabase): ObservationStore {
  return {
    rollups: (filter) => database.list((connection) => readRollups(connection, filter)),
    countRollups: (filter) => database.list((connection) => countRollups(connection, filter)),
    expireRollups: (grain, before, limit) =>
      database.write((connection) => expireRollupRows(connection, grain, { before, limit })),
    countScopes: (ranges, tool) =>
      database.list((connection) => countRollupScopes(connection, ranges, tool)),
    calls: (filter, page) => database.list((connection) => readCalls(connection, filter, page)),
    listEvents: (filter, page) =>
      database.list((connection) => listEvents(connection, filter, page)),
    countAccesses: (filter, limit) =>
      database.list((connection) => countAccesses(connection, filter, limit)),
    filesWrittenBy: (scope, tool) =>
      database.list((connection) => findFilesWrittenBy(connection, scope, tool)),
  };
}
