/**
 * The types of the admin API in process, for `service.admin`: a request and a result for each route. Its objects
 * have the names that they have in OpenAPI.
 *
 * @param {readonly import('../../core/contracts/route.ts').RouteDefinition[]} routes
 * @param {typeof import('../../core/http/openapi-components.ts')} openapi
 */
export function renderAdminRoutes(routes, { createComponents, toPascalCase }) {
  const components = createComponents();
  const admin = routes.filter(({ auth }) => auth === 'admin');
  const members = admin
    .map((route) => ({ key: `${route.method} ${route.path}`, route }))
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ key, route }) => {
      const title = toPascalCase(key.replace('/v1/admin/', ''));
      const named = (/** @type {any} */ schema, /** @type {string} */ part) =>
        toType(components.hoist(schema, `${title}${part}`), '    ');
      return renderRoute(key, route, named);
    });
  const types = Object.entries(components.schemas)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, schema]) => ({ name, text: toType(schema, '') }));
  return joinEqual(types, [
    '// Made by `npm run docs` from the routes of the admin API.',
    '',
    "import type { Readable } from 'node:stream';",
    '',
    '/** What each route of the admin API takes and answers. */',
    'export interface AdminRoutes {',
    ...members,
    '}',
    '',
  ]);
}

/**
 * The lines with the types behind them. OpenAPI names some objects after their place: equal ones become one type.
 *
 * @param {{ name: string, text: string }[]} types
 * @param {string[]} lines
 * @returns {string}
 */
function joinEqual(types, lines) {
  const firsts = new Map(types.toReversed().map(({ name, text }) => [text, name]));
  const same = new Map(types.map(({ name, text }) => [name, firsts.get(text) ?? name]));
  if ([...same].every(([name, first]) => name === first)) {
    return [...lines, ...types.map(({ name, text }) => `type ${name} = ${text};`), ''].join('\n');
  }
  const rename = (/** @type {string} */ text) =>
    text.replace(/\b[A-Z]\w+\b/g, (word) => same.get(word) ?? word);
  const kept = types.filter(({ name }) => same.get(name) === name);
  return joinEqual(
    kept.map(({ name, text }) => ({ name, text: rename(text) })),
    lines.map(rename),
  );
}

/**
 * @param {string} key
 * @param {import('../../core/contracts/route.ts').RouteDefinition} route
 * @param {(schema: any, part: string) => string} named
 */
function renderRoute(key, route, named) {
  const { path, summary, querySchema, bodySchema, streamedBody } = route;
  const params = [...path.matchAll(/[:*](\w+)/g)].map(([, name]) => name);
  const parts = [
    ...(params.length === 0
      ? []
      : [`params: { ${params.map((name) => `${name}: string`).join('; ')} }`]),
    ...(querySchema === undefined ? [] : [renderPart('query', querySchema, named)]),
    ...(bodySchema === undefined ? [] : [renderPart('body', bodySchema, named)]),
    ...(streamedBody === undefined ? [] : ['stream: AsyncIterable<Uint8Array>']),
  ];
  const isJson = (route.contentType ?? 'application/json').startsWith('application/json');
  const result =
    route.resultSchema === null || !isJson ? 'Readable' : named(route.resultSchema, 'Answer');
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
 * @param {(schema: any, part: string) => string} named
 */
function renderPart(name, schema, named) {
  const isOptional = (schema.required ?? []).length === 0;
  return `${name}${isOptional ? '?' : ''}: ${named(schema, name === 'query' ? 'Query' : 'Body')}`;
}

/**
 * @param {any} schema
 * @param {string} indent
 * @returns {string}
 */
function toType(schema, indent) {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1);
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
