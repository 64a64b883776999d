import type { ToolDefinition } from '../contracts/tool.ts';
import { ReadArguments, ReadResult } from '../schemas/memory-tools/files.ts';

export const memoryRead: ToolDefinition<ReadArguments, ReadResult> = {
  name: 'memory_read',
  title: 'Read a memory file',
  description: 'Reads a memory file, whole or a range of its lines.',
  inputSchema: ReadArguments,
  outputSchema: ReadResult,
  readOnly: true,
  requiresModel: false,
  errorCodes: ['INVALID_PATH', 'SPACE_NOT_ALLOWED', 'FILE_NOT_FOUND', 'REVISION_NOT_FOUND'],
  example: {
    arguments: { path: 'user/profile.md' },
    result: {
      path: 'user/profile.md',
      content: '# Profile\n\n- Prefers tea.\n',
      version: 7,
      updatedAt: '2026-01-31T09:30:00.000Z',
      totalLines: 3,
    },
  },
  run: (services, args, call) =>
    (args.asOf === undefined ? services.files : services.history).read(args, call),
};
