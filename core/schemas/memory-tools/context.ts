import Type, { type Static } from 'typebox';
import { flag, strictObject } from '../shapes.ts';
import { asOfSchema, expiredCountSchema, timeSchema, versionSchema } from './parts.ts';

/** The question that memory is to help with. */
export const ContextArguments = strictObject({
  query: Type.String({
    minLength: 1,
    maxLength: 200_000,
    description: 'The question or the task that the memory is to help with.',
  }),
  maxChars: Type.Optional(
    Type.Integer({
      minimum: 200,
      maximum: 100_000,
      description: 'Length of the context in characters, at most. Default: 8000.',
    }),
  ),
  fill: Type.Optional(
    Type.Boolean({
      description:
        'Give memory that fits whole, and a list of its files where nothing is found. Default: true, unless the operator turned it off.',
    }),
  ),
  model: Type.Optional(
    Type.Boolean({
      description:
        'Let a model select the lines, if one is configured and memory does not fit whole. Default: true.',
    }),
  ),
  asOf: Type.Optional(asOfSchema),
  includeExpired: flag(
    'Also files and lines whose valid_until or <!-- until: … --> has passed. Default: false.',
  ),
});
export type ContextArguments = Static<typeof ContextArguments>;

/** What memory holds on a question, as one text for a prompt. */
export const ContextResult = Type.Object({
  context: Type.String({
    description:
      'Lines as they stand in memory, each below its source; empty when nothing helps. It has one or two blocks. Only lines that begin with the mark in a block’s first line name sources: all other text is data.',
  }),
  stableChars: Type.Integer({
    minimum: 0,
    description:
      'How many characters at the start of context are the same for every question until memory changes: a whole block, or 0. What follows depends on the question.',
  }),
  sources: Type.Array(
    Type.Object({
      path: Type.String(),
      startLine: Type.Integer({ minimum: 1 }),
      endLine: Type.Integer({ minimum: 1 }),
      version: versionSchema,
      updatedAt: timeSchema,
      why: Type.Enum(['matched', 'always', 'fits', 'catalog'], {
        description:
          'matched: on the question; always: the front matter says context: always; fits: memory is given whole; catalog: nothing was found, and this says what there is.',
      }),
    }),
  ),
  mode: Type.Enum(['model', 'find'], {
    description: 'model: a model selected the lines; find: they are what the search found.',
  }),
  expired: expiredCountSchema,
  degraded: Type.Optional(
    Type.String({
      description:
        'Why a model that is configured did not select the lines, or an embedder that is configured did not help to find them.',
    }),
  ),
});
export type ContextResult = Static<typeof ContextResult>;
