import type { ToolDefinition } from '../contracts/tool.ts';
import { FindArguments, FindResult } from '../schemas/memory-tools/find.ts';

export const memoryFind: ToolDefinition<FindArguments, FindResult> = {
  name: 'memory_find',
  title: 'Search memory',
  description:
    'Searches the memory of this user and the shared one, and answers with the best files and the lines in them. An expression of time in the question (“last spring”, “the latest”) raises lines of that time. Use memory_read for more of a file. Without a result, hint names the files that there are.',
  inputSchema: FindArguments,
  outputSchema: FindResult,
  readOnly: true,
  requiresModel: false,
  errorCodes: ['INVALID_PATH', 'SPACE_NOT_ALLOWED', 'WORK_LIMIT_EXCEEDED'],
  example: {
    arguments: { query: 'what does she like to drink' },
    result: {
      mode: 'text',
      results: [
        {
          path: 'user/profile.md',
          score: 7.31,
          startLine: 3,
          endLine: 3,
          heading: 'Profile > Drinks',
          snippet: '- Prefers tea.',
          version: 7,
          updatedAt: '2026-01-31T09:30:00.000Z',
        },
      ],
    },
  },
  run: (services, args, call) => services.find.find(args, call),
};
