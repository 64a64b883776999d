import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import { MemoryError } from '../../errors.ts';
import type { Docs } from '../docs.ts';
import { matchesTag } from '../precondition.ts';
import { defineRoute } from '../../schemas/define-route.ts';
import { strictObject, text } from '../../schemas/shapes.ts';

const DocsList = strictObject({
  docs: Type.Array(
    strictObject({
      path: text('concepts/files'),
      title: Type.String(),
      url: text('Of its markdown.'),
    }),
  ),
});

/** The public documentation. `openApi` returns the description of all routes. */
export function docsRoutes(docs: Docs, openApi: () => object): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/docs',
      auth: 'none',
      tag: 'Docs',
      tagDescription: 'These docs as Markdown, and the description of the API.',
      summary: 'List the docs',
      description: 'The path, title and url of each page.',
      resultSchema: DocsList,
      handle: () => ({ docs: docs.pages }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/docs/*path',
      auth: 'none',
      tag: 'Docs',
      summary: 'Read a page of the docs',
      description: 'Its markdown, by the url of the list.',
      resultSchema: null,
      contentType: 'text/markdown; charset=utf-8',
      otherStatuses: { 304: 'The page of If-None-Match is still the same.' },
      errorCodes: ['DOC_NOT_FOUND'],
      handle(request) {
        const page = docs.find(request.params['path'] ?? '');
        if (page === null) throw new MemoryError('DOC_NOT_FOUND');
        request.setHeader('Cache-Control', 'no-cache');
        request.setHeader('ETag', page.etag);
        return matchesTag(request, page.etag) ? null : page.content;
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/llms.txt',
      auth: 'none',
      tag: 'Docs',
      summary: 'The index of the docs for agents',
      description: 'In the form of llmstxt.org: a link to each page.',
      resultSchema: null,
      contentType: 'text/plain; charset=utf-8',
      handle: () => docs.llmsText,
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/openapi.json',
      auth: 'none',
      tag: 'Docs',
      summary: 'The OpenAPI 3.1 description of these routes',
      description: 'With a path for each tool, and the routes of plugins.',
      resultSchema: Type.Unsafe<object>(Type.Object({ openapi: Type.String() })),
      handle: () => openApi(),
    }),
  ];
}
