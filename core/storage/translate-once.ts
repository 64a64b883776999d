/** More than the stores have texts. */
const KEPT = 2_000;

/**
 * Remembers what each text of the stores was translated to, so that a statement costs a look into a map.
 * The texts are few and contain no values.
 */
export function translateOnce(translate: (sql: string) => string): (sql: string) => string {
  const translated = new Map<string, string>();
  return (sql) => {
    const known = translated.get(sql);
    if (known !== undefined) return known;
    const text = translate(sql);
    if (translated.size >= KEPT) translated.clear();
    translated.set(sql, text);
    return text;
  };
}
