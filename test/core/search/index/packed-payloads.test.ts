import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PackedPayloads } from '../../../../core/search/index/packed-payloads.ts';
import { LENGTHS_TERM } from '../../../../core/search/index/postings.ts';
import { encodeText, indexText } from '../../../support/index-text.ts';

describe('packed payloads', () => {
  it('are those of the file, term for term in their order, and none of any other term', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), fc.string(), (text, other) => {
        const payloads = encodeText(indexText(text, 'notes/a.md'));
        const packed = new PackedPayloads(payloads);
        expect([...packed]).toEqual([...payloads]);
        for (const term of [...payloads.keys(), LENGTHS_TERM, other, `${other}\n`]) {
          expect(packed.get(term)).toEqual(payloads.get(term));
        }
      }),
    );
  });
});
