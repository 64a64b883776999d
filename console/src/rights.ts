import { computed, type ComputedRef, shallowRef } from 'vue';
import type { AdminAccessRights, AdminMe } from '../../core/contracts/admin.ts';

/** A route of the admin API, as its definition names it: `POST /v1/admin/users/:userId/erase`. */
export type Need = `${'GET' | 'PUT' | 'POST' | 'DELETE'} ${string}`;

/** What the operator of this page may do, as the service says it: there is no other list of roles. */
export interface Rights {
  readonly operator: ComputedRef<AdminMe | null>;
  /** All routes of the admin API, each with its role. */
  readonly routes: ComputedRef<AdminAccessRights['routes']>;
  /** Why a request would be refused, for people; `null` if the role is enough, or nothing is known. */
  reasonAgainst(need: Need): string | null;
  set(rights: AdminAccessRights | null): void;
}

/** Makes the rights of a page; nothing is known yet. */
export function createRights(): Rights {
  const known = shallowRef<AdminAccessRights | null>(null);
  const patterns = computed(() =>
    (known.value?.routes ?? []).map((route) => ({ route, pattern: toPattern(route) })),
  );
  return {
    operator: computed(() => known.value?.operator ?? null),
    routes: computed(() => known.value?.routes ?? []),
    set: (rights) => (known.value = rights),
    reasonAgainst(need) {
      if (known.value === null) return null;
      const found =
        patterns.value.find(({ route }) => `${route.method} ${route.path}` === need) ??
        patterns.value.find(({ pattern }) => pattern.test(need));
      if (found === undefined || found.route.allowed) return null;
      if (found.route.role === 'contents') return 'Your role does not see contents.';
      return `This needs the role ${found.route.role}. You are ${tellRole(known.value.operator)}.`;
    },
  };
}

/** `viewer`, `viewer with contents`. */
export function nameRole({ role, contents }: Pick<AdminMe, 'role' | 'contents'>): string {
  return role === 'viewer' && contents ? 'viewer with contents' : role;
}

/** `a viewer without contents`, `an operator`. */
export function tellRole({ role, contents }: Pick<AdminMe, 'role' | 'contents'>): string {
  if (role === 'viewer') return contents ? 'a viewer with contents' : 'a viewer without contents';
  return `an ${role}`;
}

/** Fits the addresses of a route, and its own path. */
function toPattern({ method, path }: { method: string; path: string }): RegExp {
  const parts = path.split('/').map((part) => {
    if (part.startsWith('*')) return '.+';
    return part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${method} ${parts.join('/')}$`);
}

/** The roles in words, each with what it adds to the ones before it. */
export const ROLE_TEXTS = [
  {
    role: 'viewer',
    label: 'Viewer',
    text: 'Sees lists, figures, times and the audit, but not what files say.',
  },
  {
    role: 'contents',
    label: 'Viewer with contents',
    text: 'Also sees what files say: contents, diffs, blame, search, and what a call was shown.',
  },
  {
    role: 'operator',
    label: 'Operator',
    text: 'Also edits, reverts, restores, imports, exports, stops writes, runs dreams and uses the Playground.',
  },
  {
    role: 'admin',
    label: 'Admin',
    text: 'Also does what cannot be undone, and says who may what: redact, erase, prune, keys, operators, settings, backups.',
  },
] as const;
