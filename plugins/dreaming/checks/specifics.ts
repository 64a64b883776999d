import type { Candidate } from '../plan.ts';
import { missingSpecifics } from '../text/specifics.ts';
import { deadLinks } from './catalog.ts';

/** Every number, date, name, address and link of a line that goes stands in what replaces it. */
export function checkSpecifics(candidate: Candidate): string | null {
  const { removed, replacement } = candidate;
  for (const line of removed) {
    const dead = deadLinks(candidate, line);
    const missing = missingSpecifics(line, replacement).filter((it) => !dead.has(it));
    if (missing.length > 0) return `${missing.slice(0, 5).map(name).join(', ')} would be lost`;
  }
  return null;
}

function name(specific: string): string {
  return `“${specific.slice(0, 80)}”`;
}
