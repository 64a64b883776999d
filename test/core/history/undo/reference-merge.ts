/** A write of a file whose lines all differ: each text is the id of its line. */
export interface RecordedWrite {
  before: readonly string[];
  after: readonly string[];
}

/** Neighbouring lines that a write took out, and those that it put in their place. */
interface Place {
  removed: string[];
  added: string[];
  /** The next line that it left. */
  next: string | undefined;
}

/**
 * The lines of the newest content without some of the writes, by the ids of the lines alone.
 *
 * All lines that ever were stand in one order: lines that a write added stand where those stood that it
 * took out there, and else right before the next line. Writes are undone newest first.
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
  let conflicts = 0;
  for (const at of [...selected].sort((one, other) => other - one)) {
    for (const { removed, added } of placesOf(writes[at] as RecordedWrite)) {
      if (removed.length === 0) {
        for (const id of added) {
          if (!present.delete(id) && standsFor(id).length > 0) conflicts += 1;
        }
      } else if (added.every((id) => present.has(id))) {
        for (const id of added) present.delete(id);
        for (const id of removed) present.add(id);
      } else {
        conflicts += 1;
      }
    }
  }
  return { lines: order.filter((id) => present.has(id)), conflicts };
}

function orderAll(writes: readonly RecordedWrite[]): string[] {
  const order = [...(writes[0]?.before ?? [])];
  for (const write of writes) {
    for (const { removed, added, next } of placesOf(write)) {
      const at = removed[0] ?? next;
      order.splice(at === undefined ? order.length : order.indexOf(at), 0, ...added);
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
    const place: Place = { removed: [], added: [], next: undefined };
    for (; one < before.length && !stays.has(before[one] as string); one++) {
      place.removed.push(before[one] as string);
    }
    for (; other < after.length && !stays.has(after[other] as string); other++) {
      place.added.push(after[other] as string);
    }
    place.next = before[one];
    if (place.removed.length === place.added.length) {
      for (const [at, id] of place.removed.entries()) {
        places.push({ removed: [id], added: [place.added[at] as string], next: place.next });
      }
    } else {
      places.push(place);
    }
    one += 1;
    other += 1;
  }
  return places;
}
