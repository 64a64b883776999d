import { computed, type ComputedRef, type InjectionKey, ref, type Ref, watch } from 'vue';
import { need } from './inject.ts';

/** How often figures are read again, and lists look for more. */
export const REFRESHES = {
  '1m': { label: 'every minute', ms: 60_000 },
  off: { label: 'off', ms: false },
  '10s': { label: 'every 10 s', ms: 10_000 },
  '30s': { label: 'every 30 s', ms: 30_000 },
  '5m': { label: 'every 5 min', ms: 300_000 },
} as const;
export type RefreshName = keyof typeof REFRESHES;

/** Display preferences, the only data in `localStorage`. */
export interface Preferences {
  readonly theme: Ref<'light' | 'dark' | 'system'>;
  readonly isDark: ComputedRef<boolean>;
  readonly zone: Ref<'local' | 'utc'>;
  readonly diffStyle: Ref<'split' | 'inline'>;
  readonly refresh: Ref<RefreshName>;
  /** The counted values beside a list. */
  readonly facets: Ref<'shown' | 'hidden'>;
  /** The first steps, which begin where there is no memory yet. */
  readonly firstSteps: Ref<'none' | 'shown' | 'dismissed'>;
  /** Whether this browser has shown a trace. */
  readonly traceSeen: Ref<'no' | 'yes'>;
  /** The line on what search by meaning would add. */
  readonly meaningHint: Ref<'shown' | 'dismissed'>;
}

const preferencesKey: InjectionKey<Preferences> = Symbol('preferences');
export { preferencesKey };

/** The preferences. */
export const usePreferences = (): Preferences => need(preferencesKey);

/** Loads the preferences and applies the colours. */
export function createPreferences(): Preferences {
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  const isSystemDark = ref(system.matches);
  system.addEventListener('change', (event) => (isSystemDark.value = event.matches));

  const theme = kept('theme', ['system', 'light', 'dark'] as const);
  const zone = kept('zone', ['local', 'utc'] as const);
  const diffStyle = kept('diff', ['split', 'inline'] as const);
  const refresh = kept('refresh', Object.keys(REFRESHES) as [RefreshName, ...RefreshName[]]);
  const facets = kept('facets', ['shown', 'hidden'] as const);
  const firstSteps = kept('first-steps', ['none', 'shown', 'dismissed'] as const);
  const traceSeen = kept('trace-seen', ['no', 'yes'] as const);
  const meaningHint = kept('meaning-hint', ['shown', 'dismissed'] as const);
  const isDark = computed(() =>
    theme.value === 'system' ? isSystemDark.value : theme.value === 'dark',
  );
  watch(
    isDark,
    (dark) => {
      document.documentElement.classList.toggle('dark', dark);
      document.documentElement.classList.toggle('light', !dark);
    },
    { immediate: true },
  );
  return { theme, isDark, zone, diffStyle, refresh, facets, firstSteps, traceSeen, meaningHint };
}

/** A stored choice; the first of `allowed` is the default. */
function kept<T extends string>(name: string, allowed: readonly [T, ...T[]]): Ref<T> {
  const key = `memory-service.${name}`;
  const before = window.localStorage.getItem(key);
  const value = ref(allowed.find((one) => one === before) ?? allowed[0]) as Ref<T>;
  watch(value, (now) => window.localStorage.setItem(key, now));
  return value;
}
