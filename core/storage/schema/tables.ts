import { foldTables } from './migration.ts';
import type { TableDefinition } from './columns.ts';
import { MIGRATIONS } from './migrations/list.ts';

/**
 * The row of a scope holds counters, and why its writes wait. Rows of leases, budgets and the audit
 * are removed, or changed, one by one.
 */
const KEPT = new Set(['svc_scope', 'svc_scope_hold', 'svc_lease', 'svc_budget', 'svc_admin_audit']);
const LAST = new Set(['svc_file']);
const tables = foldTables(MIGRATIONS);

/** A table of the newest schema. */
export function tableOf(name: string): TableDefinition {
  const table = tables.get(name);
  if (table === undefined) throw new Error(`No migration makes the table ${name}.`);
  return table;
}

/**
 * The tables with rows of scopes, those that lead to others last: files give the paths, and index
 * entries the places, of what else a scope has.
 */
export const SCOPE_TABLES: readonly string[] = [...tables.values()]
  .filter(({ name, columns }) => !KEPT.has(name) && columns.some((one) => one.name === 'scope_id'))
  .map(({ name }) => name)
  .sort((one, other) => Number(LAST.has(one)) - Number(LAST.has(other)));
