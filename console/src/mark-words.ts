/** A piece of a text, and whether it is one of the words. */
export interface MarkedPart {
  text: string;
  isMarked: boolean;
}

/** Splits a text at the words of a search, without regard to case. */
export function markWords(text: string, words: string): MarkedPart[] {
  const found = words
    .split(/\s+/)
    .filter((word) => word !== '')
    // The longest first: allergies before allergy.
    .sort((one, other) => other.length - one.length)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (found.length === 0) return [{ text, isMarked: false }];
  // With one group, the odd pieces are the words.
  return text
    .split(new RegExp(`(${found.join('|')})`, 'giu'))
    .map((part, index) => ({ text: part, isMarked: index % 2 === 1 }))
    .filter((part) => part.text !== '');
}

/** Splits a line at an exact text; of a text over several lines, at the part in the first one. */
export function markText(line: string, text: string): MarkedPart[] {
  const [first = ''] = text.split('\n');
  if (first === '') return [{ text: line, isMarked: false }];
  return line
    .split(first)
    .flatMap((part, at) => [
      ...(at === 0 ? [] : [{ text: first, isMarked: true }]),
      { text: part, isMarked: false },
    ])
    .filter((part) => part.text !== '');
}
