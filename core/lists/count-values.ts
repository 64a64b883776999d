import type { PageRequest, PageResult } from '../contracts/page.ts';
import type { FieldValues, ValueCounts } from '../schemas/value-counts.ts';
import { createPause } from '../time/pause.ts';
import { toTime } from '../time/time.ts';
import { PAGE_LIMITS } from './page.ts';

/** The most pages that one count reads: 5,000 rows, or fewer where few rows pass. */
const MOST_PAGES = 10;
const VALUES_TOLD = 50;

/** Reads a page of a list; a query names only its filters. */
type Read<Query, Row> = (query: Query, page: PageRequest) => Promise<PageResult<Row>>;

/**
 * Counts the values of a list's newest rows. Each field is counted with all filters but its own. Where
 * no row passes the filters, says which of them leaves none.
 *
 * @param timeOf when a row was written, milliseconds since 1970.
 * @param fields how to read each field from a row, by the name of its filter.
 */
export async function countValues<Query extends object, Row>(
  query: Query,
  {
    read,
    timeOf,
    fields,
  }: {
    read: Read<Query, Row>;
    timeOf: (row: Row) => number;
    fields: Readonly<Record<string, (row: Row) => string | null>>;
  },
): Promise<ValueCounts> {
  const active = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : name,
  );
  const without = (name: string): Query => ({ ...query, [name]: undefined });
  const whole = await readNewest(read, query);
  const counted: FieldValues[] = [];
  for (const [field, of] of Object.entries(fields)) {
    const { rows } = active.includes(field) ? await readNewest(read, without(field)) : whole;
    counted.push(countField(field, rows.map(of)));
  }
  const left: ValueCounts['without'] = [];
  if (whole.rows.length === 0 && active.length > 0) {
    for (const filter of active) {
      const { items, next } = await read(without(filter), NEWEST);
      left.push({ filter, rows: items.length, isMore: next !== null });
    }
  }
  const last = whole.rows.at(-1);
  return {
    rows: whole.rows.length,
    from: whole.isAll || last === undefined ? null : toTime(timeOf(last)),
    fields: counted,
    without: left,
  };
}

const NEWEST: PageRequest = { limit: PAGE_LIMITS.max, order: 'desc', after: null };

async function readNewest<Query, Row>(
  read: Read<Query, Row>,
  query: Query,
): Promise<{ rows: readonly Row[]; isAll: boolean }> {
  const rows: Row[] = [];
  const pause = createPause();
  let { after } = NEWEST;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { items, next } = await read(query, { ...NEWEST, after });
    rows.push(...items);
    if (next === null) return { rows, isAll: true };
    after = next;
    await pause();
  }
  return { rows, isAll: false };
}

function countField(field: string, values: readonly (string | null)[]): FieldValues {
  const counts = new Map<string, number>();
  for (const value of values) {
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const sorted = [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
  return {
    field,
    values: sorted.slice(0, VALUES_TOLD),
    others: Math.max(0, sorted.length - VALUES_TOLD),
  };
}
