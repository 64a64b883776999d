import type {
  RunKey,
  RunListing,
  RunRecord,
  RunUser,
  RunUserRecord,
} from '../../contracts/runs.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import { toUserId } from '../../files/paths.ts';
import { DREAMING } from '../../files/run-names.ts';
import type { Row } from '../dialect.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { mapTable, type TableMap } from '../schema/table-map.ts';

/** The tables of runs hold the user's id, or the folder of the space, in place of the scope's text. */
const LABELLED = { name: 'user_id', kind: 'label' } as const;

/** Runs of dreaming name no plugin: they are older than the column. */
const PLUGIN = {
  toCell: (plugin: string) => (plugin === DREAMING ? null : plugin),
  fromCell: (cell: unknown) => (cell === null ? DREAMING : toText(cell)),
};

const run = {
  scope: LABELLED,
  plugin: PLUGIN,
  dryRun: 'boolean',
  isWaiting: 'boolean',
} as const;

/** Runs without their details. */
export const RUN_LISTINGS = mapTable<RunListing>('svc_dream_history', run, {
  without: ['details', 'step'],
});
export const RUNS = mapTable<RunRecord>('svc_dream_history', run, { without: ['step'] });

/**
 * A run with the number of its changes, which shows whether one was committed whose COMMIT got no
 * answer.
 */
export type SteppedRun = RunRecord & { step: number };

export const STEPPED_RUNS = mapTable<SteppedRun>(
  'svc_dream_history',
  { ...run, step: 'number' },
  { fixed: ['user_id', 'plugin'] },
);

export const RUN_KEYS = mapTable<RunKey>(
  'svc_dream_history',
  { scope: LABELLED, plugin: PLUGIN },
  { only: ['id'] },
);

/** The condition that a run, `h`, is one of a plugin. */
export function isRunOf(plugin: string): { sql: string; parameters: string[] } {
  return plugin === DREAMING
    ? { sql: 'h.plugin is null', parameters: [] }
    : { sql: 'h.plugin = ?', parameters: [plugin] };
}

interface PluginUserRecord extends RunUserRecord {
  plugin: string;
}

/** Where a plugin's rows of users are. */
export interface RunUsers {
  map: TableMap<RunUserRecord>;
  /** The condition of a join, beside the scope: `d` is the row of the plugin. */
  join: string;
  parameters: string[];
  /** The values of the key for scopes, in its order. */
  key: readonly string[];
  toKey(scopeId: number): (string | number)[];
}

const DREAM_USERS = mapTable<RunUserRecord>(
  'svc_dream_run',
  { scope: LABELLED, paused: 'boolean' },
  { fixed: ['user_id'] },
);
const PLUGIN_USERS = mapTable<PluginUserRecord>(
  'svc_plugin_user',
  { scope: LABELLED, paused: 'boolean' },
  { fixed: ['user_id'] },
);

/** The rows of users of a plugin: dreaming's are older, and have a table of their own. */
export function runUsersOf(plugin: string): RunUsers {
  if (plugin === DREAMING) {
    return {
      map: DREAM_USERS,
      join: '',
      parameters: [],
      key: ['scope_id'],
      toKey: (scopeId) => [scopeId],
    };
  }
  const { toCells, toKey, toRecord } = PLUGIN_USERS;
  return {
    map: {
      ...PLUGIN_USERS,
      blank: (given) => ({ ...DREAM_USERS.blank(given) }),
      toCells: (record) => toCells({ ...record, plugin }),
      toKey: (record) => toKey({ ...record, plugin }),
      toRecord(row, scope) {
        const { plugin: _plugin, ...record } = toRecord(row, scope);
        return record;
      },
    },
    join: ' and d.plugin = ?',
    parameters: [plugin],
    key: ['scope_id', 'plugin'],
    toKey: (scopeId) => [scopeId, plugin],
  };
}

/** Columns of a user or a space: its scope's `s`, its settings `p`, and the plugin's row `d` where it has one. */
export function runUserColumns({ map }: RunUsers): readonly string[] {
  const scope = ['scope', 'files', 'last_write_at', 'last_qualifying_at', 'archived_at'];
  return [...scope.map((name) => `s.${name}`), 'p.dream', ...map.select('d')];
}

/** The joins of {@link runUserColumns}, beside the scope. */
export function joinRunUsers({ map, join }: RunUsers): string {
  return (
    ` left join svc_space p on p.scope_id = s.scope_id` +
    ` left join ${map.table} d on d.scope_id = s.scope_id${join}`
  );
}

/** A row of {@link runUserColumns}. */
export function toRunUser({ map }: RunUsers, row: Row): RunUser {
  const scope = toText(row['scope']) as ScopeKey;
  return {
    scope,
    dream: toUserId(scope) !== null || toIntegerOrNull(row['dream']) === 1,
    archivedAt: toIntegerOrNull(row['archived_at']),
    files: toInteger(row['files']),
    lastWriteAt: toIntegerOrNull(row['last_write_at']),
    lastQualifyingAt: toIntegerOrNull(row['last_qualifying_at']),
    record: row['user_id'] === null ? null : map.toRecord(row),
  };
}
