import { withRawSql } from './raw-sql.ts';
import { withoutTerm } from './segments.ts';

/** Takes the postings of a term out of all segments of an SQLite file, which have to be small. */
export async function removeTerm(filename: string, term: string): Promise<void> {
  await withRawSql(filename, 'sqlite3', async (connection) => {
    const rows = await connection.all('select scope_id, segment, head from svc_segment', []);
    for (const { scope_id: scopeId, segment, head } of rows) {
      await connection.run('update svc_segment set head = ? where scope_id = ? and segment = ?', [
        withoutTerm(head as Uint8Array, term),
        Number(scopeId),
        Number(segment),
      ]);
    }
  });
}
