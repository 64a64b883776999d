import { computed, type ComputedRef } from 'vue';
import { NAV, type NavEntry } from '../nav.ts';
import { useRights } from './session.ts';

/** The views that the operator's role may open, in the order of the navigation. */
export function useViews(): ComputedRef<readonly NavEntry[]> {
  const rights = useRights();
  return computed(() =>
    NAV.filter(({ needs }) => needs === undefined || rights.reasonAgainst(needs) === null),
  );
}
