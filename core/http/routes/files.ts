import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import { readAfterWrite } from '../../errors.ts';
import { fileNotFound } from '../../files/paths.ts';
import { FOLDER_ACTOR } from '../../files/service-actors.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import {
  AdminDeleteAnswer,
  AdminFile,
  AdminFileAnswer,
  AdminFolder,
  AdminPutAnswer,
  EarlierFile,
  FileListQuery,
  FileQuery,
} from '../../schemas/files.ts';
import { listOf, strictObject } from '../../schemas/shapes.ts';
import type { Core } from '../../service.ts';
import { reasonSchema } from '../../schemas/memory-tools/parts.ts';
import { ifVersionOf, matchesTag, toVersionTag, withPrecondition } from '../precondition.ts';

const actor = Type.Optional(
  Type.Literal(FOLDER_ACTOR, {
    description: 'Set by a mounted folder: the actor of the revision. A freeze stops the write.',
  }),
);

const PutBody = strictObject({
  content: Type.String({ description: 'The whole new content.' }),
  reason: Type.Optional(reasonSchema),
  actor,
});

const DeleteQuery = strictObject({ actor });

/** Why a file is not changed, whatever the change is. */
const WRITE_ERRORS = [
  'INVALID_PATH',
  'INVALID_USER_ID',
  'VERSION_CONFLICT',
  'CONTENT_REFUSED',
  'WRITES_FROZEN',
  'READ_ONLY_SCOPE',
] as const;

/** Memory files, by physical path. */
export function filesRoutes(core: Pick<Core, 'files' | 'fileLists'>): RouteDefinition[] {
  return [
    adminRoute('Files', {
      tagDescription: 'The memory files of all users, by physical path.',
      method: 'GET',
      path: '/v1/admin/files',
      role: 'viewer',
      summary: 'List memory files',
      description:
        'Memory files of all users and the shared ones, a folder level with depth=1, or the files that a user had at a time with at.',
      querySchema: FileListQuery,
      resultSchema: listOf(Type.Union([AdminFile, AdminFolder, EarlierFile])),
      errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'INVALID_CURSOR'],
      handle: ({ query }) => core.fileLists.files(query),
    }),
    adminRoute('Files', {
      method: 'GET',
      path: '/v1/admin/files/*path',
      role: 'contents',
      summary: 'Read a memory file',
      description:
        'The file with its content, now or earlier; with blame=true, who wrote each line. The ETag is its version; If-None-Match answers 304. It leaves no access row.',
      querySchema: FileQuery,
      resultSchema: AdminFileAnswer,
      otherStatuses: { 304: 'The file is still at the version of If-None-Match.' },
      errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'FILE_NOT_FOUND', 'REVISION_NOT_FOUND'],
      shows: ({ file }) => [file.path],
      async handle(request) {
        const answer = await core.fileLists.file(request.params['path'], request.query);
        const tag = toVersionTag(answer.file.version);
        request.setHeader('ETag', tag);
        return matchesTag(request, tag) ? null : answer;
      },
    }),
    adminRoute('Files', {
      method: 'PUT',
      path: '/v1/admin/files/*path',
      role: 'operator',
      summary: 'Write a memory file',
      description:
        'Replaces or creates the file as a revision with the actor admin, or folder. With If-Match: "<version>" (or several, or *) or If-None-Match: * only if it is still so; without either the last write wins.',
      bodySchema: PutBody,
      resultSchema: AdminPutAnswer,
      errorCodes: [
        ...WRITE_ERRORS,
        'INVALID_CONTENT',
        'PAYLOAD_TOO_LARGE',
        'QUOTA_EXCEEDED',
        'PATH_CONFLICT',
      ],
      async handle(request) {
        const path = request.params['path'];
        const ifVersion = await ifVersionOf(
          request,
          async () => (await core.fileLists.present(path))?.version ?? 0,
        );
        const { version, revisionId, unchanged, masked } = await withPrecondition(ifVersion, () =>
          core.files.put(path, { ...request.body, ifVersion }, request.caller),
        );
        request.setHeader('ETag', toVersionTag(version));
        const file = await readAfterWrite(() => core.fileLists.present(path));
        return { file, version, revisionId, unchanged, ...(masked !== undefined && { masked }) };
      },
    }),
    adminRoute('Files', {
      method: 'DELETE',
      path: '/v1/admin/files/*path',
      role: 'operator',
      summary: 'Delete a memory file',
      description: 'A deletion is a revision too, and can be reverted. Takes If-Match.',
      querySchema: DeleteQuery,
      resultSchema: AdminDeleteAnswer,
      errorCodes: [...WRITE_ERRORS, 'FILE_NOT_FOUND'],
      async handle(request) {
        const path = request.params['path'] ?? '';
        const ifVersion = await ifVersionOf(request, async () => {
          const file = await core.fileLists.present(path);
          if (file === null) throw fileNotFound(path);
          return file.version;
        });
        const { version, revisionId } = await withPrecondition(ifVersion, () =>
          core.files.delete(path, { ifVersion, ...request.query }, request.caller),
        );
        return { path, version, revisionId };
      },
    }),
  ];
}
