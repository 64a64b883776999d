import type { Candidate } from '../plan.ts';
import { missingSpecifics, specificsOf } from '../text/specifics.ts';
import { contentStems, isOpener, tokenise } from '../text/words.ts';
import { catalogGrounds } from './catalog.ts';

/** Words of an added text that no source has: one in so many. */
const NEW_WORDS = 5;

/** What is added has no specifics that its sources lack, and next to no words. */
export function checkInvention(candidate: Candidate): string | null {
  const grounds = [candidate.grounds, catalogGrounds(candidate)].join('\n');
  const text = candidate.added.join('\n');
  const [made] = missingSpecifics(text, grounds);
  if (made !== undefined) return `no source has “${made.slice(0, 80)}”`;
  if (candidate.operation.kind !== 'move') {
    const known = new Set(contentStems(grounds));
    const stems = contentStems(text);
    const fresh = stems.filter((stem) => !known.has(stem));
    if (fresh.length > Math.floor(stems.length / NEW_WORDS)) {
      return 'too many of its words stand in no source';
    }
  }
  return checkHeading(candidate);
}

/** A heading that is not there yet: words of its sources, and plain ones such as “Preferences”. */
function checkHeading({ operation, snapshot, grounds }: Candidate): string | null {
  const { add } = operation;
  if (add === null || add.heading === null) return null;
  const heading = add.heading.toLowerCase();
  const file = snapshot.files.get(add.path);
  if (file?.headings.some((it) => it?.toLowerCase() === heading) === true) return null;
  if (tokenise(heading).length > 6) return 'a heading of so many words is a statement';
  const known = new Set(contentStems(grounds));
  const isKnown = tokenise(heading).every(
    ({ text }) => isOpener(text) || contentStems(text).every((stem) => known.has(stem)),
  );
  const plain = [...specificsOf(add.heading)].filter((it) => !isOpener(it));
  return isKnown && missingSpecifics(plain.join(' '), grounds).length === 0
    ? null
    : 'no source has the words of that heading';
}
