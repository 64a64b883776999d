import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { toCaller } from '../caller.ts';
import { countSchema, nullable, strict } from './shapes.ts';

/** How far the vectors of passages are. */
export const embeddingProgressSchema = Type.Object(
  {
    state: Type.Enum(['starting', 'embedding', 'paused', 'idle'], {
      description: 'paused: the embedder fails, and is left alone for a moment.',
    }),
    dimensions: countSchema,
    filesWaiting: Type.Integer({
      minimum: 0,
      description: 'Files whose passages are still to be looked at.',
    }),
    textsWaiting: Type.Integer({ minimum: 0, description: 'Texts that wait for their vector.' }),
    textsEmbedded: Type.Integer({
      minimum: 0,
      description: 'By the instance that answers, since its start.',
    }),
    failures: countSchema,
    lastFailure: nullable(Type.String({ description: 'Null once the embedder went well again.' })),
    lastFailureReason: nullable(
      Type.String({
        description: 'The same in words, as in "the provider answered 401; check the API key".',
      }),
    ),
  },
  strict,
);

/** Making all vectors anew: what `memory-service reindex --embeddings` asks a running server for. */
export function reembedRoutes(core: Pick<Core, 'reembed'>): RouteDefinition[] {
  return [
    {
      method: 'POST',
      path: '/v1/admin/reembed',
      auth: 'admin',
      tag: 'Status',
      summary: 'Make the vectors of all passages anew',
      description:
        'Begins, and answers: the vectors of all models are forgotten at once, those of the present one are made in the background, and finds go by the words meanwhile. GET /v1/admin/status shows how far it is. 400 where no embedder is configured.',
      resultSchema: embeddingProgressSchema,
      status: 202,
      errorCodes: ['STORAGE_FULL'],
      handle: (request) => core.reembed.start(toCaller(request)),
    },
  ];
}
