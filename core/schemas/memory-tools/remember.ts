import Type, { type Static } from 'typebox';
import { flag, requestTime, strictObject } from '../shapes.ts';
import { maskedSchema } from './files.ts';
import { reasonSchema, versionSchema, revisionIdSchema } from './parts.ts';

/** A fact, when and by whom it was said, and after what. */
export const RememberArguments = strictObject({
  text: Type.String({ minLength: 1, maxLength: 16_384, description: 'The fact to remember.' }),
  at: Type.Optional(
    requestTime('When it was said, RFC 3339; default now. Words like yesterday go by it.'),
  ),
  speaker: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Who said it, where it was not the user: "I" is the speaker.',
    }),
  ),
  context: Type.Optional(
    Type.String({
      maxLength: 16_384,
      description:
        'What was said before, as the question that the fact answers. Tells what its words refer to; nothing is remembered that only this says.',
    }),
  ),
  reason: Type.Optional(reasonSchema),
  maxWrites: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 20, description: 'Files it may change. Default: 5.' }),
  ),
  dryRun: flag('Answer the diffs and write nothing.'),
  wait: flag(
    'false: keep the fact in the inbox and answer at once; it is filed in the background. Default: true.',
  ),
  forget: flag('The text asks to forget something: lines are only taken away. Default: false.'),
});
export type RememberArguments = Static<typeof RememberArguments>;

/** What became of a fact. */
export const RememberResult = Type.Object({
  summary: Type.String(),
  writes: Type.Array(
    Type.Object({
      path: Type.String(),
      version: versionSchema,
      revisionId: Type.Union([revisionIdSchema, Type.Null()], {
        description: 'Id of the revision; null in a dry run.',
      }),
      diff: Type.String({ description: 'Unified diff.' }),
    }),
  ),
  refused: Type.Array(
    Type.Object({
      why: Type.String(),
      lines: Type.Array(Type.String(), {
        description: 'The lines that were not written; empty in a replayed answer.',
      }),
    }),
    { description: 'What was proposed and not stored.' },
  ),
  unchanged: Type.Boolean({ description: 'Memory says so already: known has the line.' }),
  known: Type.Optional(
    Type.Array(
      Type.Object({
        path: Type.String(),
        line: Type.Integer({ minimum: 1 }),
        text: Type.String({
          description: 'The line; empty in a replayed answer when the file has changed since.',
        }),
      }),
      { description: 'With unchanged: the lines that say it.' },
    ),
  ),
  filed: Type.Optional(
    Type.Enum(['all', 'part', 'inbox'], {
      description:
        'all: the fact is where it belongs. part: some of it, and the whole fact is in the inbox too. inbox: only there. Absent where nothing was kept.',
    }),
  ),
  degraded: Type.Optional(
    Type.Enum(['MODEL_TIMEOUT', 'MODEL_FAILED'], {
      description: 'Why the fact went to the inbox, where the model failed.',
    }),
  ),
  masked: maskedSchema,
  history: Type.Optional(
    Type.Enum(['kept'], {
      description: 'After forgetting: older revisions still have the lines.',
    }),
  ),
});
export type RememberResult = Static<typeof RememberResult>;
