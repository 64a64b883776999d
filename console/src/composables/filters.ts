import { computed, type ComputedRef } from 'vue';
import { useRoute, useRouter } from 'vue-router';
import { toWords } from '../story.ts';

/** A filter of a list, as its view names it. */
export interface FilterDefinition {
  /** The parameter's name in the API and in the URL. */
  name: string;
  label: string;
  kind: 'text' | 'choice' | 'time';
  /** The options of a choice. */
  options?: readonly string[];
  /** What an option is called, where that is not its value in words. */
  nameOf?: (option: string) => string;
  placeholder?: string;
  /** The suggestions for a text; users come from the service. */
  suggests?: 'users' | 'spaces' | 'keys' | 'operators' | 'actors' | 'tools';
}

/** A value of a filter, as a reader knows it. */
export function describeValue({ kind, nameOf = toWords }: FilterDefinition, value: string): string {
  return kind === 'choice' ? nameOf(value) : value;
}

/** Whose memory: a user's, or that of a space. */
export const OWNER_FILTERS: readonly FilterDefinition[] = [
  { name: 'userId', label: 'User', kind: 'text', suggests: 'users' },
  { name: 'spaceId', label: 'Space', kind: 'text', suggests: 'spaces' },
];

/** The values of {@link OWNER_FILTERS}. */
export interface OwnerFilter {
  userId?: string;
  spaceId?: string;
}

/** The filters of a view. They live in its URL, so that a link shows the same screen. */
export interface Filters {
  readonly values: ComputedRef<Readonly<Record<string, string>>>;
  set(changes: Readonly<Record<string, string | null>>): void;
  clear(): void;
}

/** Reads and writes the filters in `definitions`. Other URL parameters do not change. */
export function useFilters(definitions: readonly FilterDefinition[]): Filters {
  const route = useRoute();
  const router = useRouter();
  const names = definitions.map(({ name }) => name);

  const values = computed(() => {
    const found: Record<string, string> = {};
    for (const name of names) {
      const value = route.query[name];
      if (typeof value === 'string' && value !== '') found[name] = value;
    }
    return found;
  });

  function set(changes: Readonly<Record<string, string | null>>): void {
    const query = { ...route.query };
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === '') delete query[name];
      else query[name] = value;
    }
    void router.push({ query });
  }

  return {
    values,
    set,
    clear: () => set(Object.fromEntries(names.map((name) => [name, null]))),
  };
}

/** One URL parameter, `null` if absent. Writing it keeps the others. */
export function useQueryValue(name: string): {
  readonly value: ComputedRef<string | null>;
  set(value: string | null, options?: { replace?: boolean }): void;
} {
  const route = useRoute();
  const router = useRouter();
  return {
    value: computed(() => {
      const value = route.query[name];
      return typeof value === 'string' && value !== '' ? value : null;
    }),
    set(value, { replace = false } = {}) {
      const query = { ...route.query };
      if (value === null || value === '') delete query[name];
      else query[name] = value;
      void (replace ? router.replace({ query }) : router.push({ query }));
    },
  };
}
