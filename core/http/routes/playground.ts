import Type, { type Static, type TSchema } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { strictObject } from '../../schemas/shapes.ts';
import { ListedTool, ToolAnswer } from '../../schemas/tools.ts';
import type { Core } from '../../service.ts';
import { createSecretCheck } from '../middleware/secret.ts';
import { ExecuteBody, runTool } from './tools.ts';

const CheckBody = strictObject(
  { checkKey: Type.String({ description: 'Says whether this is a valid API key.' }) },
  { title: 'CheckKey' },
);

/**
 * One of two bodies, distinguished by `checkKey`, so that error details refer to the intended one.
 */
const PlaygroundBody = Type.Unsafe<Static<typeof CheckBody> | ExecuteBody>({
  type: 'object',
  if: { type: 'object', required: ['checkKey'], properties: { checkKey: {} } },
  then: CheckBody,
  else: { ...ExecuteBody, title: 'PlaygroundCall' },
} as TSchema);

/** Tool calls of the Playground: the API key stays on the server. */
export function playgroundRoutes(core: Pick<Core, 'tools' | 'settings'>): RouteDefinition[] {
  const isKey = createSecretCheck(core.settings.apiKey ?? []);
  return [
    adminRoute('Playground', {
      tagDescription: 'Lets an operator run the tools for any user.',
      method: 'GET',
      path: '/v1/admin/playground',
      role: 'viewer',
      summary: 'List the tools of the Playground',
      description: 'The tools as GET /v1/tools lists them, with the admin secret.',
      resultSchema: strictObject({ tools: Type.Array(ListedTool) }),
      handle: async () => ({ tools: await core.tools.listTools() }),
    }),
    adminRoute('Playground', {
      method: 'POST',
      path: '/v1/admin/playground/:name',
      role: 'operator',
      // The tool runner has its own deadline.
      deadlineMs: null,
      summary: 'Run a tool from the Playground',
      description:
        'The body of a tool call, run with the actor playground for the user and the spaces of its context; or { checkKey }, which says whether another API key is valid.',
      bodySchema: PlaygroundBody,
      resultSchema: Type.Union([
        ToolAnswer,
        strictObject({ valid: Type.Boolean() }, { title: 'KeyChecked' }),
      ]),
      errorCodes: [
        'INVALID_USER_ID',
        'SPACE_NOT_ALLOWED',
        'TOOL_NOT_FOUND',
        'IDEMPOTENCY_KEY_REUSED',
        'RATE_LIMITED',
      ],
      async handle(request) {
        const { body } = request;
        if ('checkKey' in body) return { valid: isKey !== null && isKey(toLatin1(body.checkKey)) };
        return await runTool(request, body, (name, call) =>
          core.tools.executeAs(name, { ...call, signal: request.signal }, { actor: 'playground' }),
        );
      },
    }),
  ];
}

/** Encodes bytes as Latin-1, as Node decodes headers. */
function toLatin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
