import type { FileKey, RevisionRecord, ScopeKey } from '../../contracts/records.ts';
import type { FileAt, RevisionStore } from '../../contracts/storage.ts';
import { assertFileKey, assertScope } from '../../files/paths.ts';
import type { StoreDatabase } from '../store-database.ts';
import type { Connection, Row, SqlValue } from '../dialect.ts';
import { readChain } from './revision-chain.ts';
import { textsFrom } from './text-range.ts';
import { leastIdBeyond, readIdSkew } from '../write/id-skew.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { coverFiles } from '../write/cover.ts';
import { pruneRevisions } from '../write/prune.ts';
import { listRevisions } from './revision-list.ts';
import { findRows } from '../schema/row-sets.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { FILES, NEW_REVISIONS, REVISION_STEPS, REVISIONS } from '../schema/records.ts';

/** Makes the reads of the history and its pruning. */
export function createRevisionStore(database: StoreDatabase): RevisionStore {
  return {
    async get(id) {
      const bytes = parseIdBytes(id);
      if (bytes === null) return null;
      return await database.read(async (connection) => {
        const [row] = await connection.all(GET_REVISION, [bytes]);
        return row === undefined ? null : REVISIONS.toRecord(row);
      });
    },
    list: (filter, page) => database.list((connection) => listRevisions(connection, filter, page)),
    async chain(key, version) {
      assertFileKey(key);
      return await database.snapshot((connection) => readChain(connection, key, version));
    },
    async steps(key, { after, upTo }) {
      assertFileKey(key);
      return await database.read(async (connection) => {
        const place = [toScopeId(key.scope), key.scope, key.path];
        const rows = await connection.all(GET_STEPS_BETWEEN, [...place, after, upTo]);
        return rows.map((row) => REVISION_STEPS.toRecord(row));
      });
    },
    async rows(key, { after, upTo }) {
      assertFileKey(key);
      return await database.read(async (connection) => {
        const place = [toScopeId(key.scope), key.scope, key.path];
        const rows = await connection.all(GET_ROWS_BETWEEN, [...place, after, upTo]);
        return rows.map((row) => NEW_REVISIONS.toRecord(row));
      });
    },
    async ofVersion(key, version) {
      assertFileKey(key);
      return await database.read((connection) =>
        readOfFile(connection, key, { where: 'r.version = ?', parameters: [version] }),
      );
    },
    async ofCalls(revisions) {
      return await database.read(async (connection) => {
        const found: RevisionRecord[] = [];
        for (const [column, { ids, index, rest }] of toCallKeys(revisions)) {
          const rows = await findRows(connection, 'svc_revision', {
            columns: [column],
            rows: [...ids].map((id) => [id]),
            select: ['s.scope', 'f.path', ...REVISIONS.select('t')],
            index,
            rest: ` and t.${column} is not null${NAMES_OF_FOUND}${rest}`,
          });
          found.push(...rows.map((row) => REVISIONS.toRecord(row)));
        }
        return found;
      });
    },
    async at(key, time) {
      assertFileKey(key);
      return await database.snapshot(async (connection) => {
        const beyond = leastIdBeyond(time + 1, await readIdSkew(connection));
        const where = 'r.at <= ? and r.id < ?';
        return await readOfFile(connection, key, { where, parameters: [time, beyond] });
      });
    },
    async listAt(scope, options) {
      assertScope(scope);
      return await database.snapshot((connection) => listFilesAt(connection, scope, options));
    },
    prune: (filter, options) => pruneRevisions(database, filter, options),
    cover: (options) => coverFiles(database, options),
  };
}

const WITH_NAMES =
  `select s.scope, f.path, ${REVISIONS.select('r').join(', ')} from svc_revision r` +
  ' cross join svc_scope s on s.scope_id = r.scope_id' +
  ' cross join svc_file f on f.scope_id = r.scope_id and f.file_no = r.file_no';

const GET_REVISION = `${WITH_NAMES} where r.id = ?`;

const OF_FILE =
  ' from svc_scope s cross join svc_file f on f.scope_id = s.scope_id' +
  ' cross join svc_revision r on r.scope_id = f.scope_id and r.file_no = f.file_no' +
  ' where s.scope_id = ? and s.scope = ? and f.path = ?';

const GET_STEPS_BETWEEN =
  `select ${REVISION_STEPS.select('r').join(', ')}${OF_FILE}` +
  ' and r.version > ? and r.version <= ? order by r.version';

const GET_ROWS_BETWEEN =
  `select s.scope, f.path, ${NEW_REVISIONS.select('r').join(', ')}${OF_FILE}` +
  ' and r.version > ? and r.version <= ? order by r.version';

const REVISION_OF_FILE = `select s.scope, f.path, ${REVISIONS.select('r').join(', ')}${OF_FILE}`;

const NAMES_OF_FOUND =
  ' cross join svc_scope s on s.scope_id = t.scope_id' +
  ' cross join svc_file f on f.scope_id = t.scope_id and f.file_no = t.file_no';

/** By column: the ids of calls, runs and transactions, each id once. */
function toCallKeys(
  revisions: Parameters<RevisionStore['ofCalls']>[0],
): Map<string, { ids: Set<string>; index: string; rest: string }> {
  const [calls, runs, commits] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const { toolCallId, runId, commitId } of revisions) {
    if (toolCallId !== null) calls.add(toolCallId);
    else if (runId !== null) runs.add(runId);
    else if (commitId !== null) commits.add(commitId);
  }
  const noCall = ' where t.tool_call_id is null';
  return new Map([
    ['tool_call_id', { ids: calls, index: 'svc_revision_tool_call', rest: '' }],
    ['run_id', { ids: runs, index: 'svc_revision_run', rest: noCall }],
    [
      'commit_id',
      { ids: commits, index: 'svc_revision_commit', rest: `${noCall} and t.run_id is null` },
    ],
  ]);
}

/** The newest revision of a file that meets a condition. */
async function readOfFile(
  connection: Connection,
  { scope, path }: FileKey,
  { where, parameters }: { where: string; parameters: readonly SqlValue[] },
): Promise<RevisionRecord | null> {
  const [row] = await connection.all(
    `${REVISION_OF_FILE} and ${where} order by r.version desc limit 1`,
    [toScopeId(scope), scope, path, ...parameters],
  );
  return row === undefined ? null : REVISIONS.toRecord(row);
}

const FILE_COLUMN = 'file_';

/** Each file with the newest version at or before a time. */
const LIST_FILES_AT =
  `select s.scope, ${FILES.select('f')
    .map((column) => `${column} as ${column.replace('f.', FILE_COLUMN)}`)
    .join(', ')}` +
  ', (select r.version from svc_revision r where r.scope_id = f.scope_id' +
  ' and r.file_no = f.file_no and r.at <= ? and r.id < ? order by r.version desc limit 1) as at_version' +
  ' from svc_scope s cross join svc_file f on f.scope_id = s.scope_id';

async function listFilesAt(
  connection: Connection,
  scope: ScopeKey,
  { time, prefix, after, limit }: Parameters<RevisionStore['listAt']>[1],
): Promise<FileAt[]> {
  const beyond = leastIdBeyond(time + 1, await readIdSkew(connection));
  const paths = textsFrom('f.path', prefix, after);
  const rows = await connection.all(
    `select f.*, f.file_path as path, ${REVISIONS.select('r').join(', ')}` +
      ` from (${LIST_FILES_AT} where s.scope_id = ? and s.scope = ? and ${paths.where}` +
      ' order by f.path limit ?) f left join svc_revision r on r.scope_id = ?' +
      ' and r.file_no = f.file_file_no and r.version = f.at_version order by f.file_path',
    [time, beyond, toScopeId(scope), scope, ...paths.parameters, limit, toScopeId(scope)],
  );
  return rows.map((row) => {
    const file = Object.entries(row).flatMap(([name, cell]) =>
      name.startsWith(FILE_COLUMN) ? [[name.slice(FILE_COLUMN.length), cell]] : [],
    );
    return {
      file: FILES.toRecord(Object.fromEntries(file) as Row, scope),
      revision: row['at_version'] === null ? null : REVISIONS.toRecord(row, scope),
    };
  });
}
