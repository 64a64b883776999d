import { toIdMs } from '../../../core/id-time.ts';
import type { Connection } from '../dialects/dialect.ts';
import { toLeastIdBytes } from '../schema/ids.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { tableOf } from '../schema/tables.ts';

/** How far the millisecond in a row's id may be from its time before it is written down. */
const SMALLEST_MS = 1_000;
const KEYS = { lead: 'id_lead_ms', lag: 'id_lag_ms' } as const;

/** The greatest distance between ids and times of the rows: ids ahead, and ids behind. */
export interface IdSkew {
  lead: number;
  lag: number;
}

/**
 * Lists are ordered by id, and narrowed by time. Ids follow the clock, but not across a jump of it
 * (a scope's ids never go back), so the range of ids for a range of times needs the greatest
 * distance that there ever was. It is kept in `svc_meta`, in the transaction of the row that raised
 * it, rounded up to a power of two seconds: with sane clocks it is never written.
 */
export class IdSkewKeeper {
  /** What is committed for sure. */
  private known: IdSkew = { lead: SMALLEST_MS, lag: SMALLEST_MS };
  /** From then on, what a transaction reads may be its own, and be rolled back with it. */
  private hasRaised = false;

  /** Called in the transaction that writes `rows`. */
  async cover(connection: Connection, rows: Iterable<{ id: string; at: number }>): Promise<void> {
    let lead = 0;
    let lag = 0;
    for (const { id, at } of rows) {
      const distance = toIdMs(id) - at;
      if (distance > lead) lead = distance;
      if (-distance > lag) lag = -distance;
    }
    if (lead <= this.known.lead && lag <= this.known.lag) return;
    let kept = this.remember(await readIdSkew(connection));
    if (lead <= kept.lead && lag <= kept.lag) return;
    if (!connection.dialect.locksAbsentRows) {
      // Two that raise it at once: the second sees what the first one wrote.
      await connection.dialect.insertRows(connection, {
        table: tableOf('svc_meta'),
        columns: ['key', 'value'],
        rows: Object.values(KEYS).map((key) => [key, String(SMALLEST_MS)]),
        conflict: 'skip',
      });
      kept = this.remember(await readIdSkew(connection, connection.dialect.forUpdate));
    }
    const raised: string[][] = [];
    if (lead > kept.lead) raised.push([KEYS.lead, String(roundUp(lead))]);
    if (lag > kept.lag) raised.push([KEYS.lag, String(roundUp(lag))]);
    if (raised.length === 0) return;
    this.hasRaised = true;
    await connection.dialect.insertRows(connection, {
      table: tableOf('svc_meta'),
      columns: ['key', 'value'],
      rows: raised,
      conflict: { update: ['value'] },
    });
  }

  private remember(kept: IdSkew): IdSkew {
    if (!this.hasRaised) this.known = kept;
    return kept;
  }
}

/** `suffix`: what ends the query, where the rows are to be locked. */
export async function readIdSkew(connection: Connection, suffix = ''): Promise<IdSkew> {
  const rows = await connection.all(
    `select \`key\`, value from svc_meta where \`key\` in (?, ?)${suffix}`,
    [KEYS.lead, KEYS.lag],
  );
  const skew: IdSkew = { lead: SMALLEST_MS, lag: SMALLEST_MS };
  for (const row of rows) {
    const value = toInteger(toText(row['value']));
    if (toText(row['key']) === KEYS.lead) skew.lead = value;
    else skew.lag = value;
  }
  return skew;
}

/** No row at or after `time` has a lesser id. */
export function leastIdSince(time: number, skew: IdSkew): Buffer {
  return toLeastIdBytes(time - skew.lag);
}

/** Every row before `time` has a lesser id. */
export function leastIdBeyond(time: number, skew: IdSkew): Buffer {
  return toLeastIdBytes(time + skew.lead);
}

function roundUp(ms: number): number {
  let rounded = SMALLEST_MS;
  while (rounded < ms) rounded *= 2;
  return rounded;
}
