import { describe, expect, it } from 'vitest';

import { parseTraceparent } from '../../../core/telemetry/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

// The cases of the W3C's test suite (trace-context, test/test.py), by its rules.
describe('parseTraceparent', () => {
  it.each([
    ['a sampled trace', `00-${TRACE}-${SPAN}-01`],
    ['one that is not sampled', `00-${TRACE}-${SPAN}-00`],
    ['flags that are not known', `00-${TRACE}-${SPAN}-ff`],
    ['space around it', ` \t00-${TRACE}-${SPAN}-01\t `],
    ['a later version', `cc-${TRACE}-${SPAN}-01`],
    ['a later version with more behind it', `cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`],
    ['a later version with a dash behind it', `01-${TRACE}-${SPAN}-00-`],
    ['the last version', `fe-${TRACE}-${SPAN}-01`],
  ])('takes %s', (_, header) => {
    expect(parseTraceparent(header)).toMatchObject({
      traceId: TRACE,
      spanId: SPAN,
      isRemote: true,
    });
  });

  it.each([
    ['00', false],
    ['01', true],
    ['02', false],
    ['ff', true],
  ])('of the flags %s, says whether the caller keeps the trace: %s', (flags, isSampled) => {
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-${flags}`)).toMatchObject({ isSampled });
  });

  it.each([
    ['nothing', ''],
    ['a space', ' '],
    ['version ff', `ff-${TRACE}-${SPAN}-01`],
    ['version 00 with more behind it', `00-${TRACE}-${SPAN}-01-what`],
    ['version 00 with a dash behind it', `00-${TRACE}-${SPAN}-01-`],
    ['version 00 with a dot behind it', `00-${TRACE}-${SPAN}-01.`],
    ['a later version with more that has no dash', `cc-${TRACE}-${SPAN}-01.what`],
    ['a later version with longer flags', `cc-${TRACE}-${SPAN}-0123`],
    ['a version in upper case', `CC-${TRACE}-${SPAN}-01`],
    ['a version of one digit', `0-${TRACE}-${SPAN}-01`],
    ['a version of three digits', `000-${TRACE}-${SPAN}-01`],
    ['a version that is no hex', `.0-${TRACE}-${SPAN}-01`],
    ['no version', `${TRACE}-${SPAN}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a trace id in upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a trace id with a point', `00-.${TRACE.slice(1)}-${SPAN}-01`],
    ['a trace id too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['a trace id too long', `00-${TRACE}0-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a span id in upper case', `00-${TRACE}-${SPAN.toUpperCase()}-01`],
    ['a span id with a point', `00-${TRACE}-.${SPAN.slice(1)}-01`],
    ['a span id too short', `00-${TRACE}-${SPAN.slice(1)}-01`],
    ['a span id too long', `00-${TRACE}-${SPAN}0-01`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['empty flags', `00-${TRACE}-${SPAN}-`],
    ['flags of one digit', `00-${TRACE}-${SPAN}-1`],
    ['flags of three digits', `00-${TRACE}-${SPAN}-001`],
    ['flags that are no hex', `00-${TRACE}-${SPAN}-.0`],
    ['flags in upper case', `00-${TRACE}-${SPAN}-FF`],
    ['underscores', `00_${TRACE}_${SPAN}_01`],
    ['two of them, joined as HTTP joins them', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['a line feed inside', `01-${TRACE}-${SPAN}-01-\nx`],
    ['wide digits', `００-${TRACE}-${SPAN}-01`],
    ['more than 512 characters', `01-${TRACE}-${SPAN}-01-${'x'.repeat(1 << 20)}`],
    ['512 spaces', ' '.repeat(1 << 20)],
  ])('starts a new trace for %s', (_, header) => {
    expect(parseTraceparent(header)).toBeNull();
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 0],
    ['an array of headers', [`00-${TRACE}-${SPAN}-01`]],
    ['an object', {}],
  ])('starts a new trace for what is no text: %s', (_, header) => {
    expect(parseTraceparent(header as string)).toBeNull();
  });
});
