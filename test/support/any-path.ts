import fc from 'fast-check';
import { PATH_LIMITS, parsePhysicalPath } from '../../core/files/paths.ts';
import { takeBytes } from '../../core/encoding/take-text.ts';

/** Letters of one to four bytes, signs that paths may hold, and emoji of several code points. */
const letter = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...'abcABC019_-.+ ,(=@~$', 'ü', 'é', 'ß', 'ſ', 'İ') },
  { weight: 3, arbitrary: fc.constantFrom(...'日本語メモקט한글ไทยअΣς') },
  { weight: 1, arbitrary: fc.constantFrom('😀', '🇨🇭', '👍🏽', '𝒳', '\u{20bb7}') },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }) },
);

const segment = fc
  .tuple(fc.array(letter, { minLength: 1, maxLength: 130 }), fc.constantFrom('', '.md', '.MD'))
  .map(([letters, ending]) => {
    const name = takeBytes(letters.join('').normalize('NFC'), PATH_LIMITS.segmentBytes - 3);
    return `${name}${ending}`;
  });

/** A path below a root that memory takes, of any script, up to its limits in bytes and segments. */
export const anyPath = fc
  .array(segment, { minLength: 1, maxLength: PATH_LIMITS.segments })
  .map((segments) => {
    while (Buffer.byteLength(segments.join('/')) > PATH_LIMITS.bytes) segments.pop();
    return segments.join('/');
  })
  .filter(isPath);

function isPath(path: string): boolean {
  try {
    parsePhysicalPath(`shared/${path}`);
    return true;
  } catch {
    return false;
  }
}
