import type { ObservationStore } from '../../../core/contracts/storage.ts';
import { countAccesses } from './access-counts.ts';
import type { Database } from '../database.ts';
import { listEvents, readCalls } from './event-list.ts';
import { toExecutor } from './revision-list.ts';
import { countRollups, countRollupScopes, expireRollupRows, readRollups } from '../write/rollup.ts';
import { findFilesWrittenBy } from './written-by.ts';

/** Makes the store of what operators see of the events and the access log. */
export function createObservationStore(database: Database): ObservationStore {
  const { dialect } = database;
  return {
    rollups: (filter) => database.list((knex) => readRollups(toExecutor(knex), filter)),
    countRollups: (filter) => database.list((knex) => countRollups(toExecutor(knex), filter)),
    expireRollups: (grain, before, limit) =>
      database.write((executor) => expireRollupRows(executor, dialect, grain, before, limit)),
    countScopes: (ranges, tool) =>
      database.list((knex) => countRollupScopes(toExecutor(knex), dialect, ranges, tool)),
    calls: (filter, page) =>
      database.list((knex) => readCalls(toExecutor(knex), dialect, filter, page)),
    listEvents: (filter, page) => database.list((knex) => listEvents(knex, database, filter, page)),
    countAccesses: (filter, limit) =>
      database.list((knex) => countAccesses(toExecutor(knex), dialect, filter, limit)),
    filesWrittenBy: (scope, tool) =>
      database.list((knex) => findFilesWrittenBy(toExecutor(knex), scope, tool)),
  };
}
