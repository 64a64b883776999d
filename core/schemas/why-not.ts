import Type, { type Static } from 'typebox';
import { FindArguments } from './memory-tools/find.ts';
import { count, nullable, physicalPathSchema, strictObject, text } from './shapes.ts';
import { ToolContext } from './tools.ts';

/** A question, and the file that should have been found. */
export const WhyNotRequest = strictObject({
  context: ToolContext,
  arguments: FindArguments,
  path: physicalPathSchema,
});
export type WhyNotRequest = Static<typeof WhyNotRequest>;

/** Why a find answers a question with a file, or not. */
export const WhyNotAnswer = strictObject({
  path: physicalPathSchema,
  found: Type.Boolean({ description: 'The find answers with it.' }),
  reason: nullable(
    Type.Enum(['absent', 'other_memory', 'path', 'words', 'expired', 'time', 'limit', 'depth'], {
      description:
        'absent: there is no such file. other_memory: the call may not see that memory. path: it is outside of path. words: it has none of the words, and its meaning was not near. expired, time: it would be found with what has expired, or without since and until. limit: its rank is beyond the limit. depth: it is not among the first 500. null: it is found.',
    }),
  ),
  rank: nullable(Type.Integer({ minimum: 1, description: 'Its place among the first 500.' })),
  limit: count('Results that the find answers with.'),
  score: nullable(Type.Number()),
  leastScore: nullable(Type.Number({ description: 'Of the last result that is shown.' })),
  mode: nullable(Type.Enum(['text', 'hybrid'])),
  signals: nullable(
    Type.Record(Type.String(), Type.Number(), { description: 'What its score is made of.' }),
  ),
  words: Type.Array(
    strictObject({
      word: text('Of the question; common English words are not looked for.'),
      inFile: Type.Boolean({ description: 'The file has it or another form of it, or its path.' }),
    }),
    { description: 'At most 30.' },
  ),
  waitsForIndex: Type.Boolean({
    description:
      'The index does not have its present version yet: words are found in the file itself, its meaning is not.',
  }),
  expired: Type.Array(
    strictObject({
      startLine: Type.Integer({ minimum: 1 }),
      endLine: Type.Integer({ minimum: 1 }),
      validUntil: Type.String(),
    }),
    { description: 'Lines of it that have expired, where that is the reason.' },
  ),
});
export type WhyNotAnswer = Static<typeof WhyNotAnswer>;
