import Type, { type Static } from 'typebox';
import type { ToolDefinition } from '../contracts/tool.ts';
import { strict, timeSchema, versionSchema } from './schemas.ts';

const inputSchema = Type.Object(
  {
    path: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: 'Only paths that start with this, as in user/projects/. Default: everything.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 500, description: 'Files in one answer. Default: 50.' }),
    ),
    cursor: Type.Optional(
      Type.String({
        maxLength: 4096,
        description: 'nextCursor of the answer before. Empty: the first page.',
      }),
    ),
  },
  strict,
);

const outputSchema = Type.Object({
  files: Type.Array(
    Type.Object({
      path: Type.String(),
      size: Type.Integer({ description: 'Bytes.' }),
      version: versionSchema,
      updatedAt: timeSchema,
    }),
  ),
  nextCursor: Type.Union([Type.String(), Type.Null()], {
    description: 'For the next page; null at the end.',
  }),
});

export const memoryList: ToolDefinition<Static<typeof inputSchema>, Static<typeof outputSchema>> = {
  name: 'memory_list',
  title: 'List memory files',
  description:
    'Lists the memory files of this user (user/…) and the shared ones (shared/…) by path, without their content.',
  inputSchema,
  outputSchema,
  readOnly: true,
  requiresModel: false,
  errorCodes: ['INVALID_PATH', 'INVALID_CURSOR'],
  example: {
    arguments: { path: 'user/' },
    result: {
      files: [
        {
          path: 'user/profile.md',
          size: 412,
          version: 7,
          updatedAt: '2026-01-31T09:30:00.000Z',
        },
      ],
      nextCursor: null,
    },
  },
  run(services, args, call) {
    // A strict mode can leave nothing out: there an empty text means the same.
    const given = Object.entries(args).filter(([, value]) => value !== '');
    return services.files.list(Object.fromEntries(given), call);
  },
};
