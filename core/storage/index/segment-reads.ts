import type { BlockKey, IndexView, SegmentKey } from '../../contracts/storage.ts';
import type { Connection } from '../dialect.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** Reads segments: the heads and blocks of those that are still there. */
export function createSegmentReads(
  connection: Connection,
): Pick<IndexView, 'readHeads' | 'readBlocks' | 'readAllBlocks'> {
  const { dialect } = connection;
  return {
    async readHeads(keys) {
      if (keys.length === 0) return [];
      const { sql, parameters } = dialect.keySet(
        { scope_id: 'integer', place: 'integer', segment: 'integer' },
        keys.map(({ scope, segment }, place) => [toScopeId(scope), place, segment]),
      );
      const rows = await connection.all(
        `select k.place, g.head from ${sql} k` +
          ' cross join svc_segment g on g.scope_id = k.scope_id and g.segment = k.segment',
        parameters,
      );
      return rows.map((row) => ({
        ...(keys[toInteger(row['place'])] as SegmentKey),
        head: row['head'] as Uint8Array,
      }));
    },

    async readBlocks(keys) {
      if (keys.length === 0) return [];
      const { sql, parameters } = dialect.keySet(
        { scope_id: 'integer', place: 'integer', segment: 'integer', block: 'integer' },
        keys.map(({ scope, segment, block }, place) => [toScopeId(scope), place, segment, block]),
      );
      const rows = await connection.all(
        `select k.place, b.bytes from ${sql} k cross join svc_segment_block b` +
          ' on b.scope_id = k.scope_id and b.segment = k.segment and b.block = k.block',
        parameters,
      );
      return rows.map((row) => ({
        ...(keys[toInteger(row['place'])] as BlockKey),
        bytes: row['bytes'] as Uint8Array,
      }));
    },

    async readAllBlocks({ scope, segment }) {
      const rows = await connection.all(
        'select bytes from svc_segment_block where scope_id = ? and segment = ? order by block',
        [toScopeId(scope), segment],
      );
      return rows.map((row) => row['bytes'] as Uint8Array);
    },
  };
}
