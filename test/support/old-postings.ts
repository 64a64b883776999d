import type { ScopeKey } from '../../core/contracts/records.ts';
import type { OldPosting, Storage } from '../../core/contracts/storage.ts';
import { ByteWriter } from '../../core/encoding/byte-writer.ts';
import { bucketOf } from '../../core/search/index/old-postings.ts';
import { type FilePayloads, LENGTHS_TERM } from '../../core/search/index/postings.ts';
import { openSegments, visitTerms } from '../../core/search/index/read-segments.ts';
import { createSearchCaches } from '../../core/search/search-caches.ts';
import { toScopeId } from '../../core/storage/schema/scope-id.ts';
import { createPause } from '../../core/time/pause.ts';
import { runRawSql } from './raw-sql.ts';
import { DATABASE } from './tables.ts';

/** The rows that earlier versions stored for files. */
export function toOldPostings(files: ReadonlyMap<number, FilePayloads>): OldPosting[] {
  const rows = new Map<string, { term: string; bucket: number; writer: ByteWriter }>();
  for (const [file, payloads] of [...files].sort(([left], [right]) => left - right)) {
    const bucket = bucketOf(file);
    for (const [term, payload] of payloads) {
      const key = `${bucket} ${term}`;
      const row = rows.get(key) ?? { term, bucket, writer: new ByteWriter(64) };
      rows.set(key, row);
      row.writer.varint(file % 64);
      row.writer.varint(payload.length);
      row.writer.bytes(payload);
    }
  }
  return [...rows.values()].map(({ writer, ...row }) => ({ ...row, bytes: writer.finish() }));
}

/** The list of a file's terms as earlier versions stored it; their hashes are not read any more. */
function packOldTerms(payloads: FilePayloads): Buffer {
  const terms = [...payloads].map(([term]) => term);
  const head = Buffer.alloc(4 + 8 * terms.length);
  head.writeUInt32BE(terms.length, 0);
  return Buffer.concat([head, Buffer.from(terms.join('\n'))]);
}

/** Turns the segments of scopes into the rows that earlier versions stored. */
export async function toOldIndex(
  storage: Storage,
  database: string,
  scopes: readonly ScopeKey[],
): Promise<void> {
  for (const scope of scopes) {
    const { files, versions } = await storage.index.snapshot(async (view) => {
      const [opened] = await view.open([scope]);
      const caches = createSearchCaches();
      const options = { caches, pause: createPause() };
      const segments =
        opened && (await openSegments(view, { scope, opened, known: null }, options));
      if (!segments) throw new Error('There is no index.');
      const found = new Map<number, Map<string, Uint8Array>>();
      const own = (file: number): Map<string, Uint8Array> => {
        const payloads = found.get(file) ?? new Map<string, Uint8Array>();
        found.set(file, payloads);
        return payloads;
      };
      for (const [part, segment] of segments.segments.entries()) {
        for (const [place, file] of segment.files.entries()) {
          const lengths = segment.lengthsAt(place);
          if (lengths !== null && segments.lengths.counts(part, place)) {
            own(file).set(LENGTHS_TERM, lengths.slice());
          }
        }
      }
      const all = { prefix: '', ...options };
      await visitTerms(view, segments, all, (term, row) => {
        for (const { file, start, end } of row.frames() ?? []) {
          own(file).set(term, row.bytes.slice(start, end));
        }
      });
      const known = new Map(
        [...found.keys()].map((file) => [file, segments.lengths.versionOf(file) ?? 0]),
      );
      return { files: found, versions: known };
    });
    const scopeId = toScopeId(scope);
    const hex = (bytes: Uint8Array) => toBlob(Buffer.from(bytes).toString('hex'));
    const statements = [
      `delete from svc_segment where scope_id = ${scopeId}`,
      `delete from svc_segment_block where scope_id = ${scopeId}`,
      `update svc_index_state set copied_to = 0 where scope_id = ${scopeId}`,
      'insert into svc_posting (scope_id, term, bucket, postings) values ' +
        toOldPostings(files)
          .map(
            ({ term, bucket, bytes }) =>
              `(${scopeId}, '${term.replaceAll("'", "''")}', ${bucket}, ${hex(bytes)})`,
          )
          .join(', '),
      'insert into svc_index_doc (scope_id, file_no, version, tokeniser_version, terms) values ' +
        [...files]
          .map(
            ([file, payloads]) =>
              `(${scopeId}, ${file}, ${versions.get(file)}, 1, ${hex(packOldTerms(payloads))})`,
          )
          .join(', '),
    ];
    for (const statement of statements) await runRawSql(database, statement);
  }
}

const toBlob = (hex: string) => (DATABASE === 'postgres' ? `'\\x${hex}'` : `x'${hex}'`);
