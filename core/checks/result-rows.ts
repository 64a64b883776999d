import type { CheckResultRecord, CheckRunRecord } from '../contracts/checks.ts';
import type { ScopeKey } from '../contracts/records.ts';
import { parsePhysicalPath, SHARED } from '../files/paths.ts';
import type { IdSource } from '../ids/ids.ts';
import { groupBy } from '../lists/group-by.ts';
import type { CheckResult } from '../schemas/checks.ts';
import { type Check, scopeOf } from './check.ts';

/** Places that a result names. */
const NAMED_PLACES = 20;

/** What a run found, as rows of the memories that it is about. */
export function toResultRows(
  { id: runId }: Pick<CheckRunRecord, 'id'>,
  {
    checks,
    results,
    ids,
  }: { checks: readonly Check[]; results: readonly CheckResult[]; ids: IdSource },
): CheckResultRecord[] {
  return results.flatMap((result, checkNo) => {
    const check = checks[checkNo];
    const { name, passed, rank, why = null, places = [], more = 0 } = result;
    const home = (check && scopeOf(check)) ?? SHARED;
    const byScope = groupBy(places, ({ path }) => scopeOfPlace(path));
    const toRow = (scope: ScopeKey): CheckResultRecord => ({
      scope,
      id: ids.next(),
      runId,
      checkNo,
      name: null,
      passed: null,
      place: null,
      why: null,
      places: byScope.get(scope) ?? [],
      more: 0,
    });
    const others = [...byScope.keys()].filter((scope) => scope !== home);
    const place = rank === undefined ? null : (rank ?? 0);
    return [{ ...toRow(home), name, passed, place, why, more }, ...others.map(toRow)];
  });
}

/** The results of a run, in the order of its checks. Those whose memory was erased are gone. */
export function fromResultRows(rows: readonly CheckResultRecord[]): CheckResult[] {
  const checks = [...groupBy(rows, ({ checkNo }) => checkNo)].sort(([one], [other]) => one - other);
  return checks.flatMap(([, own]): CheckResult[] => {
    const head = own.find(({ name }) => name !== null);
    if (head === undefined) return [];
    const { name, passed, place, why, more } = head;
    const places = own.flatMap((row) =>
      row.places.map(({ path, lines }) => ({ path, lines: [...lines] })),
    );
    return [
      {
        name: name ?? '',
        passed: passed ?? false,
        ...(why !== null && { why }),
        ...(place !== null && { rank: place === 0 ? null : place }),
        ...(places.length > 0 && { places: places.slice(0, NAMED_PLACES) }),
        ...(more > 0 && { more }),
      },
    ];
  });
}

/** The memory of a place: a file, or a whole memory by its folder. */
function scopeOfPlace(path: string): ScopeKey {
  return parsePhysicalPath(path.endsWith('/') ? `${path}-` : path).scope;
}
