import type { Settings } from '../config/settings.ts';
import { ConfigError } from '../config/error.ts';
import type { Operator, Role, RouteRole } from '../contracts/access.ts';
import { MemoryError } from '../errors.ts';

/** The operator with the secret of the configuration. */
export const SERVICE_OPERATOR: Operator = { name: 'admin', role: 'admin', contents: true };

/** Every role, each after those whose rights it has. */
const ROLES: readonly RouteRole[] = ['viewer', 'contents', 'operator', 'admin'];
const MIN_SECRET = 32;
const NAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,128}$/u;

/** Throws `ROLE_NOT_ALLOWED` unless an operator may use a route with this role. */
export function checkRole(operator: Operator | null, needed: RouteRole): void {
  if (operator !== null && mayUse(operator, needed)) return;
  const message =
    needed === 'contents'
      ? 'This shows contents, which your role does not see.'
      : `This needs the role ${needed}.`;
  throw new MemoryError('ROLE_NOT_ALLOWED', message, { details: { role: needed } });
}

/** Whether an operator may use a route with this role. */
export function mayUse(operator: Operator, needed: RouteRole): boolean {
  return ROLES.indexOf(rankOf(operator)) >= ROLES.indexOf(needed);
}

function rankOf({ role, contents }: Operator): RouteRole {
  return role === 'viewer' && contents ? 'contents' : role;
}

/** How a proxy signs operators in. */
export interface ProxySignIn {
  secret: string;
  /** Lower-case. */
  header: string;
  /** The roles by name; of several names that end alike, the first one counts. */
  roles: readonly ({ pattern: string } & Omit<Operator, 'name'>)[];
  /** The operator of this name; `null` for one without a role. */
  find(name: string): Operator | null;
}

/**
 * The sign-in by a proxy; `null` if none is configured. Throws a `ConfigError` for half of one, for roles
 * that mean nothing, and for a secret that is short or like another one.
 */
export function createProxySignIn(
  settings: Pick<
    Settings,
    'operatorHeader' | 'operatorRoles' | 'proxySecret' | 'trustProxy' | 'apiKey' | 'adminSecret'
  >,
): ProxySignIn | null {
  const { operatorHeader, operatorRoles, proxySecret } = settings;
  const given = [operatorHeader, operatorRoles, proxySecret].filter((one) => one !== null);
  if (given.length === 0) return null;
  if (operatorHeader === null || operatorRoles === null || proxySecret === null) {
    throw wrong(
      'operatorHeader',
      'SERVICE_OPERATOR_HEADER, SERVICE_OPERATOR_ROLES and SERVICE_PROXY_SECRET go together: set all of them, or none',
    );
  }
  if (!settings.trustProxy) {
    throw wrong('trustProxy', 'SERVICE_OPERATOR_HEADER needs SERVICE_TRUST_PROXY=true');
  }
  if (proxySecret.length < MIN_SECRET) {
    throw wrong('proxySecret', `SERVICE_PROXY_SECRET needs ${MIN_SECRET} characters or more`);
  }
  if ([settings.adminSecret, ...(settings.apiKey ?? [])].includes(proxySecret)) {
    throw wrong('proxySecret', 'SERVICE_PROXY_SECRET must be unlike the other secrets');
  }
  const entries = operatorRoles.map(parseRole);
  return {
    secret: proxySecret,
    header: operatorHeader.toLowerCase(),
    roles: entries.map(({ pattern, role, contents }) => ({ pattern, role, contents })),
    find(name) {
      if (!NAME.test(name) || name.trim() !== name || name === SERVICE_OPERATOR.name) return null;
      const exact = entries.find(({ pattern }) => pattern === name);
      const found = exact ?? entries.find(({ end }) => end !== null && name.endsWith(end));
      return found === undefined ? null : { name, role: found.role, contents: found.contents };
    },
  };
}

/** `alice@example.com:admin`, `*@example.com:viewer+contents`: the first pattern counts. */
function parseRole(entry: string): {
  pattern: string;
  /** What a name ends with; `null` for one name. */
  end: string | null;
  role: Role;
  contents: boolean;
} {
  const colon = entry.lastIndexOf(':');
  const pattern = entry.slice(0, colon);
  const [role, contents, ...rest] = entry.slice(colon + 1).split('+');
  const isRole = role === 'viewer' || role === 'operator' || role === 'admin';
  const isWhole =
    rest.length === 0 && (contents === undefined || (contents === 'contents' && role === 'viewer'));
  const star = pattern.lastIndexOf('*');
  if (colon < 1 || !isRole || !isWhole || star > 0) {
    throw wrong(
      'operatorRoles',
      `SERVICE_OPERATOR_ROLES: ${entry} must be a name, or * and the end of names, a colon, and viewer, viewer+contents, operator or admin`,
    );
  }
  const sees = role !== 'viewer' || contents !== undefined;
  return { pattern, end: star === 0 ? pattern.slice(1) : null, role, contents: sees };
}

function wrong(key: string, message: string): ConfigError {
  return new ConfigError(key, `${message}.`);
}
