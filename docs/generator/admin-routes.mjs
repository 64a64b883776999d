/**
 * The types of the admin API in process, for `service.admin`: a request and a result for each route.
 *
 * @param {readonly import('../../core/contracts/route.ts').RouteDefinition[]} routes
 */
export function renderAdminRoutes(routes) {
  const admin = routes.filter(({ auth }) => auth === 'admin');
  const members = admin
    .map((route) => ({ key: `${route.method} ${route.path}`, route }))
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ key, route }) => renderRoute(key, route));
  return [
    '// Made by `npm run docs` from the routes of the admin API.',
    '',
    "import type { Readable } from 'node:stream';",
    '',
    '/** What each route of the admin API takes and answers. */',
    'export interface AdminRoutes {',
    ...members,
    '}',
    '',
  ].join('\n');
}

/**
 * @param {string} key
 * @param {import('../../core/contracts/route.ts').RouteDefinition} route
 */
function renderRoute(key, { path, summary, querySchema, bodySchema, streamedBody, ...route }) {
  const params = [...path.matchAll(/[:*](\w+)/g)].map(([, name]) => name);
  const parts = [
    ...(params.length === 0
      ? []
      : [`params: { ${params.map((name) => `${name}: string`).join('; ')} }`]),
    ...(querySchema === undefined ? [] : [renderPart('query', querySchema)]),
    ...(bodySchema === undefined ? [] : [renderPart('body', bodySchema)]),
    ...(streamedBody === undefined ? [] : ['stream: AsyncIterable<Uint8Array>']),
  ];
  const isJson = (route.contentType ?? 'application/json').startsWith('application/json');
  const result =
    route.resultSchema === null || !isJson ? 'Readable' : toType(route.resultSchema, '    ');
  return [
    `  /** ${summary}. */`,
    `  '${key}': {`,
    `    request: ${parts.length === 0 ? 'object' : `{ ${parts.join('; ')} }`};`,
    `    result: ${result};`,
    '  };',
  ].join('\n');
}

/**
 * @param {string} name
 * @param {any} schema
 */
function renderPart(name, schema) {
  const isOptional = (schema.required ?? []).length === 0;
  return `${name}${isOptional ? '?' : ''}: ${toType(schema, '    ')}`;
}

/**
 * @param {any} schema
 * @param {string} indent
 * @returns {string}
 */
function toType(schema, indent) {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return toUnion(schema.enum.map(toLiteral));
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined) {
    return toUnion(branches.map((/** @type {any} */ branch) => toType(branch, indent)));
  }
  if (schema.allOf !== undefined) {
    return schema.allOf.map((/** @type {any} */ part) => toType(part, indent)).join(' & ');
  }
  if (Array.isArray(schema.type)) {
    return toUnion(
      schema.type.map((/** @type {string} */ type) => toType({ ...schema, type }, indent)),
    );
  }
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `readonly (${toType(schema.items ?? {}, indent)})[]`;
    case 'object':
      return toObject(schema, indent);
    default:
      return schema.properties === undefined ? 'unknown' : toObject(schema, indent);
  }
}

/**
 * @param {any} schema
 * @param {string} indent
 */
function toObject(
  { properties = {}, required = [], patternProperties = {}, additionalProperties },
  indent,
) {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, member]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return `${inner}${key}${required.includes(name) ? '' : '?'}: ${toType(member, inner)};`;
  });
  const [values] = Object.values(patternProperties);
  const more =
    values ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
  const record = more === undefined ? null : `Record<string, ${toType(more, indent)}>`;
  if (members.length === 0) return record ?? 'Record<string, unknown>';
  const object = ['{', ...members, `${indent}}`].join('\n');
  return record === null ? object : `${object} & ${record}`;
}

/** @param {unknown} value */
function toLiteral(value) {
  return JSON.stringify(value);
}

/** @param {string[]} types */
function toUnion(types) {
  return [...new Set(types)].join(' | ');
}
