import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { AdminToolCallDetail, AdminTrace } from '../../schemas/events.ts';
import type { Core } from '../../service.ts';

/** Single traces and tool calls. */
export function tracesRoutes(core: Pick<Core, 'traces'>): RouteDefinition[] {
  return [
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/traces/:traceId',
      role: 'viewer',
      summary: 'Read a trace',
      description: 'Its tool calls, oldest first: a caller’s own trace may hold several.',
      resultSchema: AdminTrace,
      errorCodes: ['TRACE_NOT_FOUND'],
      handle: ({ params }) => core.traces.trace(params['traceId'] ?? ''),
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/tool-calls/:toolCallId',
      role: 'contents',
      summary: 'Read a tool call',
      description:
        'The root event, its spans, the files it read and wrote, and exactly the lines that it was shown.',
      resultSchema: AdminToolCallDetail,
      errorCodes: ['TRACE_NOT_FOUND'],
      shows: ({ shown }) => shown.map(({ path }) => path),
      handle: ({ params }) => core.traces.toolCall(params['toolCallId'] ?? ''),
    }),
  ];
}
