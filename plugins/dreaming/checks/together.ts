import type { Candidate } from '../plan.ts';
import { listSpecifics, specificsOf } from '../text/specifics.ts';

/**
 * The specifics of one line stay together: in `Anna: 1985, Ben: 1990` made of `Anna: 1990` and
 * `Ben: 1985` every one of them is there, and both facts are wrong. Lines that share a specific are
 * about one thing, and may be told together.
 */
export function checkTogether({ removed, added, operation }: Candidate): string | null {
  if (operation.kind === 'move' || operation.kind === 'index') return null;
  const lines = removed.map((line) => ({ line, specifics: specificsOf(line) }));
  const ordered = added.flatMap((line) => listSpecifics(line));
  for (const { specifics } of lines) {
    if (specifics.size < 2) continue;
    const places = ordered.flatMap((it, index) => (specifics.has(it) ? [index] : []));
    const between = ordered.slice(places[0] ?? 0, (places.at(-1) ?? -1) + 1);
    for (const foreign of between.filter((it) => !specifics.has(it))) {
      const owners = lines.filter((other) => other.specifics.has(foreign));
      const isRelated = owners.some((other) =>
        [...other.specifics].some((it) => specifics.has(it)),
      );
      if (owners.length > 0 && !isRelated) {
        return `“${foreign.slice(0, 80)}” comes between parts of another fact`;
      }
    }
  }
  return null;
}
