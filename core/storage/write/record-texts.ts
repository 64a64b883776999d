import type { RecordTexts } from '../../contracts/storage.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import { createPause } from '../../time/pause.ts';
import { assertScope } from '../../files/paths.ts';
import type { LogDatabase } from '../store-database.ts';
import type { Connection, Row, SqlValue } from '../dialect.ts';
import { toTextOrNull } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** A table whose rows may quote memory. `key` follows the scope in its primary key. */
interface RecordTable {
  /** `null` for a table without texts. */
  kind: RecordTexts['kind'] | null;
  table: string;
  key: string | null;
  /** Columns with plain text, and with JSON. */
  texts: readonly string[];
  json: readonly string[];
  /** Columns with names, which stay. */
  names?: Readonly<Record<string, NameKind>>;
}

type Options = Parameters<RecordTexts['change']>[1];
type NameKind = Parameters<Options['onName']>[0];

const TABLES: readonly RecordTable[] = [
  {
    kind: 'events',
    table: 'svc_event',
    key: 'id',
    texts: ['name', 'caller_tool_call_id'],
    json: ['attributes', 'spans'],
    names: { actor: 'actors', key_name: 'keys', user_id: 'userIds' },
  },
  { kind: 'answers', table: 'svc_idempotency', key: 'key_hash', texts: [], json: ['result'] },
  {
    kind: 'runs',
    table: 'svc_dream_history',
    key: 'id',
    texts: ['error_message'],
    json: ['details'],
  },
  {
    kind: 'runs',
    table: 'svc_check_result',
    key: 'id',
    texts: ['name', 'why'],
    json: ['places'],
  },
  { kind: 'runs', table: 'svc_dream_run', key: null, texts: ['error'], json: ['rejected'] },
  { kind: 'runs', table: 'svc_plugin_user', key: 'plugin', texts: ['error'], json: ['rejected'] },
  {
    kind: null,
    table: 'svc_access_log',
    key: 'id',
    texts: [],
    json: [],
    names: { path: 'paths', actor: 'actors', key_name: 'keys', user_id: 'userIds' },
  },
];

/** Rows of one query: the spans of a call may be long; names are short. */
const ROWS_READ = 100;
const NAMES_READ = 1_000;

/**
 * Implements `LogStore.changeTexts`. A row is changed in a transaction of its own, under the lock of its
 * scope, as it is then: nothing that is written meanwhile is lost.
 */
export async function changeTexts(
  database: LogDatabase,
  scope: ScopeKey,
  { inText, inJson, dryRun, onName }: Options,
): ReturnType<RecordTexts['change']> {
  assertScope(scope);
  const scopeId = toScopeId(scope);
  const counts = { events: 0, answers: 0, runs: 0 };
  const pause = createPause();
  for (const each of TABLES) {
    const change = (row: Row) => toChanged(row, each, { inText, inJson });
    for (let after: SqlValue | null = null; ;) {
      const from: SqlValue | null = after;
      const rows: Row[] = await database.read((connection) =>
        readRows(connection, each, { scopeId, after: from }),
      );
      for (const row of rows) {
        for (const [column, kind] of Object.entries(each.names ?? {})) {
          const name = toTextOrNull(row[column]);
          if (name !== null) onName(kind, name);
        }
        if (each.kind === null) continue;
        if (Object.keys(change(row)).length === 0) continue;
        counts[each.kind] += 1;
        if (dryRun) continue;
        const place = { scopeId, key: each.key === null ? null : (row[each.key] as SqlValue) };
        await database.write((connection) => changeRow(connection, each, { place, change }));
      }
      const last = rows.at(-1);
      if (last === undefined || each.key === null || rows.length < toLimit(each)) break;
      after = last[each.key] as SqlValue;
      await pause();
    }
  }
  return counts;
}

async function readRows(
  connection: Connection,
  record: RecordTable,
  { scopeId, after }: { scopeId: number; after: SqlValue | null },
): Promise<Row[]> {
  const { table, key, texts, json, names = {} } = record;
  const read = [...(key === null ? [] : [key]), ...texts, ...json, ...Object.keys(names)];
  const columns = read.map((name) => `t.${name}`);
  const isAfter = after !== null;
  const rows = await connection.all(
    `select ${columns.join(', ')} from ${table} t where t.scope_id = ?` +
      `${isAfter ? ` and t.${key ?? ''} > ?` : ''}${key === null ? '' : ` order by t.${key}`} limit ?`,
    [scopeId, ...(isAfter ? [after] : []), toLimit(record)],
  );
  return [...rows];
}

function toLimit({ kind }: RecordTable): number {
  return kind === null ? NAMES_READ : ROWS_READ;
}

async function changeRow(
  connection: Connection,
  { table, key, texts, json }: RecordTable,
  {
    place,
    change,
  }: {
    place: { scopeId: number; key: SqlValue | null };
    change: (row: Row) => Record<string, string>;
  },
): Promise<void> {
  // Those who change runs and answers hold this lock.
  await connection.all('select version from svc_scope t where scope_id = ? for update of t', [
    place.scopeId,
  ]);
  const where = `t.scope_id = ?${key === null ? '' : ` and t.${key} = ?`}`;
  const parameters = [place.scopeId, ...(place.key === null ? [] : [place.key])];
  const [row] = await connection.all(
    `select ${[...texts, ...json].map((name) => `t.${name}`).join(', ')} from ${table} t` +
      ` where ${where} for update of t`,
    parameters,
  );
  const changed = Object.entries(row === undefined ? {} : change(row));
  if (changed.length === 0) return;
  await connection.run(
    `update ${table} set ${changed.map(([name]) => `${name} = ?`).join(', ')}` +
      ` where ${where.replaceAll('t.', '')}`,
    [...changed.map(([, value]) => value), ...parameters],
  );
}

/** The cells of a row that change. */
function toChanged(
  row: Row,
  { texts, json }: RecordTable,
  { inText, inJson }: { inText(text: string): string; inJson(json: string): string },
): Record<string, string> {
  const changed: Record<string, string> = {};
  for (const [names, change] of [
    [texts, inText],
    [json, inJson],
  ] as const) {
    for (const name of names) {
      const text = toTextOrNull(row[name]);
      const next = text === null ? null : change(text);
      if (next !== null && next !== text) changed[name] = next;
    }
  }
  return changed;
}
