import { describe, expect, it } from 'vitest';
import { examineInSteps } from '../../../../core/edits/engine.ts';
import { nameLines } from '../../../../core/edits/numbered.ts';
import { parseEdits, REMEMBER_KINDS } from '../../../../core/edits/operations.ts';
import { toExamineOptions } from '../../../../core/subagents/remember/session.ts';
import { atOnce } from '../../../../core/time/pause.ts';
import { resolveTimes } from '../../../../core/values/times.ts';
import { edit, memoryOf } from '../../../support/edit-memory.ts';

const DAY = '2026-11-22';
const FILES = {
  'user/profile.md':
    '# Profile\n\n- Name: Ines\n- Drives a van\n- Rent is 840 €\n- Ran 12 km on 2026-11-08\n- Kurs beginnt am 4. Mai\n',
  'user/people/olga.md': '# Olga\n\n- Plays the cello\n',
  'user/people/remo.md': '# Remo\n\n- Bakes bread\n',
};

/** Which guard refuses the line that a model makes of a fact; `null` for none. */
function guardOf(fact: string, line: string, path = 'user/profile.md'): string | null {
  const memory = memoryOf(FILES, { fact });
  const operation = edit('add', { add: { path, lines: [`- ${line}`] }, sources: ['fact:1: '] });
  const reply = JSON.stringify({ operations: [operation] });
  const parsed =
    parseEdits(reply, REMEMBER_KINDS, { files: nameLines(memory.files) })?.operations ?? [];
  const options = toExamineOptions({ times: resolveTimes(fact, DAY), day: DAY }, 100_000);
  const [examined] = atOnce(examineInSteps(memory, parsed, options));
  if (examined === undefined) throw new Error('The operation is not of the form asked for.');
  return examined.fault?.guard ?? null;
}

describe('a line that a model makes of a fact', () => {
  it.each([
    ['Perhaps I will learn sailing.', 'Learns sailing'],
    ['If my sister sells the barn, I will rent a studio.', 'Rents a studio'],
    ['We are planning to open a bakery.', 'Opens a bakery'],
    ['Vielleicht kaufe ich ein Boot.', 'Kauft ein Boot'],
    ['Peut-être que je vendrai la cabane.', 'Vend la cabane'],
    ['Quizá compre una bicicleta.', 'Compra una bicicleta'],
  ])('is refused where it lost a doubt: %s', (fact, line) => {
    expect(guardOf(fact, line)).toBe('telling');
  });

  it.each([
    ['I do not own a television.', 'Owns a television'],
    ['Ich esse keine Pilze.', 'Isst Pilze'],
    ['Je ne fume jamais de cigares.', 'Fume des cigares'],
    ['No bebo café por la noche.', 'Bebe café por la noche'],
    ['I own a kayak.', 'Does not own a kayak'],
  ])('is refused where it denies the contrary: %s', (fact, line) => {
    expect(guardOf(fact, line)).toBe('telling');
  });

  it.each([
    ['We went sailing last summer.', 'Went sailing last summer'],
    ['I sold the van yesterday.', 'Sold the van yesterday'],
    ['Ich habe gestern das Boot verkauft.', 'Hat gestern das Boot verkauft'],
    ['昨日ボートを売った。', '昨日ボートを売った'],
  ])('is refused where a word of time will mean another day: %s', (fact, line) => {
    expect(guardOf(fact, line)).toBe('telling');
  });

  it.each([
    ['The rent is 910 €.', 'Rent is 910 €'],
    ['Der Kurs beginnt am 11. Mai.', 'Kurs beginnt am 11. Mai'],
  ])('is refused where memory has another value of the same: %s', (fact, line) => {
    expect(guardOf(fact, line)).toBe('telling');
  });

  it.each([
    ['My cousin Jorge has epilepsy.', 'Has epilepsy', 'user/profile.md'],
    ['My neighbour is diabetic.', 'Is diabetic', 'user/profile.md'],
    ['Olga: my shoulder aches.', 'Shoulder aches', 'user/people/remo.md'],
  ])('is refused where it is put to somebody else: %s', (fact, line, path) => {
    expect(guardOf(fact, line, path)).toBe('telling');
  });

  it.each([
    ['Perhaps I will learn sailing.', 'May learn sailing', 'user/profile.md'],
    ['I sold the van yesterday.', 'Sold the van on 2026-11-21', 'user/profile.md'],
    ['We went sailing last summer.', 'Went sailing in summer 2026', 'user/profile.md'],
    ['I play chess every Friday.', 'Plays chess every Friday', 'user/profile.md'],
    ['I do not own a television.', 'Owns no television', 'user/profile.md'],
    ['I no longer work at the mill, I teach pottery now.', 'Teaches pottery', 'user/profile.md'],
    ['Ich esse keine Pilze.', 'Isst keine Pilze', 'user/profile.md'],
    ['My cousin Jorge has epilepsy.', 'Cousin Jorge has epilepsy', 'user/profile.md'],
    ['Olga: my shoulder aches.', 'Shoulder aches', 'user/people/olga.md'],
    ['My boss gave me the Lisbon project.', 'Works on the Lisbon project', 'user/profile.md'],
    ['The rent of the studio is 910 €.', 'Rent of the studio is 910 €', 'user/profile.md'],
    ['I ran 14 km yesterday.', 'Ran 14 km on 2026-11-21', 'user/profile.md'],
    ['The studio is at No. 4.', 'Studio is at No. 4', 'user/profile.md'],
    ['I want brief answers.', 'Prefers brief answers', 'user/profile.md'],
    ['Our Nimbus tickets are on the wiki.', 'Nimbus tickets are on the wiki', 'user/profile.md'],
  ])('passes where it says the fact as it was told: %s', (fact, line, path) => {
    expect(guardOf(fact, line, path)).toBeNull();
  });
});
