import { ProviderFault } from './fault.ts';

/** A part of an answer that must be an object. Throws a `ProviderFault` `malformed`. */
export function toObject(value: unknown): Record<string, unknown> {
  // An SDK gives a body that does not call itself JSON as it is.
  if (typeof value === 'string') throw new ProviderFault('malformed', { problem: 'not_json' });
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProviderFault('malformed');
  }
  return value as Record<string, unknown>;
}

/** A number of tokens by its name in what an answer says of its usage; 0 where it counts none. */
export function readTokens(usage: unknown, name: string): number {
  if (typeof usage !== 'object' || usage === null) return 0;
  const value = (usage as Record<string, unknown>)[name];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/**
 * The text of a content, as a text or as a list of parts. The parts of reasoning models that hold their
 * thoughts are left out. Throws a `ProviderFault`: `refused` for a part that refuses.
 */
export function readText(content: unknown): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw new ProviderFault('malformed');
  return (content as unknown[])
    .map((part) => {
      if (typeof part === 'string') return part;
      const { type = 'text', text } = toObject(part);
      if (type === 'refusal') throw new ProviderFault('refused');
      if (type !== 'text' && type !== 'output_text') return '';
      if (typeof text !== 'string') throw new ProviderFault('malformed');
      return text;
    })
    .join('');
}
