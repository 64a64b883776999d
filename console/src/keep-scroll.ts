import type { RouterScrollBehavior } from 'vue-router';

/** Frames to wait until a list is as long again as it was. */
const PATIENCE = 60;
const PARTS = '#view :is([role="region"][aria-label], [role="tree"], [data-scroll])';

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

  function scroll(name: string, { top, frames, of }: { top: number; frames: number; of: number }) {
    if (of !== round) return;
    const part = listParts().find((one) => nameOf(one) === name);
    if (part !== undefined) part.scrollTop = top;
    // A fraction of a pixel is lost where the screen is zoomed.
    if (Math.abs((part?.scrollTop ?? -1) - top) < 1 || frames === 0) return;
    window.requestAnimationFrame(() => scroll(name, { top, frames: frames - 1, of }));
  }

  return {
    save(address) {
      const scrolled = listParts().filter(({ scrollTop }) => scrollTop > 0);
      saved.set(address, new Map(scrolled.map((one) => [nameOf(one), one.scrollTop])));
    },
    restore(to, _from, place) {
      round += 1;
      // The router has a place only after Back and Forward.
      const tops = place === null ? undefined : saved.get(to.fullPath);
      const of = round;
      // A frame later: a part may first scroll to what the address names.
      window.requestAnimationFrame(() => {
        for (const [name, top] of tops ?? []) scroll(name, { top, frames: PATIENCE, of });
      });
      return false;
    },
  };
}

function listParts(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(PARTS)];
}

function nameOf({ dataset, ariaLabel }: HTMLElement): string {
  return dataset['scroll'] ?? ariaLabel ?? '';
}
