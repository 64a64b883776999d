/** A write of a file whose lines all differ: each text is the id of its line. */
export interface RecordedWrite {
  before: readonly string[];
  after: readonly string[];
}

/** Neighbouring lines that a write took out, and those that it put in their place. */
interface Place {
  removed: string[];
  added: string[];
  /** The lines around it that it left. */
  previous: string | undefined;
  next: string | undefined;
}

/**
 * The lines of the newest content without some of the writes, by the ids of the lines alone.
 *
 * All lines that ever were stand in one order: lines that a write added stand behind those that it took
 * out there, and else right before the next line and what that was written for. Writes are undone newest
 * first.
 */
export function reference(
  writes: readonly RecordedWrite[],
  selected: ReadonlySet<number>,
): { lines: string[]; conflicts: number } {
  const order = orderAll(writes);
  const present = new Set(writes.at(-1)?.after);
  /** What took the place of a line that is gone, and which write did that. */
  const replaced = new Map<string, { by: number; added: readonly string[] }>();
  for (const [by, write] of writes.entries()) {
    for (const { removed, added } of placesOf(write)) {
      for (const id of removed) replaced.set(id, { by, added });
    }
  }
  const standsFor = (id: string): string[] =>
    present.has(id) ? [id] : (replaced.get(id)?.added.flatMap(standsFor) ?? []);
  /** What would be put back in place of what. */
  const conflicts: { theirs: string[]; restored: Set<string> }[] = [];
  /** Behind what stands for the line before, unless that stands for the line after as well. */
  const moveBehind = (ids: readonly string[], { previous, next }: Place) => {
    const last = (id: string | undefined) => (id === undefined ? undefined : standsFor(id).at(-1));
    const behind = last(previous);
    const first = ids[0] as string;
    if (behind === undefined || behind === last(next)) return;
    if (order.indexOf(behind) < order.indexOf(first)) return;
    for (const id of ids) order.splice(order.indexOf(id), 1);
    order.splice(order.indexOf(behind) + 1, 0, ...ids);
  };
  const shadowed = (id: string) => conflicts.find(({ restored }) => restored.has(id));
  for (const at of [...selected].sort((one, other) => other - one)) {
    for (const place of placesOf(writes[at] as RecordedWrite)) {
      const { removed, added } = place;
      if (removed.length === 0) {
        for (const id of added) {
          if (present.delete(id) || shadowed(id)?.restored.delete(id) === true) continue;
          const theirs = standsFor(id);
          if (theirs.length > 0) conflicts.push({ theirs, restored: new Set() });
        }
      } else if (added.every((id) => present.has(id))) {
        for (const id of added) present.delete(id);
        for (const id of removed) present.add(id);
        if (added.length === 0) moveBehind(removed, place);
      } else {
        const known = added.map(shadowed).find((one) => one !== undefined);
        const conflict = known ?? { theirs: [], restored: new Set() };
        if (known === undefined) conflicts.push(conflict);
        for (const id of added) conflict.restored.delete(id);
        for (const id of removed) conflict.restored.add(id);
        conflict.theirs.push(...added.flatMap(standsFor));
      }
    }
  }
  const open = conflicts.filter(({ theirs, restored }) => theirs.length + restored.size > 0);
  return { lines: order.filter((id) => present.has(id)), conflicts: open.length };
}

function orderAll(writes: readonly RecordedWrite[]): string[] {
  const order = [...(writes[0]?.before ?? [])];
  /** The first of the lines that one was written for. */
  const instead = new Map<string, string>();
  const placeOf = (id: string): number => {
    const replaced = instead.get(id);
    return replaced === undefined ? order.indexOf(id) : placeOf(replaced);
  };
  for (const write of writes) {
    for (const { removed, added, next } of placesOf(write)) {
      const [last, first] = [removed.at(-1), added[0]];
      const end = next === undefined ? order.length : placeOf(next);
      order.splice(last === undefined ? end : order.indexOf(last) + 1, 0, ...added);
      if (first !== undefined && removed[0] !== undefined) instead.set(first, removed[0]);
    }
  }
  return order;
}

/** The places that a write changed. Of as many lines before as after, each was changed for itself. */
function placesOf({ before, after }: RecordedWrite): Place[] {
  const stays = new Set(after.filter((id) => before.includes(id)));
  const places: Place[] = [];
  let [one, other] = [0, 0];
  while (one < before.length || other < after.length) {
    const place: Place = { removed: [], added: [], previous: before[one - 1], next: undefined };
    for (; one < before.length && !stays.has(before[one] as string); one++) {
      place.removed.push(before[one] as string);
    }
    for (; other < after.length && !stays.has(after[other] as string); other++) {
      place.added.push(after[other] as string);
    }
    place.next = before[one];
    if (place.removed.length === place.added.length) {
      for (const [at, id] of place.removed.entries()) {
        places.push({ ...place, removed: [id], added: [place.added[at] as string] });
      }
    } else {
      places.push(place);
    }
    one += 1;
    other += 1;
  }
  return places;
}
