import type { ToolDefinition } from '../contracts/tool.ts';
import { ListArguments, ListResult } from '../schemas/memory-tools/files.ts';

export const memoryList: ToolDefinition<ListArguments, ListResult> = {
  name: 'memory_list',
  title: 'List memory files',
  description:
    'Lists the memory files of this user (user/…), of spaces (spaces/…) and the shared ones (shared/…) by path, without their content.',
  inputSchema: ListArguments,
  outputSchema: ListResult,
  readOnly: true,
  requiresModel: false,
  errorCodes: ['INVALID_PATH', 'SPACE_NOT_ALLOWED', 'INVALID_CURSOR'],
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
