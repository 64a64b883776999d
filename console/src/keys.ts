import type { AdminKey, KeyRequest, NamedSpace } from '../../core/contracts/admin.ts';
import { toSpaceEntry, trimSpaces } from './spaces.ts';

/** What a person fills in for a new key. */
export interface KeyForm {
  name: string;
  /** Ids and prefixes, one a line; empty for all. */
  users: string;
  /** Each by its id, or by a prefix of ids. */
  spaces: NamedSpace[];
  tools: 'all' | 'read' | 'write' | 'named';
  toolNames: string[];
  rateLimit: number | '';
  actor: string;
  manage: boolean;
  /** Milliseconds from now; `null` for never. */
  expiresIn: number | null;
}

const DAY_MS = 86_400_000;
/** After how long a key can end. */
export const EXPIRIES: readonly { label: string; ms: number | null }[] = [
  { label: 'Never', ms: null },
  { label: 'In 7 days', ms: 7 * DAY_MS },
  { label: 'In 30 days', ms: 30 * DAY_MS },
  { label: 'In 90 days', ms: 90 * DAY_MS },
  { label: 'In a year', ms: 365 * DAY_MS },
];
/** How long the text of before can stay valid. */
export const OVERLAPS: readonly { label: string; minutes: number }[] = [
  { label: 'Not at all: it is refused at once', minutes: 0 },
  { label: '1 hour', minutes: 60 },
  { label: '1 day', minutes: 1_440 },
  { label: '7 days', minutes: 10_080 },
];

/** A form with nothing filled in. */
export const emptyKeyForm = (): KeyForm => ({
  name: '',
  users: '',
  spaces: [],
  tools: 'all',
  toolNames: [],
  rateLimit: '',
  actor: '',
  manage: false,
  expiresIn: null,
});

/** The request of a form. What is left empty is left out. */
export function toKeyRequest(form: KeyForm, now: number): KeyRequest {
  const users = toLines(form.users);
  return {
    name: form.name.trim(),
    users: users.length === 0 ? null : users,
    spaces: trimSpaces(form.spaces).map(toSpaceEntry),
    tools: toTools(form),
    rateLimit: form.rateLimit === '' ? null : form.rateLimit,
    actor: form.actor.trim() === '' ? null : form.actor.trim(),
    manage: form.manage,
    expiresAt: form.expiresIn === null ? null : new Date(now + form.expiresIn).toISOString(),
  };
}

function toTools({ tools, toolNames }: KeyForm): string[] | null {
  if (tools === 'all') return null;
  return tools === 'named' ? [...toolNames] : [tools];
}

const toLines = (text: string) =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** `all`, `acme:*, bob and 3 more`. */
export function tellList(list: readonly string[] | null, none: string, shown = 2): string {
  if (list === null || list.length === 0) return none;
  const more = list.length - shown;
  return list.slice(0, shown).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const SOON_MS = 7 * DAY_MS;

/** Whether a key is over, or will be within a week. */
export function stateOf(
  { expiresAt, previousUntil }: Pick<AdminKey, 'expiresAt' | 'previousUntil'>,
  now: number,
): { text: string; tone: 'bad' | 'warn' | 'info' } | null {
  if (expiresAt !== null) {
    const left = Date.parse(expiresAt) - now;
    if (left <= 0) return { text: 'expired', tone: 'bad' };
    if (left < SOON_MS) return { text: 'expires soon', tone: 'warn' };
  }
  if (previousUntil !== null && Date.parse(previousUntil) > now) {
    return { text: 'rotating', tone: 'info' };
  }
  return null;
}

/** A space that a key may name, as an example: a prefix stands for an id that begins so. */
export function toExampleId(pattern: string, fallback: string): string {
  if (pattern === '*') return fallback;
  return pattern.endsWith('*') ? pattern.slice(0, -1) + fallback : pattern;
}
