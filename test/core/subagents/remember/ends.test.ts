import { describe, expect, it } from 'vitest';
import { findEnd, markEnds } from '../../../../core/subagents/remember/ends.ts';

const DAY = '2026-07-27';

describe('findEnd', () => {
  it.each([
    ['- On leave until 12 August', '2026-08-12'],
    ['- On leave until 12 August 2026.', '2026-08-12'],
    ['- On leave until 2026-08-12', '2026-08-12'],
    ['- Away till March 3rd', '2027-03-03'],
    ['- The contract runs through June 2027', '2027-06-30'],
    ['- Ist bis zum 12. August im Urlaub', '2026-08-12'],
    ['- En congé jusqu’au 12 août 2026', '2026-08-12'],
    ['- De vacaciones hasta el 12 de agosto', '2026-08-12'],
    ['- Met verlof tot 12 augustus', '2026-08-12'],
    ['- В отпуске до 12 августа', '2026-08-12'],
    ['- 8月12日まで休み', '2026-08-12'],
  ])('%s', (line, end) => {
    expect(findEnd(line, DAY)).toBe(end);
  });

  it.each([
    '- Works at Acme since 12 August',
    '- Does not start until 12 August',
    '- Kommt nicht bis 12. August',
    '- The report is due on 12 August',
    '- Lived in Rome until 12 August 2019',
    '- Open until 7',
    '- Away until 3/4/2027 in English',
    '- Away until 12 August, then until 20 August',
    '- Away until 31 February 2027',
  ])('none in: %s', (line) => {
    expect(findEnd(line, DAY)).toBeNull();
  });
});

describe('markEnds', () => {
  const mark = (before: string | null, after: string) =>
    markEnds({ path: 'user/a.md', version: 1, before, after }, DAY).after;

  it('marks new lines alone, once, and none in code', () => {
    expect(mark(null, '# A\r\n\r\n- Away until 12 August\r\n')).toBe(
      '# A\r\n\r\n- Away until 12 August <!-- until: 2026-08-12 -->\r\n',
    );
    const old = '- Away until 12 August\n';
    expect(mark(old, `${old}- Tea\n`)).toBe(`${old}- Tea\n`);
    const marked = '- Away until 12 August <!-- until: 2026-08-12 -->';
    expect(mark(null, marked)).toBe(marked);
    const code = '```\nAway until 12 August\n```\n';
    expect(mark(null, code)).toBe(code);
  });
});
