import type { PromptUse } from '../../contracts/plugin.ts';
import type { EditedMemory } from '../../edits/edited-memory.ts';
import { applyEdits, examine } from '../../edits/engine.ts';
import { nameLines } from '../../edits/numbered.ts';
import { editsSchema, parseEdits, REMEMBER_KINDS } from '../../edits/operations.ts';
import type { PromptText } from '../../edits/prompt-text.ts';
import { repair } from '../../edits/repair.ts';
import { inSlices } from '../../time/pause.ts';
import { resolveInSteps } from '../../values/times.ts';
import { systemPrompt, toPrompt } from '../remember/prompt.ts';
import { toExamineOptions } from '../remember/session.ts';
import type { ExamQuestion } from './ask.ts';
import {
  CITIES,
  DRINKS,
  drawNumber,
  drawOne,
  drawSome,
  FOODS,
  JOBS,
  MONTHS,
  NAMES,
  PETS,
} from './draw.ts';

/** A fact to be filed, and how the memory has to look after that. */
export interface FilingCase {
  kind: string;
  fact: string;
  memory: EditedMemory;
  /** Lines that have to be there still. */
  kept: readonly string[];
  isRight(after: ReadonlyMap<string, string>): boolean;
}

const PROFILE = 'user/profile.md';
const PEOPLE = 'user/people.md';
const MAX_FILE_BYTES = 262_144;

/** Draws a case of each kind. */
export function drawFilingCases(): FilingCase[] {
  const [city, other] = drawSome(CITIES, 2) as [string, string];
  const [one, two] = drawSome(NAMES, 2) as [string, string];
  const drink = drawOne(DRINKS);
  const lines = {
    work: `- Works as ${drawOne(JOBS)}.`,
    drink: `- Prefers ${drink}.`,
    city: `- Lives in ${city}.`,
    one: `- Does not eat ${drawOne(FOODS)}.`,
    two: `- Was born in ${drawNumber(1950, 2005)}.`,
  };
  const profile = ['# Profile', '', ...drawSome([lines.work, lines.drink, lines.city], 3)];
  const people = ['# People', '', `## ${one}`, '', lines.one, '', `## ${two}`, '', lines.two];
  const files = [
    { path: PROFILE, version: 1, content: `${profile.join('\n')}\n` },
    { path: PEOPLE, version: 1, content: `${people.join('\n')}\n` },
  ];
  const toCase = (
    kind: string,
    fact: string,
    isRight: (all: string, after: ReadonlyMap<string, string>) => boolean,
    gone: readonly string[] = [],
  ): FilingCase => ({
    kind,
    fact,
    memory: { files: nameLines(files), paths: new Set([PROFILE, PEOPLE]), fact },
    kept: Object.values(lines).filter((line) => !gone.includes(line)),
    isRight: (after) => isRight([...after.values()].join('\n'), after),
  });
  const pet = drawOne(NAMES.filter((name) => name !== one && name !== two));
  const code = `${drawNumber(10, 99)}-${drawNumber(100, 999)}/${drawOne(['K', 'R', 'T', 'W'])}${drawNumber(2, 9)}`;
  const day = `${drawNumber(2, 27)} ${drawOne(MONTHS)}`;
  return [
    toCase('file a fact', `I have a ${drawOne(PETS)} called ${pet}.`, (all) => all.includes(pet)),
    toCase(
      'update a line',
      `I moved from ${city} to ${other}.`,
      (all) => all.includes(other) && !all.includes(lines.city),
      [lines.city],
    ),
    toCase('forget a line', `Forget which drink I prefer.`, (all) => !all.includes(drink), [
      lines.drink,
    ]),
    toCase('copy a value exactly', `My member number at the library is ${code}.`, (all) =>
      all.includes(code),
    ),
    toCase('file a fact about somebody else', `${one} has her name day on ${day}.`, (_all, after) =>
      isAbout(after, { name: one, other: two, value: day }),
    ),
  ];
}

/** Whether a value stands under the heading of a person, or in a line or a file with the name. */
function isAbout(
  after: ReadonlyMap<string, string>,
  { name, other, value }: { name: string; other: string; value: string },
): boolean {
  for (const [path, content] of after) {
    let heading = path;
    for (const line of content.split('\n')) {
      if (line.startsWith('#')) heading = line;
      if (!line.includes(value)) continue;
      const isNamed = line.includes(name) || heading.toLowerCase().includes(name.toLowerCase());
      return isNamed && !line.includes(other) && !heading.includes(other);
    }
  }
  return false;
}

/** The question of a case, as `memory_remember` asks it. */
export async function toFilingQuestion(
  { fact, memory }: FilingCase,
  { use, mark, day }: { use: PromptUse; mark: PromptText; day: string },
): Promise<ExamQuestion> {
  const times = await inSlices(resolveInSteps(fact, day));
  const question = {
    fact,
    purpose: 'fact' as const,
    speaker: null,
    context: null,
    day,
    timeZone: 'UTC',
    times,
    maxWrites: 5,
    mark,
  };
  return {
    system: systemPrompt(use),
    prompt: toPrompt(memory, question, use),
    schema: editsSchema(REMEMBER_KINDS, { hasForget: true, isShort: use.form === 'short' }),
  };
}

/** Whether a reply files the fact, and leaves all else as it is. */
export async function checkFiling(
  { fact, memory, kept, isRight }: FilingCase,
  reply: string,
  day: string,
): Promise<boolean> {
  const parsed = parseEdits(reply, REMEMBER_KINDS, memory);
  if (parsed === null || parsed.malformed.length > 0) return false;
  const times = await inSlices(resolveInSteps(fact, day));
  const options = toExamineOptions({ times, day }, MAX_FILE_BYTES);
  const examined = await examine(memory, await repair(memory, parsed.operations), options);
  if (examined.length === 0 || examined.some(({ fault }) => fault !== null)) return false;
  const { files } = await applyEdits(memory, examined, options);
  const after = new Map(memory.files.map(({ path, content }) => [path, content]));
  for (const { path, after: content } of files) after.set(path, content);
  const all = [...after.values()].join('\n').split('\n');
  return kept.every((line) => all.includes(line)) && isRight(after);
}
