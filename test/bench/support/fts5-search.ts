import { isStopWord } from '../../../core/search/text/english.ts';
import { splitPassages } from '../../../core/search/text/passages.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import type { SqliteConnection } from '../../../plugins/storage-sqlite/connection.ts';
import type { Row } from '../../../core/storage/dialect.ts';

/** A text to search: the path is that in the user's memory. */
export interface FtsDocument {
  user: string;
  path: string;
  text: string;
}

/** A file, or a passage of one, with its lines. */
export interface FtsResult {
  path: string;
  startLine: number;
  endLine: number;
}

/**
 * How words are asked for: `all` of them, as a raw query has them, or `any`, without stop words, as
 * whoever knows FTS5 writes it.
 */
export type FtsQuery = 'all' | 'any';

/** SQLite's own full-text search over the same files and the same passages. */
export interface Fts5 {
  /** The version of SQLite. */
  version: string;
  search(
    user: string,
    question: string,
    group: 'file' | 'passage',
    options: { words: FtsQuery; limit: number },
  ): Promise<FtsResult[]>;
  close(): Promise<void>;
}

/**
 * Opens FTS5 with the Porter stemmer and bm25() as they come, in memory, with two tables for each
 * user: whatever others wrote has no part in a ranking, as in the service.
 */
export async function openFts5(documents: readonly FtsDocument[]): Promise<Fts5> {
  const native = await loadSqliteModule('sqlite3');
  const connection = await native.open(':memory:', { busyTimeoutMs: 0 });
  const users = [...new Set(documents.map(({ user }) => user))];
  await connection.exec('begin');
  for (const number of users.keys()) await makeTables(connection, number);
  for (const { user, path, text } of documents) {
    const number = users.indexOf(user);
    await insert(connection, `files_${number}`, path, 1, text.split('\n').length, text);
    for (const { startLine, endLine, start, end, context } of splitPassages(text)) {
      const body = [...context, text.slice(start, end)].join('\n');
      await insert(connection, `passages_${number}`, path, startLine, endLine, body);
    }
  }
  await connection.exec('commit');
  const [row] = await connection.all('select sqlite_version() as version', []);
  return {
    version: String(row?.['version']),
    async search(user, question, group, { words, limit }) {
      const match = toMatch(question, words);
      const number = users.indexOf(user);
      if (match === '' || number === -1) return [];
      const table = `${group}s_${number}`;
      const rows = await connection.all(
        `select path, first_line, last_line from ${table} where ${table} match ?` +
          ' order by rank, path, first_line limit ?',
        [match, limit],
      );
      return rows.map(toResult);
    },
    close: () => connection.close(),
  };
}

async function makeTables(connection: SqliteConnection, user: number): Promise<void> {
  for (const group of ['files', 'passages']) {
    await connection.exec(
      `create virtual table ${group}_${user} using fts5(path, first_line unindexed,` +
        " last_line unindexed, body, tokenize = 'porter unicode61 remove_diacritics 2')",
    );
  }
}

async function insert(
  connection: SqliteConnection,
  table: string,
  ...values: [path: string, firstLine: number, lastLine: number, body: string]
): Promise<void> {
  await connection.run(
    `insert into ${table} (path, first_line, last_line, body) values (?, ?, ?, ?)`,
    values,
  );
}

/** Each word in quotes: everyday questions hold what FTS5 takes for operators. */
function toMatch(question: string, words: FtsQuery): string {
  const all = question.match(/[\p{L}\p{N}]+/gu) ?? [];
  const kept = words === 'all' ? all : all.filter((word) => !isStopWord(word.toLowerCase()));
  return kept.map((word) => `"${word}"`).join(words === 'all' ? ' ' : ' OR ');
}

function toResult(row: Row): FtsResult {
  return {
    path: String(row['path']),
    startLine: Number(row['first_line']),
    endLine: Number(row['last_line']),
  };
}
