import Type, { type Static } from 'typebox';
import { jobOf } from './jobs.ts';
import { count, nullable, strictObject, text, timeSchema } from './shapes.ts';

/** What an exam asks of a model: to file facts, or to judge edits. */
export const EXAM_PARTS = ['files', 'judges'] as const;
export type ExamPartName = (typeof EXAM_PARTS)[number];

/** The result of a part of an exam. */
export const ExamPart = strictObject({
  part: Type.Enum([...EXAM_PARTS], {
    description: 'files: it files facts; judges: it judges edits.',
  }),
  provider: Type.String(),
  address: nullable(Type.String()),
  model: Type.String(),
  promptsVersion: text('Of the prompts that it was asked with. Other ones need another exam.'),
  form: Type.Enum(['full', 'short'], { description: 'The prompts that suit it better.' }),
  passed: Type.Boolean(),
  score: count('Cases that it solved.'),
  of: count('Cases of the part.'),
  failed: Type.Array(Type.String(), { description: 'The kinds of cases that it did not solve.' }),
  seconds: Type.Number({ minimum: 0 }),
  inputTokens: count(),
  outputTokens: count(),
  at: timeSchema,
});
export type ExamPart = Static<typeof ExamPart>;

/** What exams say of the models that are configured now. */
export const ModelExam = strictObject({
  parts: Type.Array(ExamPart, { description: 'Empty: the models have not been examined.' }),
  expect: Type.Array(Type.String(), { description: 'What to expect of the models, in words.' }),
});
export type ModelExam = Static<typeof ModelExam>;

/** The last exam that the process which answers began. */
export const ExamJob = jobOf(ModelExam);

/** What exams say, and how far the one is that runs. */
export const ExamAnswer = strictObject({ exam: ModelExam, job: nullable(ExamJob) });
export type ExamAnswer = Static<typeof ExamAnswer>;
