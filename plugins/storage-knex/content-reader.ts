import type { FileContent, FileKey } from '../../core/contracts/records.ts';
import type { Database } from './database.ts';
import type { Dialect, Executor, Row } from './dialect.ts';
import { toInteger, toText } from './rows.ts';
import { toScopeId } from './scope-id.ts';

/** Reads that one statement answers, at most. */
const GROUP = 32;

interface Waiting {
  key: FileKey;
  resolve(content: FileContent | null): void;
  reject(error: unknown): void;
}

/**
 * Reads contents for agents. A call alone goes to the database at once; those that come while
 * `database.groupedReads` statements are under way wait for one of them to end, and are then
 * answered by one statement together: a statement's way to a thread and back costs more than its
 * work.
 */
export class ContentReader {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #running = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  read(key: FileKey): Promise<FileContent | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      if (this.#running < this.#database.groupedReads) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#running += 1;
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, GROUP);
      try {
        const contents = await this.#database.read((executor) =>
          readContents(
            executor,
            this.#database.dialect,
            group.map(({ key }) => key),
          ),
        );
        group.forEach(({ resolve }, index) => resolve(contents[index] ?? null));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#running -= 1;
  }
}

// Text costs a driver less than bytes: each blob is a buffer of its own, to be collected again.
const COLUMNS =
  'f.file_no, f.version, f.size, f.line_count, f.updated_at,' +
  ' hex(f.latest_revision_id) as revision, c.content';
const OF_SCOPE = ' cross join svc_file f on f.scope_id = s.scope_id and f.path = ';
const WITH_CONTENT =
  ' cross join svc_content c on c.scope_id = f.scope_id and c.file_no = f.file_no';

const READ_ONE =
  `select ${COLUMNS} from svc_scope s${OF_SCOPE}?${WITH_CONTENT}` +
  ' where s.scope_id = ? and s.scope = ? and f.deleted_at is null';

async function readContents(
  executor: Executor,
  dialect: Dialect,
  keys: readonly FileKey[],
): Promise<(FileContent | null)[]> {
  const [first] = keys;
  if (keys.length === 1 && first !== undefined) {
    const rows = await executor.all(READ_ONE, [first.path, toScopeId(first.scope), first.scope]);
    return [rows[0] === undefined ? null : toFileContent(rows[0])];
  }
  const wanted = dialect.keySet(
    [
      { name: 'place', kind: 'integer' },
      { name: 'scope_id', kind: 'integer' },
      { name: 'scope', kind: 'key' },
      { name: 'path', kind: 'key' },
    ],
    keys.map(({ scope, path }, place) => [place, toScopeId(scope), scope, path]),
  );
  const rows = await executor.all(
    `select k.place, ${COLUMNS} from ${wanted.sql} k` +
      ' cross join svc_scope s on s.scope_id = k.scope_id and s.scope = k.scope' +
      `${OF_SCOPE}k.path${WITH_CONTENT} where f.deleted_at is null`,
    wanted.parameters,
  );
  const contents: (FileContent | null)[] = keys.map(() => null);
  for (const row of rows) contents[toInteger(row['place'])] = toFileContent(row);
  return contents;
}

function toFileContent(row: Row): FileContent {
  return {
    fileNo: toInteger(row['file_no']),
    version: toInteger(row['version']),
    size: toInteger(row['size']),
    lines: toInteger(row['line_count']),
    updatedAt: toInteger(row['updated_at']),
    latestRevisionId: toUuidText(toText(row['revision'])),
    content: toText(row['content']),
  };
}

/** A UUID from the 32 digits that the database's `hex` gives. */
function toUuidText(digits: string): string {
  const hex = digits.toLowerCase();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
