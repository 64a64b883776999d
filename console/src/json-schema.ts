/** What of a tool's JSON Schema the Playground's form goes by. */
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

/** Fields that hold text of several lines. */
const LONG_TEXTS = new Set(['content', 'text', 'oldText', 'newText']);

/** How a field is asked for. */
export type FieldKind =
  'text' | 'lines' | 'number' | 'switch' | 'choice' | 'group' | 'list' | 'json';

/** The kind of field that a member of a schema gets. */
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
 * Arguments without what was left empty: an optional field that holds nothing is not sent, a
 * required text is sent as it is.
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

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isBlank(value: object): boolean {
  return Object.values(value).every((member) => member === '');
}
