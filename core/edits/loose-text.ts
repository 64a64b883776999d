import { takeStart } from '../encoding/take-text.ts';

/** A line without what a model may copy wrongly: spaces, quotes, dashes, bullet, final punctuation. */
export function toLoose(text: string): string {
  // The number that the prompt shows in front of each line.
  const line = text.trim().replace(/^[a-z]{0,3}\d{1,6}(?: \d{4}-\d{2}-\d{2})?\| ?/, '');
  const loose = toBare(line)
    .normalize('NFC')
    .replace(/^[•·‣◦–—]\s*/u, '')
    .replace(/[\u2018\u2019\u201a\u201b\u2032`´]/gu, "'")
    .replace(/[\u201c\u201d\u201e\u201f\u2033«»]/gu, '"')
    .replace(/[\u2010-\u2015\u2212]/gu, '-')
    .replace(/\s+/gu, ' ')
    .trim();
  let end = loose.length;
  while (FINAL.includes(loose.charAt(end - 1)) && end > 0) end -= 1;
  return takeStart(loose, end).trim();
}

/** What may end a line. */
const FINAL = '.。!！;；,，:：…';

/** The text of a line without its bullet. */
export function toBare(text: string): string {
  return text
    .trim()
    .replace(/^(?:[-*+•]|\d{1,9}[.)])\s+/, '')
    .trim();
}
