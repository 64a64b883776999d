import type { FileContent, FileKey } from '../../contracts/records.ts';
import type { StoreDatabase } from '../store-database.ts';
import type { Connection, Statement } from '../dialect.ts';
import { createPause } from '../../time/pause.ts';
import { toUuid } from '../schema/ids.ts';
import { toInteger, toIntegerOrNull, toText, toTextOrNull } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** The most reads that one statement answers. */
const GROUP = 32;
/** The most answers from memory in one turn of the event loop, so that timers and sockets are served. */
const ANSWERS_A_TURN = 32;

interface Waiting {
  key: FileKey;
  resolve(content: FileContent | null): void;
  reject(error: unknown): void;
}

/**
 * Reads contents for agents. If the database keeps a content in memory, the answer comes from there,
 * because sending a statement to a thread costs more than the rest of a read.
 *
 * Other reads go to the database at once, until `database.groupedReads` statements are running.
 * Further reads wait until one of these ends, and are then answered together by one statement.
 */
export class ContentReader {
  readonly #database: StoreDatabase;
  #waiting: Waiting[] = [];
  #running = 0;
  #answeredNow = 0;
  #nextTurn: Promise<void> | null = null;

  constructor(database: StoreDatabase) {
    this.#database = database;
  }

  async read(key: FileKey): Promise<FileContent | null> {
    const kept = this.#database.contents?.get(key);
    if (kept === undefined) return await this.#readGrouped(key);
    this.#nextTurn ??= new Promise((resolve) =>
      setImmediate(() => {
        this.#nextTurn = null;
        this.#answeredNow = 0;
        resolve();
      }),
    );
    this.#answeredNow += 1;
    if (this.#answeredNow > ANSWERS_A_TURN) await this.#nextTurn;
    return kept;
  }

  #readGrouped(key: FileKey): Promise<FileContent | null> {
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
        const before = this.#database.contents?.generation() ?? null;
        const contents = await this.#database.read((connection) =>
          readContents(
            connection,
            group.map(({ key }) => key),
          ),
        );
        const isCurrent = () => before !== null && this.#database.contents?.generation() === before;
        const pause = createPause();
        let isKept = isCurrent();
        for (const [index, waiting] of group.entries()) {
          this.#answer(waiting, contents[index] ?? null, isKept);
          const turn = pause();
          if (turn === undefined) continue;
          await turn;
          // Somebody may have written meanwhile.
          isKept = isCurrent();
        }
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#running -= 1;
  }

  /** A damaged file is read again on its own, and fails no other of the same group. */
  #answer({ key, resolve, reject }: Waiting, found: StoredFile | null, isKept: boolean): void {
    let content: FileContent | null;
    try {
      content = this.#check(key, found);
    } catch {
      const again = this.#database.read(async (connection) => {
        const [alone] = await readContents(connection, [key]);
        return this.#check(key, alone ?? null);
      });
      again.then(resolve, reject);
      return;
    }
    if (isKept && content !== null) this.#database.contents?.keep(key, content);
    resolve(content);
  }

  #check(key: FileKey, found: StoredFile | null): FileContent | null {
    if (found === null) return null;
    this.#database.damage.checkContent({ ...key, ...found });
    const { content, hash, deletedAt, ...file } = found;
    return deletedAt === null ? { ...file, content: content as string } : null;
  }
}

interface StoredFile extends Omit<FileContent, 'content'> {
  content: string | null;
  hash: string;
  deletedAt: number | null;
}

/** The selected columns, in the order of `toStoredFile`. Text is faster to get than bytes. */
const COLUMNS = [
  'f.file_no',
  'f.version',
  'f.size',
  'f.line_count',
  'f.updated_at',
  'hex(f.latest_revision_id)',
  'c.content',
  'hex(f.hash)',
  'f.deleted_at',
];
const WITH_CONTENT =
  ' left join svc_content c on c.scope_id = f.scope_id and c.file_no = f.file_no';

async function readContents(
  connection: Connection,
  keys: readonly FileKey[],
): Promise<(StoredFile | null)[]> {
  const wanted = connection.dialect.keySet(
    { place: 'integer', scope_id: 'integer', scope: 'key', path: 'key' },
    keys.map(({ scope, path }, place) => [place, toScopeId(scope), scope, path]),
  );
  const columns = ['k.place', ...COLUMNS];
  const from = {
    sql:
      `from ${wanted.sql} k` +
      ' cross join svc_scope s on s.scope_id = k.scope_id and s.scope = k.scope' +
      ` cross join svc_file f on f.scope_id = s.scope_id and f.path = k.path${WITH_CONTENT}`,
    parameters: wanted.parameters,
  };
  const contents: (StoredFile | null)[] = keys.map(() => null);
  for (const [place, ...values] of await selectRows(connection, columns, from)) {
    contents[toInteger(place)] = toStoredFile(values);
  }
  return contents;
}

async function selectRows(
  connection: Connection,
  columns: readonly string[],
  { sql: from, parameters }: Statement,
): Promise<unknown[][]> {
  const { rowsAsJson } = connection.dialect;
  if (rowsAsJson !== null) {
    const [row] = await connection.all(
      `select ${rowsAsJson(columns)} as found ${from}`,
      parameters,
    );
    // eslint-disable-next-line no-restricted-syntax -- this service wrote it
    return JSON.parse(toText(row?.['found'])) as unknown[][];
  }
  const named = columns.map((column, index) => `${column} as c${index}`);
  const rows = await connection.all(`select ${named.join(', ')} ${from}`, parameters);
  return rows.map((row) => columns.map((_, index) => row[`c${index}`]));
}

function toStoredFile(values: readonly unknown[]): StoredFile {
  const [fileNo, version, size, lines, updatedAt, revision, content, hash, deletedAt] = values;
  return {
    fileNo: toInteger(fileNo),
    version: toInteger(version),
    size: toInteger(size),
    lines: toInteger(lines),
    updatedAt: toInteger(updatedAt),
    latestRevisionId: toUuid(toText(revision)),
    content: toTextOrNull(content),
    hash: toText(hash).toLowerCase(),
    deletedAt: toIntegerOrNull(deletedAt),
  };
}
