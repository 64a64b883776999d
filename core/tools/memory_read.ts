import Type, { type Static } from 'typebox';
import type { ToolDefinition } from '../contracts/tool.ts';
import { asOfSchema, pathSchema, strict, timeSchema, versionSchema } from './schemas.ts';

const lineSchema = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });

const inputSchema = Type.Object(
  {
    path: pathSchema,
    startLine: Type.Optional(lineSchema('First line, from 1. Default: 1.')),
    endLine: Type.Optional(lineSchema('Last line, inclusive. Default: the last one.')),
    asOf: Type.Optional(asOfSchema),
  },
  strict,
);

const outputSchema = Type.Object({
  path: Type.String(),
  content: Type.String(),
  version: versionSchema,
  updatedAt: timeSchema,
  totalLines: Type.Integer({ minimum: 0 }),
});

export const memoryRead: ToolDefinition<Static<typeof inputSchema>, Static<typeof outputSchema>> = {
  name: 'memory_read',
  title: 'Read a memory file',
  description: 'Reads a memory file, whole or a range of its lines.',
  inputSchema,
  outputSchema,
  readOnly: true,
  requiresModel: false,
  errorCodes: ['INVALID_PATH', 'FILE_NOT_FOUND', 'REVISION_NOT_FOUND'],
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
