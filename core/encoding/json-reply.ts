import type { JsonSchema } from '../contracts/tool.ts';
import { type JsonLimits, parseForeignJson } from './foreign-json.ts';

/** A model's reply is short: guardModel takes 200,000 characters. */
const REPLY_LIMITS: Partial<JsonLimits> = { depth: 32 };

/** Parses JSON that a model wrote; `undefined` for what is not JSON, or is nested too deeply. */
export function parseReply(text: string): unknown {
  try {
    return parseForeignJson(text, REPLY_LIMITS);
  } catch {
    return undefined;
  }
}

/**
 * The JSON of a reply, without what models put around it: thoughts, words before and after it, code
 * fences. Of several JSON values the last one with all members that the schema requires counts, or
 * the last one. Of a reply that was cut off, what there is of it. A text without JSON is returned as
 * it is: the caller finds out when it parses it.
 */
export function findJson(reply: string, schema: JsonSchema): string {
  const whole = reply.trim();
  if (parseReply(whole) !== undefined) return whole;
  const { type, required } = schema as { type?: unknown; required?: unknown };
  const opens = type === 'object' ? '{' : type === 'array' ? '[' : '{[';
  const keys = Array.isArray(required) ? (required as unknown[]).map(String) : [];
  const all = listValues(whole, opens);
  const { from, to } = findWords(whole, all);
  const text = whole.slice(from, to).trim();
  if (parseReply(text) !== undefined) return text;
  const found = all.filter(({ at }) => at >= from && at < to);
  const complete = keys.length > 0 ? found.findLast(({ value }) => hasAll(value, keys)) : undefined;
  if (complete !== undefined) return complete.text;
  // What is complete inside of a value that was cut off is not the value.
  const begun = /\{\s*"/.exec(text)?.index ?? -1;
  const isCutOff = begun !== -1 && findEnd(text, begun, text.length) === null;
  return (isCutOff ? undefined : found.at(-1)?.text) ?? fromBegin(text, opens);
}

/** Models whose template is not applied write the marks of their thoughts into the reply. */
const THOUGHTS = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
  ['<|channel|>analysis', '<|channel|>final<|message|>'],
] as const;

/**
 * Where the words are that are no thoughts: behind the last end of thoughts, which some servers send
 * without their begin, and before a begin of thoughts that do not end. A mark inside a JSON value is a
 * part of its text.
 */
function findWords(reply: string, values: readonly FoundValue[]): { from: number; to: number } {
  const isInside = (place: number): boolean =>
    values.some(({ at, text }) => place > at && place < at + text.length);
  let from = 0;
  for (const [, mark] of THOUGHTS) {
    let place = reply.lastIndexOf(mark);
    for (let tries = 0; tries < MOST_MARKS && place > 0 && isInside(place); tries += 1) {
      place = reply.lastIndexOf(mark, place - 1);
    }
    if (place !== -1 && !isInside(place)) from = Math.max(from, place + mark.length);
  }
  const begins = THOUGHTS.map(([mark]) => reply.indexOf(mark, from));
  const to = Math.min(...begins.filter((place) => place !== -1 && !isInside(place)), reply.length);
  return { from, to };
}

/** A reply of words without the thoughts that it begins with; others may be what it is about. */
export function withoutFirstThoughts(reply: string): string {
  const marks = THOUGHTS.find(([begin]) => reply.trimStart().startsWith(begin));
  if (marks === undefined) return reply;
  const [, end] = marks;
  const at = reply.indexOf(end);
  return at === -1 ? '' : reply.slice(at + end.length).trimStart();
}

/** Characters that are looked at, all attempts together. */
const MOST_LOOKS = 2_000_000;
const MOST_VALUES = 10_000;
/** Marks of thoughts that may stand inside the texts of a reply. */
const MOST_MARKS = 100;

interface FoundValue {
  at: number;
  text: string;
  value: unknown;
}

/** The JSON values inside of words. */
function listValues(text: string, opens: string): FoundValue[] {
  const found: FoundValue[] = [];
  let looks = MOST_LOOKS;
  for (let at = 0; at < text.length && looks > 0 && found.length < MOST_VALUES; at += 1) {
    if (!opens.includes(text.charAt(at))) continue;
    const end = findEnd(text, at, looks);
    looks -= (end ?? text.length) - at;
    if (end === null) continue;
    const part = text.slice(at, end);
    const value = parseReply(part);
    if (value === undefined) continue;
    found.push({ at, text: part, value });
    at = end - 1;
  }
  return found;
}

/** Behind the bracket that closes the one at `start`; `null` where there is none. */
function findEnd(text: string, start: number, most: number): number | null {
  let depth = 0;
  const last = Math.min(text.length, start + most);
  for (let at = start; at < last; at += 1) {
    const sign = text.charAt(at);
    if (sign === '"') {
      for (at += 1; at < last && text.charAt(at) !== '"'; at += 1) {
        if (text.charAt(at) === '\\') at += 1;
      }
    } else if (sign === '{' || sign === '[') depth += 1;
    else if ((sign === '}' || sign === ']') && --depth === 0) return at + 1;
  }
  return null;
}

function hasAll(value: unknown, keys: readonly string[]): boolean {
  return (
    typeof value === 'object' && value !== null && keys.every((key) => Object.hasOwn(value, key))
  );
}

/** What there is of a value that was cut off, or the text where there is none. */
function fromBegin(text: string, opens: string): string {
  const fence = text.lastIndexOf('```');
  const begin = text.indexOf('\n', fence);
  const body = fence === -1 || begin === -1 ? text : text.slice(begin + 1).trim();
  if (opens.includes(body.charAt(0)) && body !== '') return body;
  const at = [...opens].map((sign) => text.indexOf(sign)).filter((place) => place !== -1);
  return at.length === 0 ? text : text.slice(Math.min(...at));
}
