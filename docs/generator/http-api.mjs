import { errorLink, page, prose, table } from './markdown.mjs';
import { describeMembers } from './schema.mjs';

/** @typedef {import('../../core/contracts/route.ts').RouteDefinition} Route */

const AUTH = {
  none: 'no authentication',
  tools: 'the API key',
  admin: 'the admin secret',
};

/**
 * @param {readonly Route[]} routes
 * @param {Readonly<Record<string, import('../../core/errors.ts').ErrorCodeEntry>>} errorCodes
 */
export function renderHttpApi(routes, errorCodes) {
  // A path with a slash at its end is the same page twice.
  const shown = routes.filter(({ path }) => path.length === 1 || !path.endsWith('/'));
  const tags = [...new Set(shown.map(({ tag }) => tag))];
  return page('HTTP API', 'core/http/routes/', [
    'Paths stand below the base path. The API key is sent as `Authorization: Bearer <key>` or ' +
      '`x-api-key: <key>`, the admin secret as `x-admin-secret: <secret>`, neither in a query ' +
      'string. Bodies are JSON. Unknown query parameters and body members are refused and named. ' +
      'Times are RFC 3339 in UTC with milliseconds, sizes are bytes. `/v1/openapi.json` describes ' +
      'the same routes for machines.',
    'Lists answer `{ "items": […], "nextCursor": … }`. Pass `nextCursor` on as `cursor`, with the ' +
      'same filters, until it is `null`; a page may have fewer rows than `limit` before that.',
    table(
      ['method', 'path', 'what'],
      shown.map((route) => [
        route.method,
        `[\`${toTemplate(route.path)}\`](#${toAnchor(toHeading(route))})`,
        route.summary,
      ]),
    ),
    ...tags.flatMap((tag) => [
      `## ${tag}`,
      ...describeTag(shown, tag),
      ...shown
        .filter((route) => route.tag === tag)
        .flatMap((route) => renderRoute(route, errorCodes)),
    ]),
  ]);
}

/**
 * @param {readonly Route[]} routes
 * @param {string} tag
 */
function describeTag(routes, tag) {
  const described = routes.find((route) => route.tag === tag && route.tagDescription);
  return described?.tagDescription === undefined ? [] : [prose(described.tagDescription)];
}

/**
 * @param {Route} route
 * @param {Readonly<Record<string, import('../../core/errors.ts').ErrorCodeEntry>>} errorCodes
 * @returns {string[]}
 */
function renderRoute(route, errorCodes) {
  const { summary, description, querySchema, bodySchema, resultSchema, contentType } = route;
  const unknown = route.errorCodes.filter((code) => errorCodes[code] === undefined);
  if (unknown.length > 0) throw new Error(`${route.path} has unknown codes: ${unknown.join(', ')}`);
  const query = querySchema && describeMembers(querySchema, { required: true });
  const body = bodySchema && describeMembers(bodySchema, { required: true });
  const answer = resultSchema && describeMembers(resultSchema, { required: false });
  return [
    `### ${toHeading(route)}`,
    prose(
      `${summary}. Needs ${AUTH[route.auth]}${roleOf(route)}.${description === undefined ? '' : ` ${description}`}`,
    ),
    ...(query ? ['**Query**', query] : []),
    ...(body ? ['**Body**', body] : []),
    ...(answer ? ['**Answer**', answer] : []),
    ...(resultSchema === null ? [`**Answer**: \`${contentType ?? 'application/json'}\``] : []),
    ...(route.errorCodes.length > 0
      ? [`**Errors of its own**: ${route.errorCodes.map(errorLink).join(', ')}`]
      : []),
  ];
}

/** @param {Route} route */
function toHeading({ method, path }) {
  return `${method} ${toTemplate(path)}`;
}

/**
 * `/v1/admin/files/*path` is shown as `/v1/admin/files/{path}`.
 *
 * @param {string} path
 */
function toTemplate(path) {
  return path.replaceAll(/[:*](\w+)/g, '{$1}');
}

/**
 * The anchor that GitHub gives a heading.
 *
 * @param {string} heading
 */
export function toAnchor(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/**
 * What an operator needs for a route of the admin API.
 *
 * @param {Route} route
 */
function roleOf({ auth, role = 'admin' }) {
  if (auth !== 'admin') return '';
  if (role === 'contents') return ', and to see contents';
  return `, and the role ${role}`;
}
