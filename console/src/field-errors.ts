import { ApiError, explain } from './api.ts';

/** What a refused form says: for fields by their name, and for the form as a whole. */
export interface FieldErrors {
  fields: Readonly<Record<string, string>>;
  form: string | null;
}

/** Nothing is wrong. */
export const NO_ERRORS: FieldErrors = { fields: {}, form: null };

interface Issue {
  path: string;
  message: string;
}

/** Sorts an error by the fields that the service names; what names none is about the whole form. */
export function toFieldErrors(error: unknown, names: readonly string[]): FieldErrors {
  const issues = error instanceof ApiError ? issuesOf(error) : [];
  const fields: Record<string, string> = {};
  const others: string[] = [];
  for (const { path, message } of issues) {
    const [, name = '', index] = path.split('/');
    const place = index !== undefined && /^\d+$/.test(index) ? `Entry ${Number(index) + 1} ` : '';
    const sentence = `${place}${message.replace(/\.$/, '')}.`;
    const text = capitalise(sentence);
    if (names.includes(name)) fields[name] ??= text;
    else others.push(`${path} ${message}`);
  }
  if (issues.length === 0) return { fields, form: explain(error) };
  return { fields, form: others.length === 0 ? null : others.join('; ') };
}

function issuesOf({ details }: ApiError): Issue[] {
  const issues = details?.['issues'];
  if (!Array.isArray(issues)) return [];
  return (issues as unknown[]).flatMap((issue) => {
    if (typeof issue !== 'object' || issue === null) return [];
    const { path, message } = issue as Partial<Issue>;
    return typeof path === 'string' && typeof message === 'string' ? [{ path, message }] : [];
  });
}

const capitalise = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
