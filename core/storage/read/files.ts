import type { FileKey, FileRecord, FileState, ScopeKey } from '../../contracts/records.ts';
import type { FileStore } from '../../contracts/storage.ts';
import { assertFileKey, assertScope } from '../../files/paths.ts';
import { fileNoOfLineage } from '../../files/lineage.ts';
import { ContentReader } from './content-reader.ts';
import type { StoreDatabase } from '../store-database.ts';
import type { Connection } from '../dialect.ts';
import { listAllFiles } from './file-list.ts';
import { listFolder } from './folder-list.ts';
import { parseIdBytes } from '../schema/ids.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { textsFrom } from './text-range.ts';
import { listSpaces } from './space-list.ts';
import { listUsers } from './user-list.ts';
import { FILE_LISTINGS, FILE_STATES, FILES } from '../schema/records.ts';

/** Makes the reads of memory files. */
export function createFileStore(database: StoreDatabase): FileStore {
  const contents = new ContentReader(database);
  return {
    async read(key) {
      assertFileKey(key);
      return await contents.read(key);
    },
    async get(key) {
      assertFileKey(key);
      return await database.read(async (connection) => {
        const file = await readFile(connection, key);
        if (file !== null) database.damage.checkContent(file);
        return file;
      });
    },
    async ofLineage(scope, lineageId) {
      assertScope(scope);
      return await database.read(async (connection) => {
        const file = await readLineage(connection, scope, lineageId);
        if (file !== null) database.damage.checkContent(file);
        return file;
      });
    },
    async list(scope, options) {
      assertScope(scope);
      return await database.read((connection) => listFiles(connection, scope, options));
    },
    listAll: (filter, page) =>
      database.list((connection) => listAllFiles(connection, filter, page)),
    async getListing(key) {
      assertFileKey(key);
      return await database.read(async (connection) => {
        const [row] = await connection.all(GET_LISTING, [
          toScopeId(key.scope),
          key.scope,
          key.path,
        ]);
        return row === undefined ? null : FILE_LISTINGS.toRecord(row, key.scope);
      });
    },
    listFolder: (folder, page) =>
      database.list((connection) => listFolder(connection, folder, page)),
    listSpaces: (filter, page) =>
      database.list((connection) => listSpaces(connection, filter, page)),
    listUsers: (filter, page) => database.list((connection) => listUsers(connection, filter, page)),
    countBehind: () =>
      database.read(async (connection) => {
        const [row] = await connection.all('select count(*) as behind from svc_index_queue', []);
        return toInteger(row?.['behind'] ?? 0);
      }),
  };
}

// Every query also compares the scope's text, because its number is only a hash.
const OF_SCOPE = 'from svc_scope s cross join svc_file f on f.scope_id = s.scope_id';
const IN_SCOPE = 'where s.scope_id = ? and s.scope = ?';

const GET_STATE =
  `select ${FILES.select('f').join(', ')}, c.content ${OF_SCOPE}` +
  ' left join svc_content c on c.scope_id = f.scope_id and c.file_no = f.file_no' +
  ` ${IN_SCOPE}`;
const GET_FILE = `${GET_STATE} and f.path = ?`;
const GET_LINEAGE = `${GET_STATE} and f.lineage_id = ? and f.deleted_at is null limit 1`;
const GET_UNNAMED = `${GET_STATE} and f.file_no = ? and f.lineage_id is null and f.deleted_at is null`;

const GET_LISTING =
  `select ${FILES.select('f').join(', ')}, t.reads, t.last_read_at ${OF_SCOPE}` +
  ' left join svc_file_stat t on t.scope_id = f.scope_id and t.file_no = f.file_no' +
  ` ${IN_SCOPE} and f.path = ?`;

/**
 * Reads a file with its content, including a deleted one. The caller checks whether the content is
 * damaged.
 */
export async function readFile(connection: Connection, key: FileKey): Promise<FileState | null> {
  const [row] = await connection.all(GET_FILE, [toScopeId(key.scope), key.scope, key.path]);
  return row === undefined ? null : FILE_STATES.toRecord(row, key.scope);
}

async function readLineage(
  connection: Connection,
  scope: ScopeKey,
  lineageId: string,
): Promise<FileState | null> {
  const id = parseIdBytes(lineageId);
  if (id === null) return null;
  const fileNo = fileNoOfLineage(lineageId);
  const [row] = [
    ...(await connection.all(GET_LINEAGE, [toScopeId(scope), scope, id])),
    ...(fileNo === null
      ? []
      : await connection.all(GET_UNNAMED, [toScopeId(scope), scope, fileNo])),
  ];
  return row === undefined ? null : FILE_STATES.toRecord(row, scope);
}

/** Lists files by path, without the deleted ones unless `deleted` asks for them. */
export async function listFiles(
  connection: Connection,
  scope: ScopeKey,
  options: { prefix: string; after: string | null; limit: number; deleted?: boolean },
): Promise<FileRecord[]> {
  const { prefix, after, limit, deleted = false } = options;
  const paths = textsFrom('f.path', prefix, after);
  const which = deleted ? paths.where : `${paths.where} and f.deleted_at is null`;
  const rows = await connection.all(
    `select ${FILES.select('f').join(', ')} ${OF_SCOPE} ${IN_SCOPE}` +
      ` and ${which} order by f.path limit ?`,
    [toScopeId(scope), scope, ...paths.parameters, limit],
  );
  return rows.map((row) => FILES.toRecord(row, scope));
}
