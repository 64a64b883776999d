import type { Router } from 'vue-router';

/** Frames to wait until a list is as long again as it was. */
const PATIENCE = 60;
const REGIONS = '#view [role="region"][aria-label]';

/**
 * Keeps how far the parts of a view were scrolled, and scrolls them there again when the operator
 * comes back with Back or Forward.
 */
export function keepScroll(router: Router): void {
  const kept = new Map<string, ReadonlyMap<string, number>>();
  router.beforeEach((_to, from) => {
    const regions = [...document.querySelectorAll<HTMLElement>(REGIONS)];
    kept.set(from.fullPath, new Map(regions.map((one) => [one.ariaLabel ?? '', one.scrollTop])));
  });
  let isBack = false;
  window.addEventListener('popstate', () => (isBack = true));
  router.afterEach((to) => {
    const places = isBack ? kept.get(to.fullPath) : undefined;
    isBack = false;
    for (const [label, top] of places ?? []) {
      if (top > 0) scrollWhenLong(label, top, PATIENCE);
    }
  });
}

function scrollWhenLong(label: string, top: number, frames: number): void {
  window.requestAnimationFrame(() => {
    const region = [...document.querySelectorAll<HTMLElement>(REGIONS)].find(
      ({ ariaLabel }) => ariaLabel === label,
    );
    if (region !== undefined) region.scrollTop = top;
    if (region?.scrollTop !== top && frames > 0) scrollWhenLong(label, top, frames - 1);
  });
}
