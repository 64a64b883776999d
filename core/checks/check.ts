import { nearest } from '../values/nearest.ts';
import { takeStart } from '../encoding/take-text.ts';
import { MemoryError } from '../errors.ts';
import type { ScopeKey } from '../contracts/records.ts';
import {
  parsePhysicalPath,
  parseSpaceId,
  parseUserId,
  parseVirtualPath,
  toScope,
} from '../files/paths.ts';
import { toLinearPattern } from '../screening/linear-pattern.ts';
import { PatternError } from '../screening/pattern-tree.ts';

/** What a check looks for in texts. */
export type Sought =
  | { kind: 'text'; text: string }
  | { kind: 'pattern'; find: (text: string) => { start: number; end: number }[] }
  | { kind: 'secret' }
  | { kind: 'expired' };

/** The memory that a check is about. A path is physical; for one user it may be virtual. */
export type Target =
  | { kind: 'user'; userId: string; path: string | null }
  | { kind: 'space'; spaceId: string; path: string | null }
  | { kind: 'path'; path: string }
  /** Each user's memory by itself; `path` is virtual. */
  | { kind: 'each_user'; path: string | null }
  | { kind: 'everywhere' };

/** What must hold. */
export type Rule =
  | {
      kind: 'ask';
      question: string;
      line: string | null;
      path: string | null;
      /** The rank at which it must stand, at most. */
      within: number;
      /** Whether it has to stand in the context of the question. */
      isContext: boolean;
    }
  | { kind: 'contains' | 'absent' | 'at_most_one_line'; sought: Sought }
  | { kind: 'exists'; isWanted: boolean }
  | { kind: 'max_bytes'; bytes: number }
  | { kind: 'hygiene' };

/** A check: a name, whose memory, and what must hold there. */
export interface Check {
  name: string;
  target: Target;
  rule: Rule;
}

/** A mistake in checks. */
export interface CheckMistake {
  /** A JSON pointer, as in `/checks/0/expect`. */
  path: string;
  message: string;
}

const MOST_CHECKS = 1_000;
const MOST_WITHIN = 50;
const DEFAULT_WITHIN = 10;
const NAME_LENGTH = 200;
const TEXT_LENGTH = 10_000;
const TARGETS = ['user', 'space', 'path', 'each_user', 'everywhere'] as const;
const RULES = [
  'ask',
  'contains',
  'absent',
  'at_most_one_line',
  'exists',
  'max_bytes',
  'hygiene',
] as const;
const EXPECT = ['line', 'path', 'within', 'context'] as const;
const DELIMITED = /^\/(.+)\/(i?)$/s;
/** A pattern that finds something in all of these finds something in any text. */
const PROBES = ['a', 'Z', '7', '- tea', '漢字', '…', 'é,'];

type Fields = Readonly<Record<string, unknown>>;
type RuleKind = (typeof RULES)[number];

/**
 * Reads checks, and all mistakes in them at once: names that are not known with the nearest one, patterns
 * that are not valid or match any text, values of another kind. Nothing is looked up in memory.
 */
export function parseChecks(value: unknown): { checks: Check[]; mistakes: CheckMistake[] } {
  const parser = new Parser();
  const checks = parser.readAll(value);
  return { checks, mistakes: parser.mistakes };
}

/** {@link parseChecks} for a request. Throws `INVALID_REQUEST`. */
export function parseRequestedChecks(value: unknown): Check[] {
  const { checks, mistakes } = parseChecks(value);
  const [first] = mistakes;
  if (first === undefined) return checks;
  const more = mistakes.length === 1 ? '' : ` There are ${mistakes.length} mistakes.`;
  throw new MemoryError('INVALID_REQUEST', `${first.path} ${first.message}.${more}`, {
    details: { issues: mistakes },
  });
}

/** The one memory that a check is about; `null` for several. */
export function scopeOf({ target }: Pick<Check, 'target'>): ScopeKey | null {
  if (target.kind === 'user') return toScope({ userId: target.userId });
  if (target.kind === 'space') return toScope({ spaceId: target.spaceId });
  return target.kind === 'path' ? parsePhysicalPath(target.path).scope : null;
}

class Parser {
  readonly mistakes: CheckMistake[] = [];

  readAll(value: unknown): Check[] {
    const file = this.#fields(value, '', ['checks']);
    if (file === null) return [];
    const { checks } = file;
    if (!Array.isArray(checks) || checks.length === 0) {
      this.#add('/checks', 'must be a list of at least one check');
      return [];
    }
    if (checks.length > MOST_CHECKS) {
      this.#add('/checks', `has ${checks.length} checks; at most ${MOST_CHECKS} are run`);
      return [];
    }
    const names = new Map<string, number>();
    return checks.flatMap((item, at): Check[] => {
      const check = this.#readCheck(item, `/checks/${at}`);
      if (check === null) return [];
      const other = names.get(check.name);
      if (other !== undefined) {
        this.#add(`/checks/${at}/name`, `is the name of check ${other + 1}, too`);
      }
      names.set(check.name, at);
      return [check];
    });
  }

  #readCheck(value: unknown, at: string): Check | null {
    const fields = this.#fields(value, at, ['name', ...TARGETS, ...RULES, 'expect']);
    if (fields === null) return null;
    const name = this.#text(fields['name'], `${at}/name`, NAME_LENGTH);
    const all = (['each_user', 'everywhere'] as const).filter((key) => fields[key] !== undefined);
    const places = (['user', 'space', 'path'] as const).filter((key) => fields[key] !== undefined);
    const [nested] = all;
    if (all.length > 1 || (nested !== undefined && places.length > 0)) {
      this.#add(at, `has ${[...all, ...places].join(' and ')}: a check is about one memory`);
      return null;
    }
    if (nested === undefined && places.length === 0) {
      this.#add(at, `needs one of ${TARGETS.join(', ')}: whose memory it is about`);
      return null;
    }
    const inner =
      nested === undefined
        ? fields
        : this.#fields(fields[nested], `${at}/${nested}`, [
            ...(nested === 'each_user' ? ['path'] : []),
            ...RULES.filter((rule) => rule !== 'ask'),
          ]);
    const within = nested === undefined ? at : `${at}/${nested}`;
    if (inner === null) return null;
    const target = this.#readTarget(nested ?? null, inner, within);
    const rule = this.#readRule(inner, within, fields['expect']);
    if (target === null || rule === null || name === null) return null;
    const fault = findFault(target, rule);
    if (fault === null) return { name, target, rule };
    this.#add(within, fault);
    return null;
  }

  #readTarget(
    nested: 'each_user' | 'everywhere' | null,
    fields: Fields,
    at: string,
  ): Target | null {
    if (nested === 'everywhere') return { kind: nested };
    const given = fields['path'];
    const path = given === undefined ? null : this.#text(given, `${at}/path`, TEXT_LENGTH);
    if (given !== undefined && path === null) return null;
    if (nested === 'each_user') {
      const isGood = path === null || this.#try(`${at}/path`, () => toOwnPath(path, 'anyone'));
      return isGood ? { kind: nested, path } : null;
    }
    if (fields['user'] !== undefined) {
      const userId = this.#text(fields['user'], `${at}/user`, 128);
      if (userId === null || !this.#try(`${at}/user`, () => parseUserId(userId))) return null;
      const isGood = path === null || this.#try(`${at}/path`, () => toOwnPath(path, userId));
      return isGood ? { kind: 'user', userId, path: toPhysical(path, userId) } : null;
    }
    if (fields['space'] !== undefined) {
      const spaceId = this.#text(fields['space'], `${at}/space`, 128);
      if (spaceId === null || !this.#try(`${at}/space`, () => parseSpaceId(spaceId))) return null;
      const isGood = path === null || this.#try(`${at}/path`, () => parsePhysicalPath(path));
      return isGood ? { kind: 'space', spaceId, path } : null;
    }
    if (path === null || !this.#try(`${at}/path`, () => parsePhysicalPath(path))) return null;
    return { kind: 'path', path };
  }

  #readRule(fields: Fields, at: string, expect: unknown): Rule | null {
    const kinds = RULES.filter((kind) => fields[kind] !== undefined);
    const [kind] = kinds;
    if (kind === undefined || kinds.length > 1) {
      const found = kinds.length === 0 ? '' : `, not ${kinds.join(' and ')}`;
      this.#add(at, `needs exactly one of ${RULES.join(', ')}${found}`);
      return null;
    }
    if (expect !== undefined && kind !== 'ask') {
      this.#add(`${at}/expect`, 'belongs to ask');
      return null;
    }
    return this.#readRuleOf(kind, fields[kind], { at: `${at}/${kind}`, expect, outer: at });
  }

  #readRuleOf(
    kind: RuleKind,
    value: unknown,
    { at, expect, outer }: { at: string; expect: unknown; outer: string },
  ): Rule | null {
    switch (kind) {
      case 'ask':
        return this.#readAsk(value, at, { expect, outer });
      case 'exists':
        if (typeof value === 'boolean') return { kind, isWanted: value };
        this.#add(at, 'must be true or false');
        return null;
      case 'max_bytes':
        if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) {
          return { kind, bytes: value };
        }
        this.#add(at, 'must be a whole number of bytes');
        return null;
      case 'hygiene':
        if (value === 'none') return { kind };
        this.#add(at, 'must be none');
        return null;
      case 'contains':
      case 'absent':
      case 'at_most_one_line': {
        const sought = this.#readSought(value, at, { isAbsent: kind === 'absent' });
        return sought === null ? null : { kind, sought };
      }
    }
  }

  #readAsk(
    value: unknown,
    at: string,
    { expect, outer }: { expect: unknown; outer: string },
  ): Rule | null {
    const question = this.#text(value, at, TEXT_LENGTH);
    if (expect === undefined) {
      this.#add(outer, 'needs expect: what the question has to find');
      return null;
    }
    const fields = this.#fields(expect, `${outer}/expect`, EXPECT);
    if (fields === null || question === null) return null;
    const { within = DEFAULT_WITHIN, context = false } = fields;
    const texts = (['line', 'path'] as const).map((key) =>
      fields[key] === undefined
        ? null
        : this.#text(fields[key], `${outer}/expect/${key}`, TEXT_LENGTH),
    );
    const [line = null, path = null] = texts;
    if (fields['line'] === undefined && fields['path'] === undefined) {
      this.#add(`${outer}/expect`, 'needs line or path');
      return null;
    }
    if (!Number.isSafeInteger(within) || Number(within) < 1 || Number(within) > MOST_WITHIN) {
      this.#add(`${outer}/expect/within`, `must be a rank from 1 to ${MOST_WITHIN}`);
      return null;
    }
    if (typeof context !== 'boolean') {
      this.#add(`${outer}/expect/context`, 'must be true or false');
      return null;
    }
    if (line === null && path === null) return null;
    return { kind: 'ask', question, line, path, within: Number(within), isContext: context };
  }

  #readSought(value: unknown, at: string, { isAbsent }: { isAbsent: boolean }): Sought | null {
    if (typeof value === 'object' && value !== null && isAbsent) {
      const fields = this.#fields(value, at, ['secret', 'expired']);
      if (fields === null) return null;
      const kinds = (['secret', 'expired'] as const).filter((kind) => fields[kind] === true);
      const [kind] = kinds;
      if (kind !== undefined && kinds.length === 1) return { kind };
      this.#add(at, 'must be a text, { secret: true } or { expired: true }');
      return null;
    }
    const text = this.#text(value, at, TEXT_LENGTH);
    if (text === null) return null;
    const [, source, flags] = DELIMITED.exec(text) ?? [];
    if (source === undefined) return { kind: 'text', text };
    try {
      const { find } = toLinearPattern(source, { ignoreCase: flags === 'i' });
      if (PROBES.every((probe) => find(probe).length > 0)) {
        this.#add(at, 'matches any text');
        return null;
      }
      return { kind: 'pattern', find };
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      this.#add(at, error.message);
      return null;
    }
  }

  /** The fields of an object of which all names are known. */
  #fields(value: unknown, at: string, known: readonly string[]): Fields | null {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#add(at, `must have fields, of ${known.join(', ')}`);
      return null;
    }
    let isKnown = true;
    for (const name of Object.keys(value)) {
      if (known.includes(name)) continue;
      isKnown = false;
      const likely = nearest(name, known);
      const hint =
        likely === null ? `the fields are ${known.join(', ')}` : `did you mean ${likely}?`;
      this.#add(`${at}/${toPointer(name)}`, `is not known: ${hint}`);
    }
    return isKnown ? (value as Fields) : null;
  }

  #text(value: unknown, at: string, longest: number): string | null {
    const isText = typeof value === 'string' && value.trim() !== '' && value.length <= longest;
    if (isText) return value;
    this.#add(
      at,
      value === undefined ? 'is missing' : `must be a text of 1 to ${longest} characters`,
    );
    return null;
  }

  #try(at: string, parse: () => unknown): boolean {
    try {
      parse();
      return true;
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      this.#add(at, `is not valid: ${error.message.replace(/\.$/, '')}`);
      return false;
    }
  }

  #add(path: string, message: string): void {
    this.mistakes.push({ path, message });
  }
}

function toPointer(name: string): string {
  return takeStart(name.replaceAll('~', '~0').replaceAll('/', '~1'), 100);
}

/** A path of one user's memory: virtual, or physical. */
function toOwnPath(path: string, userId: string): void {
  if (path.startsWith(`users/${userId}/`)) parsePhysicalPath(path);
  else if (path.startsWith('user/')) parseVirtualPath(path, { userId: parseUserId(userId) });
  else throw new MemoryError('INVALID_PATH', 'It must be below user/.');
}

function toPhysical(path: string | null, userId: string): string | null {
  return path?.startsWith('user/') === true ? `users/${userId}/${path.slice(5)}` : path;
}

/** Why a rule can't be looked at in a memory; `null` if it can. */
function findFault(target: Target, rule: Rule): string | null {
  const isFile = 'path' in target && target.path !== null;
  switch (rule.kind) {
    case 'ask':
      return target.kind === 'user' && !isFile ? null : 'has ask, which needs a user, and no path';
    case 'exists':
      return isFile ? null : 'has exists, which needs a path';
    case 'hygiene':
      return (target.kind === 'user' || target.kind === 'each_user') && !isFile
        ? null
        : 'has hygiene, which needs a user or each_user, and no path';
    default:
      return null;
  }
}
