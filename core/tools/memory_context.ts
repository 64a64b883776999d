import type { ToolDefinition } from '../contracts/tool.ts';
import { ContextArguments, ContextResult } from '../schemas/memory-tools/context.ts';

export const memoryContext: ToolDefinition<ContextArguments, ContextResult> = {
  name: 'memory_context',
  title: 'Gather context from memory',
  description:
    'Gathers what memory holds on a question: lines as they stand, ready for a prompt, each with file, line, version and date. A memory that fits in maxChars is given whole. Files with context: always in their front matter are always in it, files with context: never are not. Where nothing is found, it names the files to read.',
  inputSchema: ContextArguments,
  outputSchema: ContextResult,
  readOnly: true,
  requiresModel: false,
  // A model has 40 s for its two answers.
  deadlineMs: 60_000,
  errorCodes: ['WORK_LIMIT_EXCEEDED'],
  example: {
    arguments: { query: 'Plan a birthday dinner.', maxChars: 2000 },
    result: {
      context:
        '<memory-5f2c9a01d3b4e678>\n## 5f2c9a01d3b4e678 user/profile.md, line 3, version 7, 2026-01-31, under "Profile"\n\n- Prefers tea.\n</memory-5f2c9a01d3b4e678>\n',
      stableChars: 0,
      sources: [
        {
          path: 'user/profile.md',
          startLine: 3,
          endLine: 3,
          version: 7,
          updatedAt: '2026-01-31T09:30:00.000Z',
          why: 'matched',
        },
      ],
      mode: 'find',
    },
  },
  run: (services, args, call) => services.context.context(args, call),
};
