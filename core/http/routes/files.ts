import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { MemoryError } from '../../errors.ts';
import { afterReadingSchema } from './revisions.ts';
import { reasonSchema } from '../../tools/schemas.ts';
import { toCaller } from '../caller.ts';
import { ifVersionOf, matchesTag, toVersionTag, withPrecondition } from '../precondition.ts';
import {
  countSchema,
  filterText,
  listOf,
  nullable,
  pageQuery,
  physicalPathSchema,
  strict,
  timeSchema,
  userIdSchema,
} from './shapes.ts';

const fileFields = {
  path: physicalPathSchema,
  virtualPath: Type.String({ description: 'The path as tools see it.' }),
  userId: nullable(userIdSchema),
  size: Type.Integer({ minimum: 0, description: 'Bytes of UTF-8.' }),
  lines: countSchema,
  version: Type.Integer({ minimum: 1 }),
  reads: countSchema,
  writes: countSchema,
  revisions: Type.Integer({ minimum: 0, description: 'Revisions kept.' }),
  latestActor: Type.String(),
  latestRevisionId: Type.String(),
  createdAt: timeSchema,
  updatedAt: timeSchema,
  lastReadAt: nullable(timeSchema),
};

const fileSchema = Type.Object(fileFields, strict);

const folderSchema = Type.Object(
  {
    path: Type.String({ description: 'Physical, ends in /.' }),
    folder: Type.Literal(true),
    files: countSchema,
    size: countSchema,
    updatedAt: timeSchema,
  },
  strict,
);

const ofVersion = 'Of the version that is shown; null when its revision is pruned.';

const blameSchema = Type.Object(
  {
    startLine: Type.Integer({ minimum: 1 }),
    endLine: Type.Integer({ minimum: 1, description: 'Included.' }),
    revisionId: nullable(Type.String({ description: 'null where its revision is pruned.' })),
    version: nullable(Type.Integer({ minimum: 1 })),
    actor: nullable(Type.String()),
    reason: nullable(Type.String()),
    tool: nullable(Type.String()),
    toolCallId: nullable(Type.String()),
    at: nullable(timeSchema),
    before: Type.Union([timeSchema, Type.Null()], {
      description: 'Where no revision is known: the lines are older than this.',
    }),
    afterReading: Type.Union([afterReadingSchema, Type.Null()], {
      description: 'null where it was not looked up: only for the newest 50 revisions.',
    }),
  },
  strict,
);

const contentSchema = Type.Object(
  {
    file: Type.Object(
      {
        ...fileFields,
        latestActor: Type.Union([Type.String(), Type.Null()], { description: ofVersion }),
        latestRevisionId: Type.Union([Type.String(), Type.Null()], { description: ofVersion }),
        updatedAt: Type.Union([timeSchema, Type.Null()], { description: ofVersion }),
        content: Type.String(),
      },
      strict,
    ),
    blame: Type.Optional(
      Type.Array(blameSchema, { description: 'With blame=true: every line, from the first on.' }),
    ),
  },
  strict,
);

const listQuery = Type.Object(
  {
    prefix: filterText('Text that the physical path starts with.'),
    userId: filterText('Files of this user.'),
    q: filterText('Text that the physical path contains, without regard to ASCII case.'),
    depth: Type.Optional(
      Type.Literal(1, { description: 'Roll up the folders below prefix, which then ends in /.' }),
    ),
    sort: Type.Optional(
      Type.Enum(['path', 'updatedAt', 'size', 'reads', 'writes'], {
        description: 'Default path, ascending; the others descending.',
      }),
    ),
    ...pageQuery,
  },
  strict,
);

const getQuery = Type.Object(
  {
    version: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The content at this version.' }),
    ),
    at: Type.Optional(
      Type.String({ format: 'date-time', description: 'The content as of this time.' }),
    ),
    blame: Type.Optional(
      Type.Boolean({ description: 'Also say of each line which revision wrote it.' }),
    ),
  },
  strict,
);

const putBody = Type.Object(
  {
    content: Type.String({ description: 'The whole new content.' }),
    reason: Type.Optional(reasonSchema),
  },
  strict,
);

const writtenFields = {
  version: Type.Integer({ minimum: 1, description: 'The version that this write made.' }),
  revisionId: Type.String(),
};

const putResult = Type.Object(
  {
    file: Type.Union([fileSchema, Type.Null()], {
      description: 'As it is right after the write; null when it was deleted in between.',
    }),
    ...writtenFields,
    unchanged: Type.Boolean({ description: 'It had that content already: no revision was made.' }),
  },
  strict,
);

const deleteResult = Type.Object({ path: physicalPathSchema, ...writtenFields }, strict);

type FilesCore = Pick<Core, 'files' | 'fileLists'>;

/** Memory files, by physical path. */
export function filesRoutes(core: FilesCore): RouteDefinition[] {
  const list: RouteDefinition<Static<typeof listQuery>> = {
    method: 'GET',
    path: '/v1/admin/files',
    auth: 'admin',
    tag: 'Files',
    summary: 'List memory files',
    description: 'Memory files of all users and the shared ones, or a folder level with depth=1.',
    querySchema: listQuery,
    resultSchema: listOf(Type.Union([fileSchema, folderSchema])),
    errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'INVALID_CURSOR'],
    handle: ({ query }) => core.fileLists.files(query),
  };

  const get: RouteDefinition<Static<typeof getQuery>> = {
    method: 'GET',
    path: '/v1/admin/files/*path',
    auth: 'admin',
    tag: 'Files',
    summary: 'Read a memory file',
    description:
      'The file with its content, now or earlier; with blame=true, who wrote each line. The ETag is its version; If-None-Match answers 304. It leaves no access row.',
    querySchema: getQuery,
    resultSchema: contentSchema,
    errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'FILE_NOT_FOUND', 'REVISION_NOT_FOUND'],
    async handle(request) {
      const answer = await core.fileLists.file(request.params['path'], request.query);
      const tag = toVersionTag(answer.file.version);
      request.setHeader('ETag', tag);
      return matchesTag(request, tag) ? null : answer;
    },
  };

  const put: RouteDefinition<unknown, Static<typeof putBody>> = {
    method: 'PUT',
    path: '/v1/admin/files/*path',
    auth: 'admin',
    tag: 'Files',
    summary: 'Write a memory file',
    description:
      'Replaces or creates the file as a revision with the actor admin. With If-Match: "<version>" or If-None-Match: * only if it is still so; without either the last write wins.',
    bodySchema: putBody,
    resultSchema: putResult,
    errorCodes: [
      'INVALID_PATH',
      'INVALID_USER_ID',
      'INVALID_CONTENT',
      'VERSION_CONFLICT',
      'PAYLOAD_TOO_LARGE',
      'QUOTA_EXCEEDED',
    ],
    async handle(request) {
      const path = request.params['path'];
      const ifVersion = ifVersionOf(request);
      const { version, revisionId, unchanged } = await withPrecondition(ifVersion, () =>
        core.files.put(path, { ...request.body, ifVersion }, toCaller(request)),
      );
      request.setHeader('ETag', toVersionTag(version));
      return { file: await presentFile(core, path), version, revisionId, unchanged };
    },
  };

  const remove: RouteDefinition = {
    method: 'DELETE',
    path: '/v1/admin/files/*path',
    auth: 'admin',
    tag: 'Files',
    summary: 'Delete a memory file',
    description: 'A deletion is a revision too, and can be reverted. Takes If-Match.',
    resultSchema: deleteResult,
    errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'FILE_NOT_FOUND', 'VERSION_CONFLICT'],
    async handle(request) {
      const path = request.params['path'];
      const ifVersion = ifVersionOf(request);
      const { version, revisionId } = await withPrecondition(ifVersion, () =>
        core.files.delete(path, { ifVersion }, toCaller(request)),
      );
      return { path, version, revisionId };
    },
  };

  return [list, get, put, remove] as RouteDefinition[];
}

async function presentFile({ fileLists }: FilesCore, path: string | undefined) {
  try {
    const { content: _content, ...file } = (await fileLists.file(path, {})).file;
    return file;
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'FILE_NOT_FOUND') return null;
    throw error;
  }
}
