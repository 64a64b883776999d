import { MemoryError } from '../errors.ts';
import { parseUserId } from '../files/paths.ts';
import { foreignJsonSteps, type JsonLimits } from '../encoding/foreign-json.ts';
import { parseDate, toDay } from './dates.ts';
import { ItemFault } from './item-fault.ts';
import { takeStart } from '../encoding/take-text.ts';
import { hasForeignBytes } from './text.ts';

/** A JSON object whose members are not known. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * What bounds the JSON of an export. It is parsed on a thread of its own, so the work holds up nobody; the
 * numbers bound the memory, to a few hundred MB.
 */
const LIMITS: Readonly<JsonLimits> = {
  chars: 32 * 1024 ** 2,
  depth: 100_000,
  containers: 2_000_000,
  keys: 6_000_000,
  values: 6_000_000,
};

/** Parses JSON of an export, at once. Throws a `ForeignJsonError`. */
export function parseText(text: string): unknown {
  for (const steps = foreignJsonSteps(text, LIMITS, Infinity); ;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** How often a value may be JSON as text in JSON: an export that was saved with quotes around it. */
const MOST_WRAPPINGS = 4;

/** The value of JSON that was saved as a JSON text, also several times; any other value as it is. */
export function unwrapJson(value: unknown): unknown {
  let found = value;
  for (let times = 0; times < MOST_WRAPPINGS && typeof found === 'string'; times += 1) {
    if (!/^\s*[[{"]/.test(found)) return found;
    try {
      found = parseText(found);
    } catch {
      return found;
    }
  }
  return found;
}

/** A name without what differs between spellings: `user_id`, `userId`, `user:ID` are `userid`. */
export function foldName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '')
    .toLowerCase();
}

interface Member {
  name: string;
  value: unknown;
  /** Another spelling of the name that has another value. */
  rival: string | null;
}

/**
 * The members of a JSON object, asked for in snake case and found in any spelling: the SDKs of one
 * program write the same member as `created_at` and as `createdAt`. `null` counts as absent.
 */
export class Members {
  readonly #byName = new Map<string, Member>();
  /** With all spellings of a name. */
  readonly #all: (readonly [name: string, value: unknown])[] = [];

  /** @param value has no members if it is no object, and no JSON of one. */
  constructor(value: unknown) {
    const fields = unwrapJson(value);
    if (!isFields(fields)) return;
    for (const [name, given] of Object.entries(fields)) {
      if (given === null || given === undefined) continue;
      this.#all.push([name, given]);
      const folded = foldName(name);
      const found = this.#byName.get(folded);
      if (found === undefined) this.#byName.set(folded, { name, value: given, rival: null });
      else if (!isSame(found.value, given)) found.rival ??= name;
    }
  }

  /** The first of these members. Throws {@link ItemFault} where two spellings differ. */
  find(...names: string[]): { name: string; value: unknown } | null {
    for (const name of names) {
      const member = this.#byName.get(foldName(name));
      if (member === undefined) continue;
      const { rival } = member;
      if (rival === null) return member;
      throw new ItemFault(
        `${quoteName(member.name)} and ${quoteName(rival)} differ: leave one of them.`,
      );
    }
    return null;
  }

  value(...names: string[]): unknown {
    return this.find(...names)?.value ?? null;
  }

  /** A member as text that a file can hold; `null` where it has none. */
  text(...names: string[]): string | null {
    return toFileText(this.value(...names));
  }

  /** A list, also one that was saved as a text; a single value is a list of one. */
  list(...names: string[]): readonly unknown[] {
    const value = unwrapJson(this.value(...names));
    if (Array.isArray(value)) return value as unknown[];
    return value === null || value === '' ? [] : [value];
  }

  /** The members of a member. */
  members(...names: string[]): Members {
    return new Members(this.value(...names));
  }

  has(...names: string[]): boolean {
    return names.some((name) => this.#byName.has(foldName(name)));
  }

  /** A value, also where another spelling has another one. */
  peek(name: string): unknown {
    return this.#byName.get(foldName(name))?.value ?? null;
  }

  /** The same with this member set. */
  with(name: string, value: unknown): Members {
    const copy = new Members(null);
    for (const [folded, member] of this.#byName) copy.#byName.set(folded, member);
    copy.#byName.set(foldName(name), { name, value, rival: null });
    copy.#all.push(...this.#all.filter(([each]) => foldName(each) !== foldName(name)), [
      name,
      value,
    ]);
    return copy;
  }

  /** The same with this member alone. */
  only(name: string): Members {
    const found = this.find(name);
    return new Members(found === null ? {} : { [found.name]: found.value });
  }

  /** All members as they are spelled. */
  entries(): readonly (readonly [name: string, value: unknown])[] {
    return this.#all;
  }

  /**
   * The day of a member, such as `2026-01-31`; `null` where there is none. Throws {@link ItemFault}
   * for a date that can't be read.
   */
  day(...names: string[]): string | null {
    const member = this.find(...names);
    if (member === null || member.value === '') return null;
    const day = toDay(parseDate(member.value));
    if (day !== null) return day;
    throw new ItemFault(
      `Its ${quoteName(member.name)} is not a date that can be read: ${quoteValue(member.value)}.`,
    );
  }

  /** The members whose names look like `pattern` and whose values say something. */
  like(pattern: RegExp): readonly (readonly [name: string, value: unknown])[] {
    return this.#all.filter(
      ([name, value]) => pattern.test(foldName(name)) && saysSomething(value),
    );
  }
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  try {
    return JSON.stringify(one) === JSON.stringify(other);
  } catch {
    return false;
  }
}

function saysSomething(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  if (typeof value === 'object') return Object.keys(value ?? {}).length > 0;
  return typeof value === 'number';
}

/** A value as text that a file can hold; `null` where it is none. */
export function toFileText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replaceAll('\r\n', '\n').trim();
  return text === '' || text.includes('\0') || !text.isWellFormed() ? null : text;
}

/** A name of the export for a message. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > 60 ? `${takeStart(name, 60)}…` : name);
}

function quoteValue(value: unknown): string {
  return typeof value === 'number' ? String(value) : quoteName(String(value));
}

/** Names of members that may say whose an item is, beside those that are known to. */
const LIKE_USER =
  /^(?:end|app|for|of|the|external|internal)?(?:users?(?:id|ids|name|email|mail|key|uuid|guid|identifier|ref|handle|login|no|number)?|(?:customer|account|member|person|owner|subject|client|tenant|human)(?:id|ids|uuid|key|name|email|identifier)|usr(?:id|name)?|uids?|email|owners?|ownedby|belongsto|customer|person)$/;

/** Whose an item is where nothing says so, and which ids name no user of a memory. */
export interface UserRule {
  otherwise: string | null;
  /** Ids of the other program's own accounts. */
  ignored?: RegExp;
}

/**
 * Whose an item is: what the first of its holders says that says something, the item itself before what it
 * is a part of, or else `otherwise`. Never guesses: throws {@link ItemFault} for a holder that names two
 * users, for one that has a member which may name a user in a way that is not known, for what is no id of
 * a user, and where nothing says whose it is.
 */
export function userOf(holders: readonly Members[], { otherwise, ignored }: UserRule): string {
  for (const holder of holders) {
    const user = namedBy(holder, ignored);
    if (user !== null) return checkUser(user);
  }
  const isOfNobodyElse = (value: unknown): boolean => {
    const id = String(value).trim();
    return id === otherwise || ignored?.test(id) === true;
  };
  for (const holder of holders) {
    const like = likeUser(holder).find(([, value]) => !isOfNobodyElse(value));
    if (like === undefined) continue;
    throw new ItemFault(
      `It has no "user_id", but ${quoteName(like[0])}, which may name a user. Call that member "user_id", or take it out.`,
    );
  }
  if (otherwise !== null) return otherwise;
  throw new ItemFault('It does not say whose it is: name a user (--user, ?userId=).');
}

/** What several holders say together of what is theirs: where they name two users, it names two. */
export function joinHolders(
  holders: readonly Members[],
  { ignored }: Pick<UserRule, 'ignored'>,
): Members {
  const users = new Set(holders.map((holder) => namedBy(holder, ignored)));
  const [user_id, user] = [...users].filter((each) => each !== null);
  return new Members({ ...Object.fromEntries(holders.flatMap(likeUser)), user_id, user });
}

function namedBy(holder: Members, ignored: RegExp | undefined): string | null {
  return namedUser(holder, ignored) ?? namedUser(aboutHolder(holder), ignored);
}

/** The members that may name a user in a way that is not known. */
function likeUser(holder: Members): (readonly [name: string, value: unknown])[] {
  return holder.like(LIKE_USER).filter(([name]) => !KNOWN_USER_NAMES.has(foldName(name)));
}

function checkUser(id: string): string {
  try {
    return parseUserId(id);
  } catch (error) {
    if (error instanceof MemoryError) throw new ItemFault(error.message);
    throw error;
  }
}

/**
 * What programs keep about an item beside it: a store that two languages write has the user of the other
 * one there. Only "user_id": the other members are the user's own.
 */
function aboutHolder(holder: Members): Members {
  const about = ['metadata', 'filters'].map((name) => new Members(holder.peek(name)));
  const users = about.map((members) => members.value('user_id'));
  const [user_id, user] = users.filter((each) => each !== null);
  return new Members({ user_id, user });
}

/** Members that name the user of an item. */
const USER_NAMES = ['user_id', 'user'];
const KNOWN_USER_NAMES: ReadonlySet<string> = new Set(USER_NAMES.map(foldName));

function namedUser(holder: Members, ignored: RegExp | undefined): string | null {
  const named = new Map<string, string>();
  for (const name of USER_NAMES) {
    const member = holder.find(name);
    if (member === null) continue;
    const id = toUserText(member);
    if (id !== '' && ignored?.test(id) !== true) named.set(id, member.name);
  }
  if (named.size > 1) {
    throw new ItemFault(
      `It names two users, in ${[...named.values()].map(quoteName).join(' and ')}.`,
    );
  }
  const [user] = named.keys();
  return user ?? null;
}

function toUserText({ name, value }: { name: string; value: unknown }): string {
  const id = isFields(value) ? new Members(value).value('id', 'user_id') : value;
  if (typeof id === 'string') return id.trim();
  if (Number.isSafeInteger(id)) return String(id);
  throw new ItemFault(`Its ${quoteName(name)} is neither text nor a whole number.`);
}

/** Names of members that may be the day of an item, beside those that are known to. */
const LIKE_DATE =
  /^(?:creat|add|writ|record|sav|stor|insert|made|learn).*(?:at|on|date|time|ts|stamp|day)$|^(?:ts|when|time|datetime|day|date.*|.*timestamp)$/;

/**
 * The day of an item. Throws {@link ItemFault} for a date that can't be read, and for an item without
 * one that has a member which may be it.
 */
export function dayOfItem(item: Members, ...names: string[]): string | null {
  const day = item.day(...names);
  if (day !== null) return day;
  const known = new Set(names.map(foldName));
  const [like] =
    item
      .like(LIKE_DATE)
      .find(([name, value]) => !known.has(foldName(name)) && !Number.isNaN(parseDate(value))) ?? [];
  if (like === undefined) return null;
  throw new ItemFault(
    `It has no ${quoteName(names[0] ?? '')}, but ${quoteName(like)}, which may be its date. Call that member ${quoteName(names[0] ?? '')}, or take it out.`,
  );
}

const LIKE_TEXT =
  /^(?:memory|text|content|contents|value|fact|message|note|body|summary|data|string|input|sentence|statement|observation)s?$/;

/** That an item lacks its text, and which of its members may be it. */
export function lacksText(item: Members, name: string): ItemFault {
  const value = item.value(name);
  if (typeof value === 'string' && hasForeignBytes(value)) {
    return new ItemFault(`Its "${name}" has bytes that are not UTF-8.`);
  }
  const [like] =
    item
      .like(LIKE_TEXT)
      .find(([each, given]) => foldName(each) !== foldName(name) && typeof given === 'string') ??
    [];
  const hint = like === undefined ? '' : ` It has ${quoteName(like)}: call that member "${name}".`;
  return new ItemFault(`It has no text in "${name}".${hint}`);
}
