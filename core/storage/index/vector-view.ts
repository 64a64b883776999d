import type { ScopeKey } from '../../contracts/records.ts';
import type { KnownVectors, ModelKey, ScopeVectors } from '../../contracts/vectors.ts';
import { assertScope } from '../../files/paths.ts';
import type { Connection } from '../dialect.ts';
import { toHex } from '../schema/ids.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** The size of a text's hash in a list, in bytes. */
const HASH_BYTES = 16;
/** Vectors of one query: with 384 numbers each about 800 KB. */
const PAGE_VECTORS = 512;
/** Before all generations of vectors: they go below 0 when all vectors are dropped. */
const NO_GENERATION = Number.MIN_SAFE_INTEGER;

/** Splits a list into its hashes, each of 32 hex digits. */
export function splitHashes(hashes: Uint8Array): string[] {
  const hex = toHex(hashes);
  const texts: string[] = [];
  for (let at = 0; at + HASH_BYTES * 2 <= hex.length; at += HASH_BYTES * 2) {
    // eslint-disable-next-line texts/take -- Hex digits.
    texts.push(hex.slice(at, at + HASH_BYTES * 2));
  }
  return texts;
}

/** Implements `IndexView.vectors`. If nothing changed since `known`, it takes one short query. */
export async function readScopeVectors(
  connection: Connection,
  scope: ScopeKey,
  {
    model,
    indexGeneration,
    known,
  }: { model: ModelKey; indexGeneration: number; known: KnownVectors | null },
): Promise<ScopeVectors> {
  assertScope(scope);
  const scopeId = toScopeId(scope);
  const [state] = await connection.all(
    'select t.generation from svc_scope s cross join svc_vector_state t' +
      ' on t.scope_id = s.scope_id and t.model_id = ? where s.scope_id = ? and s.scope = ?',
    [model.id, scopeId, scope],
  );
  // After a scope was erased, generations start again at random; after all vectors were dropped, far
  // below. A known generation that is later belongs to the old scope or to the dropped vectors.
  const vectorGeneration = state === undefined ? NO_GENERATION : toInteger(state['generation']);
  const isOfLists = known !== null && known.indexGeneration <= indexGeneration;
  const isOfVectors = known !== null && known.vectorGeneration <= vectorGeneration;
  const listsSince = isOfLists ? known.indexGeneration : -1;
  const vectorsSince = isOfVectors ? known.vectorGeneration : NO_GENERATION;
  return {
    vectorGeneration,
    isWhole: { lists: !isOfLists, vectors: !isOfVectors },
    lists: listsSince === indexGeneration ? [] : await readLists(connection, scope, listsSince),
    vectors:
      vectorsSince === vectorGeneration
        ? []
        : await readVectors(connection, scopeId, { model, since: vectorsSince }),
  };
}

async function readLists(
  connection: Connection,
  scope: ScopeKey,
  since: number,
): Promise<ScopeVectors['lists']> {
  const rows = await connection.all(
    'select p.file_no, p.hashes from svc_scope s' +
      ' cross join svc_passage_list p on p.scope_id = s.scope_id and p.generation > ?' +
      // Skips lists of an earlier version: since then, the file was written, or an instance without an
      // embedder has indexed it.
      ' cross join svc_file f on f.scope_id = p.scope_id and f.file_no = p.file_no' +
      ' and f.version = p.version where s.scope_id = ? and s.scope = ?',
    [since, toScopeId(scope), scope],
  );
  return rows.map((row) => ({
    fileNo: toInteger(row['file_no']),
    hashes: row['hashes'] as Uint8Array,
  }));
}

async function readVectors(
  connection: Connection,
  scopeId: number,
  { model, since }: { model: ModelKey; since: number },
): Promise<ScopeVectors['vectors']> {
  const vectors: { textHash: string; vector: Float32Array }[] = [];
  // Pages along the index by generation, then hash.
  let after: { generation: number; hash: Uint8Array | null } = { generation: since, hash: null };
  for (;;) {
    const rows = await connection.all(
      'select v.text_hash, v.generation, v.vector from svc_vector v' +
        ' where v.scope_id = ? and v.model_id = ? and v.generation >= ?' +
        ' and (v.generation > ? or v.text_hash > ?)' +
        ' order by v.generation, v.text_hash limit ?',
      [
        scopeId,
        model.id,
        after.generation,
        after.generation,
        // The first page skips the whole known generation.
        after.hash ?? LAST_HASH,
        PAGE_VECTORS,
      ],
    );
    for (const row of rows) {
      vectors.push({
        textHash: toHex(row['text_hash'] as Uint8Array),
        vector: toVector(row['vector'] as Uint8Array),
      });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_VECTORS) return vectors;
    after = { generation: toInteger(last['generation']), hash: last['text_hash'] as Uint8Array };
  }
}

const LAST_HASH = Buffer.alloc(HASH_BYTES, 0xff);

/** Copies the bytes, since a driver's bytes may start at any offset of a buffer. */
function toVector(bytes: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer);
}
