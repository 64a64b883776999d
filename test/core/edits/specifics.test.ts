import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { atOnce } from '../../../core/time/pause.ts';
import { listSpecifics, missingSpecifics } from '../../../core/edits/specifics.ts';

/** Positions are tried this far apart: no divisor of a length in the code. */
const STEP = process.env['MEMORY_TEST_RELEASE'] === undefined ? 17 : 1;

const missing = (text: string, grounds: string) =>
  atOnce(missingSpecifics(text, grounds)).map((one) => one.text);

describe('specifics', () => {
  it.each(['3 Jan. 2026', 'USD 2,500', '3 p.m.', '"green tea"'])(
    'find %s in a long line wherever it is cut',
    (value) => {
      for (let at = 1_700; at < 2_100; at += STEP) {
        const line = `${'tea '.repeat(at / 4)}${'x'.repeat(at % 4)} ${value} ${'and cake '.repeat(300)}`;
        expect(missing(value, line), String(at)).toEqual([]);
      }
    },
  );

  it.each([
    ['sentences', 'Paid $5 to Tom on 3 May 2026. ', 'Met Ana at 14:00'],
    ['words', 'tea and 12 ', 'Met Ana at 14:00'],
    ['Chinese', '用户有两只猫，', '用户有3只猫'],
  ])('of a line of 20,000 characters of %s are found wherever they stand', (_what, often, once) => {
    const half = often.repeat(10_000 / often.length);
    const line = `${half}${once} ${half}`;
    expect(missing(once, line)).toEqual([]);
    expect(missing(`${once} 77`, line)).toEqual(['77']);
    expect(missing(line, line)).toEqual([]);
    expect(missing(once, often)).not.toEqual([]);
    expect(missing(line, often)).toEqual(expect.arrayContaining(missing(once, often)));
  });

  it.each([
    ['Has 2 cats', 'has two cats'],
    ['Meets at 14:00', 'meets at 2pm'],
    ['Meets at 2 p.m.', 'meets at 14:00'],
    ['Trifft sich um 14 Uhr', 'trifft sich um 14:00'],
    ['Rent is $2500', 'rent is $2,500'],
    ['Rent is 2.5k dollars', 'the rent is $2,500'],
    ['Miete 1.200 €', 'Miete: 1200 Euro'],
    ['Weighs 5 kg', 'weighs 5kg'],
    ['On 2023-03-03', 'on March 3rd, 2023'],
    ['Am 3. März 2023', 'on 2023-03-03'],
    ['El 3 de marzo', 'on 2023-03-03'],
    ['Le 3 mars 2023', '3.3.2023'],
    ['2023年3月3日', 'on 2023-03-03'],
    ['有三只猫', '有3只猫'],
    ['Hat drei Katzen', 'hat 3 Katzen'],
    ['Since 2023', 'since March 2023'],
    ['Mail ANA@example.org', 'mail ana@example.org'],
    ['Met Ana', 'Ana’s friend'],
    ['20 % off', '20 percent off'],
    ['Call +49 170 1234567', 'call +491701234567'],
  ])('%j has nothing that %j lacks', (text, grounds) => {
    expect(missing(text, grounds)).toEqual([]);
  });

  it.each([
    ['Has 3 cats', 'has two cats', ['3']],
    ['Costs $500', 'costs €500', ['$500']],
    ['On 2023-03-04', 'on March 3rd, 2023', ['2023-03-04']],
    ['On 2024-03-03', 'on 3 March', ['2024-03-03']],
    ['Meets at 3pm', 'meets at 15:30', ['3pm']],
    ['Works with Ben', 'works with Ana', ['Ben']],
    ['See https://a.example/x', 'see https://b.example/x', ['https://a.example/x']],
    ['See [x](evil.md)', 'see [x](good.md)', ['evil.md']],
    ['See [x](evil.md', 'see it', ['evil.md']],
    ['Says "never again"', 'says "once more"', ['never again']],
    ['Wohnt in Wien', 'wohnt in Graz', ['Wien']],
    ['Tiene 4 hijos', 'tiene dos hijos', ['4']],
    ['有三只猫', '有两只猫', ['3']],
  ])('%j has what %j lacks', (text, grounds, lacking) => {
    expect(missing(text, grounds)).toEqual(lacking);
  });

  it('takes no common word at the beginning of a line for a name', () => {
    for (const text of [
      '- Prefers tea',
      '- Trinkt gern Tee',
      '- Aime le thé',
      '- Vive con su hermana',
    ]) {
      expect(
        listSpecifics(text).filter(({ text: name }) => /^(?:Prefers|Trinkt|Aime|Vive)$/.test(name)),
      ).toEqual([]);
    }
  });

  it('finds each text in itself', () => {
    const text = fc.string({ unit: 'binary', maxLength: 200 });
    const words = fc
      .array(
        fc.constantFrom(
          'Ana',
          '$5',
          '2pm',
          'two',
          '3 May 2020',
          '1.200',
          'a@b.de',
          '三个',
          '"x y"',
          '5kg',
          'A380',
        ),
      )
      .map((all) => all.join(' '));
    fc.assert(
      fc.property(
        fc.oneof(text, words),
        (one) => void expect(atOnce(missingSpecifics(one, one))).toEqual([]),
      ),
    );
  });
});
