import { type ExaminedOperation, examine, passes } from '../../edits/engine.ts';
import type { EditKind, EditOperation, LineRef } from '../../edits/operations.ts';
import type { PromptText } from '../../edits/prompt-text.ts';
import type { PromptUse } from '../../contracts/plugin.ts';
import {
  parseVerdicts,
  toVerifierPrompt,
  verifierPrompt,
  VERDICTS_SCHEMA,
} from '../../edits/verify.ts';
import type { ExamQuestion } from './ask.ts';
import {
  CITIES,
  drawNumber,
  drawOne,
  drawSome,
  FOODS,
  JOBS,
  MONTHS,
  NAMES,
  SPORTS,
} from './draw.ts';

/** An edit to be judged. */
export interface JudgingCase {
  kind: string;
  isGood: boolean;
  examined: ExaminedOperation;
}

/** An edit of one file of two people. */
interface DrawnEdit {
  kind: string;
  isGood: boolean;
  edit: EditKind;
  /** Lines under the heading of the first person. */
  lines: readonly string[];
  /** Numbers of these lines, from 0. */
  remove: readonly number[];
  sources?: readonly number[];
  add: readonly string[] | null;
  /** Under the heading of the second person. */
  isOfOther?: true;
}

const PATH = 'user/people.md';
/** The line of the file that is the first below the heading of the first person. */
const FIRST_LINE = 5;
const LIMITS = { maxFileBytes: 262_144, mayCreate: false };

/** Draws the cases: a dozen kinds together with those of filing, in a drawn order. */
export async function drawJudgingCases(): Promise<JudgingCase[]> {
  const edits = drawEdits();
  const drawn = drawSome(edits, edits.length);
  return await Promise.all(drawn.map((one, at) => toCase(one, at + 1)));
}

function drawEdits(): DrawnEdit[] {
  const food = drawSome(FOODS, 4) as [string, string, string, string];
  const city = drawSome(CITIES, 3) as [string, string, string];
  const sport = drawSome(SPORTS, 2) as [string, string];
  const month = drawOne(MONTHS);
  const [tens, ones] = drawSome([2, 3, 4, 5, 6, 7, 8, 9], 2) as [number, number];
  const rent = drawNumber(1, 3) * 1000 + tens * 100 + ones * 10;
  const swapped = rent - tens * 100 - ones * 10 + ones * 100 + tens * 10;
  const job = drawOne(JOBS);
  const reword = (kind: string, isGood: boolean, before: string, after: string): DrawnEdit => ({
    kind,
    isGood,
    edit: 'reword',
    lines: [before],
    remove: [0],
    add: [after],
  });
  const filler = drawOne(['It is worth noting that she', 'As far as one can tell, she']);
  return [
    reword('pass a good rewording', true, `- ${filler} works as ${job}.`, `- She works as ${job}.`),
    {
      kind: 'pass a good merge',
      isGood: true,
      edit: 'merge',
      lines: [`- Plays ${sport[0]}.`, `- Plays ${sport[0]} on Sundays in ${city[2]}.`],
      remove: [0],
      sources: [1],
      add: null,
    },
    {
      kind: 'pass a good replacement',
      isGood: true,
      edit: 'supersede',
      lines: [`- Lives in ${city[0]}.`, `- Moved from ${city[0]} to ${city[1]} in ${month}.`],
      remove: [0],
      sources: [1],
      add: null,
    },
    reword('notice a lost negation', false, `- Does not eat ${food[0]}.`, `- Eats ${food[0]}.`),
    {
      kind: 'notice a swapped subject',
      isGood: false,
      edit: 'move',
      lines: [`- Can't stand ${food[1]}.`],
      remove: [0],
      add: [`- Can't stand ${food[1]}.`],
      isOfOther: true,
    },
    reword(
      'notice a wrong number',
      false,
      `- Pays ${rent} euros a month for the flat.`,
      `- Pays ${swapped} euros a month for the flat.`,
    ),
    reword(
      'notice a lost condition',
      false,
      `- Would move to ${city[2]} only if the school there is good.`,
      `- Would move to ${city[2]}.`,
    ),
    {
      kind: 'notice a lost part',
      isGood: false,
      edit: 'supersede',
      lines: [
        `- Is allergic to ${food[2]} and ${food[3]}.`,
        `- Is no longer allergic to ${food[3]}.`,
      ],
      remove: [0],
      sources: [1],
      add: null,
    },
  ];
}

async function toCase(drawn: DrawnEdit, number: number): Promise<JudgingCase> {
  const { kind, isGood, edit, lines, remove, sources = [], add, isOfOther = false } = drawn;
  const [one, two] = drawSome(NAMES, 2) as [string, string];
  const above = ['# People', '', `## ${one}`, ''];
  const content = [...above, ...lines, '', `## ${two}`, '', `- Plays the flute.`, ''].join('\n');
  const toRef = (at: number): LineRef => ({
    path: PATH,
    line: FIRST_LINE + at,
    text: lines[at] ?? null,
  });
  const operation: EditOperation = {
    number,
    kind: edit,
    reason: '',
    remove: remove.map(toRef),
    add: add === null ? null : { path: PATH, heading: isOfOther ? two : null, lines: add },
    sources: sources.map(toRef),
  };
  const memory = { files: [{ path: PATH, version: 1, content }], paths: new Set([PATH]) };
  const [examined] = await examine(memory, [operation], { limits: LIMITS });
  if (examined === undefined || examined.fault !== null) {
    throw new Error(`A case of the exam is no edit: ${kind}: ${examined?.fault?.why ?? ''}`);
  }
  return { kind, isGood, examined };
}

/** The question about some cases, as a dream asks it. */
export async function toJudgingQuestion(
  cases: readonly JudgingCase[],
  { use, mark }: { use: PromptUse; mark: PromptText },
): Promise<ExamQuestion> {
  return {
    system: verifierPrompt(use),
    prompt: await toVerifierPrompt(
      cases.map(({ examined }) => examined),
      { mark },
    ),
    schema: VERDICTS_SCHEMA,
  };
}

/** Whether each case is judged right: a good edit passes, a harmful one does not. */
export function checkJudging(cases: readonly JudgingCase[], reply: string): boolean[] {
  const verdicts = parseVerdicts(
    reply,
    cases.map(({ examined }) => examined),
  );
  return cases.map(
    ({ isGood, examined }) =>
      verdicts !== null &&
      passes(examined, verdicts.get(examined.operation.number) ?? null) === isGood,
  );
}
