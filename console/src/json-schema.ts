/** The part of a tool's JSON Schema that the Playground's form uses. */
export interface FormSchema {
  type?: string;
  enum?: readonly string[];
  description?: string;
  properties?: Readonly<Record<string, FormSchema>>;
  required?: readonly string[];
  items?: FormSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  default?: unknown;
}

/** Fields with several lines of text. */
const LONG_TEXTS = new Set(['content', 'text', 'oldText', 'newText']);

/** The kind of input. */
export type FieldKind =
  'text' | 'lines' | 'number' | 'switch' | 'choice' | 'group' | 'list' | 'json';

/** The kind of input for a member of a schema. */
export function fieldKindOf(name: string, schema: FormSchema): FieldKind {
  if (schema.enum !== undefined) return 'choice';
  switch (schema.type) {
    case 'string':
      return LONG_TEXTS.has(name) ? 'lines' : 'text';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'switch';
    case 'object':
      return schema.properties === undefined ? 'json' : 'group';
    case 'array':
      return schema.items?.properties === undefined ? 'json' : 'list';
    default:
      return 'json';
  }
}

/**
 * Leaves out empty optional fields. Required text is sent even if it is empty.
 */
export function withoutEmpty(value: unknown, schema: FormSchema): unknown {
  if (schema.type === 'array' && Array.isArray(value)) {
    const items = value.map((item) => withoutEmpty(item, schema.items ?? {}));
    return items.length === 0 ? undefined : items;
  }
  if (schema.properties === undefined || typeof value !== 'object' || value === null) return value;
  const entries: [string, unknown][] = [];
  for (const [name, member] of Object.entries(schema.properties)) {
    const isRequired = schema.required?.includes(name) ?? false;
    const held = withoutEmpty((value as Record<string, unknown>)[name], member);
    const isEmpty =
      held === undefined || held === null || held === '' || (isPlain(held) && isBlank(held));
    if (!isEmpty) entries.push([name, held]);
    else if (isRequired && member.type === 'string') entries.push([name, '']);
  }
  return Object.fromEntries(entries);
}

/** Fields that hold virtual paths. */
const PATHS = new Set(['path', 'from', 'to']);

/** `profile.md` becomes `user/profile.md`: a virtual path begins with whose memory it is. */
export function toVirtualPath(text: string): string {
  const path = text.trim();
  return path === '' || /^(?:user|shared|spaces?)(?:\/|$)/.test(path) ? path : `user/${path}`;
}

/** The arguments with whole paths. */
export function withWholePaths(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      PATHS.has(name) && typeof value === 'string' ? toVirtualPath(value) : value,
    ]),
  );
}

/** What stands in for required text that is not filled in yet. */
const EXAMPLES: Readonly<Record<string, string>> = {
  query: 'What does the user prefer?',
  path: 'user/profile.md',
  from: 'user/profile.md',
  to: 'user/about.md',
  text: 'Prefers tea to coffee.',
  content: '# Profile\n\n- Prefers tea to coffee.\n',
};

/** The arguments with an example for required text that is empty: the service would refuse them. */
export function withExamples(
  args: Readonly<Record<string, unknown>>,
  schema: FormSchema,
): Record<string, unknown> {
  const empty = (schema.required ?? []).filter((name) => (args[name] ?? '') === '');
  return {
    ...args,
    ...Object.fromEntries(
      empty.flatMap((name) => (name in EXAMPLES ? [[name, EXAMPLES[name]]] : [])),
    ),
  };
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isBlank(value: object): boolean {
  return Object.values(value).every((member) => member === '');
}
