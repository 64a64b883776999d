import type { SqlValue, Statement } from './dialect.ts';

/** A statement from a text that names its values, as in `:limit`, also one that it has several times. */
export function bindNames(text: string, values: Readonly<Record<string, SqlValue>>): Statement {
  const parameters: SqlValue[] = [];
  const sql = text.replace(/:(\w+)/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`There is no value for :${name}.`);
    parameters.push(value);
    return '?';
  });
  return { sql, parameters };
}
