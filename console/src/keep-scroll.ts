import type { RouterScrollBehavior } from 'vue-router';

/** Frames to wait until a list is as long again as it was. */
const PATIENCE = 60;
const REGIONS = '#view [role="region"][aria-label]';

/**
 * Remembers how far the parts of a view are scrolled, for Back and Forward: the parts scroll, not
 * the page, so the browser does not do it.
 */
export function createScrollMemory(): {
  /** Remembers the parts of the view at this address. */
  save(address: string): void;
  restore: RouterScrollBehavior;
} {
  const saved = new Map<string, ReadonlyMap<string, number>>();
  let round = 0;

  function scroll(label: string, { top, frames, of }: { top: number; frames: number; of: number }) {
    if (of !== round) return;
    const region = regions().find(({ ariaLabel }) => ariaLabel === label);
    if (region !== undefined) region.scrollTop = top;
    // A fraction of a pixel is lost where the screen is zoomed.
    if (Math.abs((region?.scrollTop ?? -1) - top) < 1 || frames === 0) return;
    window.requestAnimationFrame(() => scroll(label, { top, frames: frames - 1, of }));
  }

  return {
    save(address) {
      const scrolled = regions().filter(({ scrollTop }) => scrollTop > 0);
      saved.set(address, new Map(scrolled.map((one) => [one.ariaLabel ?? '', one.scrollTop])));
    },
    restore(to, _from, place) {
      round += 1;
      // The router has a place only after Back and Forward.
      const tops = place === null ? undefined : saved.get(to.fullPath);
      for (const [label, top] of tops ?? []) scroll(label, { top, frames: PATIENCE, of: round });
      return false;
    },
  };
}

function regions(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(REGIONS)];
}
