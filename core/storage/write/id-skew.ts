import { toIdMs } from '../../ids/id-time.ts';
import type { Connection } from '../dialect.ts';
import { toLeastIdBytes } from '../schema/ids.ts';
import { toInteger, toText } from '../schema/rows.ts';
import { FOR_UPDATE, insertRecords, replaceRecords } from '../schema/row-sets.ts';
import { META } from '../schema/records.ts';

/** Smaller differences between the time in an id and the time of its row are not stored. */
const SMALLEST_MS = 1_000;
const KEYS = { lead: 'id_lead_ms', lag: 'id_lag_ms' } as const;

/** The greatest differences found between ids and times: ids ahead, and ids behind. */
export interface IdSkew {
  lead: number;
  lag: number;
}

/**
 * Tracks how far a row's time has ever been from the time in its id. Lists are ordered by id and
 * filtered by time, so a range of times has to become a range of ids. The core takes both from one
 * clock, but the storage contract lets them differ: an imported row can be years apart.
 *
 * `svc_meta` holds the greatest difference, rounded up to a power of two seconds and written in the
 * transaction of the row that raised it. With a correct clock, nothing is ever written.
 */
export class IdSkewKeeper {
  /** The committed differences. */
  private known: IdSkew = { lead: SMALLEST_MS, lag: SMALLEST_MS };
  /** A transaction that raised a difference reads its own value, which may be rolled back. */
  private hasRaised = false;

  /** Call this in the transaction that writes `rows`. */
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
      // If two transactions raise it at once, the second one sees the first one's value.
      const least = Object.values(KEYS).map((key) => ({ key, value: String(SMALLEST_MS) }));
      await insertRecords(connection, least, { into: META, conflict: 'skip' });
      kept = this.remember(await readIdSkew(connection, FOR_UPDATE));
    }
    const raised: { key: string; value: string }[] = [];
    if (lead > kept.lead) raised.push({ key: KEYS.lead, value: String(roundUp(lead)) });
    if (lag > kept.lag) raised.push({ key: KEYS.lag, value: String(roundUp(lag)) });
    if (raised.length === 0) return;
    this.hasRaised = true;
    await replaceRecords(connection, META, raised);
  }

  private remember(kept: IdSkew): IdSkew {
    if (!this.hasRaised) this.known = kept;
    return kept;
  }
}

/** `suffix` ends the query, for example to lock the rows. */
export async function readIdSkew(connection: Connection, suffix = ''): Promise<IdSkew> {
  const rows = await connection.all(
    `select \`key\`, value from svc_meta t where \`key\` in (?, ?)${suffix}`,
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

/** A lower bound: no row at or after `time` has a smaller id. */
export function leastIdSince(time: number, skew: IdSkew): Buffer {
  return toLeastIdBytes(time - skew.lag);
}

/** An upper bound: every row before `time` has a smaller id. */
export function leastIdBeyond(time: number, skew: IdSkew): Buffer {
  return toLeastIdBytes(time + skew.lead);
}

function roundUp(ms: number): number {
  let rounded = SMALLEST_MS;
  while (rounded < ms) rounded *= 2;
  return rounded;
}
