import Type, { type Static } from 'typebox';
import { flag, requestTime, strictObject } from '../shapes.ts';
import {
  asOfSchema,
  expiredCountSchema,
  prefixSchema,
  timeSchema,
  versionSchema,
} from './parts.ts';

/** What is looked for, and where: the user’s memory together with the shared one. */
export const FindArguments = strictObject({
  query: Type.String({
    minLength: 1,
    maxLength: 200_000,
    description: 'What you look for, in your own words; any text works.',
  }),
  path: Type.Optional(prefixSchema),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 50, description: 'Results. Default: 10.' }),
  ),
  group: Type.Optional(
    Type.Enum(['file', 'passage'], {
      type: 'string',
      description: 'file: each file once, with its best passage (default). passage: each passage.',
    }),
  ),
  mode: Type.Optional(
    Type.Enum(['auto', 'text', 'hybrid'], {
      type: 'string',
      description: 'auto: hybrid when an embedder is configured, else text (default).',
    }),
  ),
  since: Type.Optional(
    requestTime('Only passages with a line that was written at or after this time, RFC 3339.'),
  ),
  until: Type.Optional(
    requestTime('Only passages with a line that was written before this time, RFC 3339.'),
  ),
  sort: Type.Optional(
    Type.Enum(['relevance', 'newest'], {
      type: 'string',
      description: 'newest: of what matches best, the lines written last come first.',
    }),
  ),
  asOf: Type.Optional(asOfSchema),
  includeExpired: flag(
    'Also files and lines whose valid_until or <!-- until: … --> has passed. Default: false.',
  ),
  explain: flag('Add what each score is made of, and what was left out as expired.'),
});
export type FindArguments = Static<typeof FindArguments>;

const lineSchema = Type.Integer({ minimum: 1 });

/** A passage of a memory file, with lines from 1, both inclusive. */
const FoundPassage = Type.Object({
  path: Type.String(),
  score: Type.Number({ description: 'Comparable within one answer alone.' }),
  startLine: lineSchema,
  endLine: lineSchema,
  heading: Type.Union([Type.String(), Type.Null()], {
    description: 'The headings above the passage, joined by " > ".',
  }),
  snippet: Type.String({ description: 'The passage, with neighbours where there is room.' }),
  version: versionSchema,
  updatedAt: timeSchema,
  writtenAt: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When the newest line of the passage was written, where time was asked for.',
    }),
  ),
  signals: Type.Optional(
    Type.Record(Type.String(), Type.Number(), { description: 'With explain alone.' }),
  ),
});
export type FoundPassage = Static<typeof FoundPassage>;

/** The best passages, best first. */
export const FindResult = Type.Object({
  mode: Type.Enum(['text', 'hybrid'], { description: 'The search that was used.' }),
  degraded: Type.Optional(Type.String({ description: 'Why a hybrid search fell back to text.' })),
  results: Type.Array(FoundPassage),
  expired: expiredCountSchema,
  leftOut: Type.Optional(
    Type.Array(
      Type.Object({
        path: Type.String(),
        startLine: lineSchema,
        endLine: lineSchema,
        validUntil: Type.String({ description: 'As the file says it: a day, or a time.' }),
      }),
      {
        description:
          'With explain alone: the files and lines that expired counts, the first 50 of them.',
      },
    ),
  ),
  hint: Type.Optional(
    Type.String({
      description: 'Without a result: which files there are, with their first headings.',
    }),
  ),
});
export type FindResult = Static<typeof FindResult>;
