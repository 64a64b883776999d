import Type, { type Static } from 'typebox';
import {
  count,
  filterText,
  flag,
  nullable,
  pageQuery,
  spaceIdSchema,
  strictObject,
  text,
  timeSchema,
} from './shapes.ts';

const name = Type.String({ minLength: 1, maxLength: 255, description: 'For people.' });
const description = Type.String({ maxLength: 2000 });
const metadata = Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), {
  maxProperties: 16,
  description: 'Of your own: at most 16 texts of at most 512 characters.',
});
const quota = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: 'The most files; null: SERVICE_MAX_FILES_PER_USER.',
});
const dream = Type.Boolean({ description: 'Whether dreaming may work on it; default false.' });
const exclusivePaths = Type.Boolean({
  description: 'A file may not stand where a folder does, nor the other way round; default false.',
});

/** A space, with the figures of its memory. */
export const AdminSpace = strictObject({
  spaceId: spaceIdSchema,
  name: nullable(name),
  description: nullable(description),
  metadata,
  quota: nullable(quota),
  dream,
  exclusivePaths,
  createdAt: timeSchema,
  updatedAt: text('When its settings were last changed: RFC 3339, UTC.'),
  archivedAt: nullable(timeSchema, { description: 'Since when it is read-only.' }),
  version: Type.Integer({ minimum: 1, description: 'Of these settings; If-Match takes it.' }),
  files: count(),
  bytes: count(),
  revisions: count('Revisions kept.'),
  reads: count('Reads of its files.'),
  lastReadAt: nullable(timeSchema),
  lastShownAt: nullable(timeSchema, {
    description:
      'When an agent was last shown a file, also as the result of a search. Dreams and the Playground are no agents.',
  }),
  lastWriteAt: nullable(timeSchema),
  historyHash: nullable(
    text('The newest hash of the history: of its newest revision, or of a prune after it.'),
  ),
});
export type AdminSpace = Static<typeof AdminSpace>;

/** What operators may say of a space. What is left out stays as it is; `null` takes it away. */
export const SpaceSettings = strictObject({
  name: Type.Optional(nullable(name)),
  description: Type.Optional(nullable(description)),
  metadata: Type.Optional(metadata),
  quota: Type.Optional(nullable(quota)),
  dream: Type.Optional(dream),
  exclusivePaths: Type.Optional(exclusivePaths),
});
export type SpaceSettings = Static<typeof SpaceSettings>;

/** What the creation of a space takes. */
export const SpaceRequest = strictObject({ id: spaceIdSchema, ...SpaceSettings.properties });
export type SpaceRequest = Static<typeof SpaceRequest>;

/** Whether a space is to be archived. */
export const ArchiveRequest = strictObject({
  archived: flag('false makes it writable again; default true.'),
});
export type ArchiveRequest = Static<typeof ArchiveRequest>;

/** What the list of spaces takes. */
export const SpaceListQuery = strictObject({
  q: filterText('Text that the space id contains, without regard to ASCII case.'),
  ...pageQuery,
});
export type SpaceListQuery = Static<typeof SpaceListQuery>;
