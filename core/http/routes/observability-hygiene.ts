import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { rangeQuery } from './observability-shapes.ts';
import {
  countSchema,
  filterText,
  physicalPathSchema,
  strict,
  timeSchema,
  userIdSchema,
} from './shapes.ts';

const kindSchema = Type.Enum([
  'stale_catalog',
  'missing_from_catalog',
  'broken_link',
  'duplicate_line',
  'similar_line',
  'contradiction',
  'oversized',
  'never_read',
  'secret',
]);

const querySchema = Type.Object(
  {
    ...rangeQuery,
    userId: Type.String({ minLength: 1, maxLength: 1200, description: 'Whose memory.' }),
    tool: filterText('Files whose last write was a call of this tool.'),
  },
  strict,
);

const reportSchema = Type.Object(
  {
    userId: userIdSchema,
    at: timeSchema,
    filesChecked: countSchema,
    files: countSchema,
    counts: Type.Record(Type.String(), countSchema, { description: 'Findings by kind.' }),
    findings: Type.Array(
      Type.Object(
        {
          kind: kindSchema,
          severity: Type.Enum(['low', 'medium', 'high']),
          message: Type.String(),
          places: Type.Array(
            Type.Object(
              {
                path: physicalPathSchema,
                lines: Type.Array(Type.Integer({ minimum: 1 }), {
                  description: 'From 1; empty for the whole file.',
                }),
              },
              strict,
            ),
          ),
          mend: Type.String({ description: 'What to do about it.' }),
        },
        strict,
      ),
      { description: 'The gravest first, at most 500.' },
    ),
    omitted: Type.Integer({ minimum: 0, description: 'Findings beyond those.' }),
  },
  strict,
);

/** What may be wrong with a user's memory. */
export function observabilityHygieneRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  const hygiene: RouteDefinition<Static<typeof querySchema>> = {
    method: 'GET',
    path: '/v1/admin/observability/hygiene',
    auth: 'admin',
    tag: 'Observability',
    summary: 'Check a user’s memory',
    description:
      'Stale catalog entries, broken links, lines that repeat or contradict each other, oversized files, files that nobody reads, and what looks like a secret; each with its place and how to mend it. No model is asked. since, until and tool narrow it to files by their last write: its time, and the tool that made it. At most 2,000 files and 16 MB are looked at.',
    querySchema,
    resultSchema: reportSchema,
    errorCodes: ['INVALID_USER_ID'],
    handle: ({ query }) => core.observability.hygiene(query),
  };
  return [hygiene as RouteDefinition];
}
