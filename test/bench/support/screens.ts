import type { Browser, Page } from 'playwright-core';
import { ADMIN_SECRET } from './service.ts';

/** What a browser with an empty cache measured of one view. */
export interface Screen {
  /** Milliseconds from the navigation until all that was named shows. */
  shownMs: number;
  /** The largest contentful paint, in milliseconds: web.dev/articles/lcp. */
  paintMs: number;
  /** The cumulative layout shift: web.dev/articles/cls, summed up over the whole load. */
  shift: number;
  /** Bytes over the wire: the page, its files, and the answers that it shows. */
  transferred: number;
}

const VIEWPORT = { width: 1440, height: 900 };
/** How long a view is watched after its last answer. */
const SETTLED_MS = 300;

const WATCH = `sessionStorage.setItem('memory-service.admin-secret', ${JSON.stringify(ADMIN_SECRET)});
window.seen = { paint: 0, shift: 0 };
new PerformanceObserver((list) => {
  for (const { startTime } of list.getEntries()) seen.paint = startTime;
}).observe({ type: 'largest-contentful-paint', buffered: true });
new PerformanceObserver((list) => {
  for (const { value } of list.getEntries()) seen.shift += value;
}).observe({ type: 'layout-shift', buffered: true });`;

async function inNewPage<Result>(
  browser: Browser,
  work: (page: Page) => Promise<Result>,
): Promise<Result> {
  const context = await browser.newContext({ viewport: VIEWPORT });
  try {
    const page = await context.newPage();
    await page.addInitScript(WATCH);
    return await work(page);
  } finally {
    await context.close();
  }
}

/** Opens a view as the first one; `shown` are the selectors of what it has to show. */
export async function openScreen(
  browser: Browser,
  { url, shown }: { url: string; shown: readonly string[] },
): Promise<Screen> {
  return inNewPage(browser, async (page) => {
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    let transferred = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      transferred += encodedDataLength;
    });
    const started = performance.now();
    await page.goto(url, { waitUntil: 'commit' });
    await Promise.all(shown.map((selector) => page.locator(selector).first().waitFor()));
    const shownMs = performance.now() - started;
    await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' });
    await page.waitForTimeout(SETTLED_MS);
    const { paint, shift } = await page.evaluate<{ paint: number; shift: number }>('seen');
    return { shownMs, paintMs: paint, shift, transferred };
  });
}

/**
 * Scrolls a list to its end, a screen and a half per frame. Returns the longest frame in milliseconds.
 * `more` is the label of the button that draws more rows. `last` is the text at the end of the list.
 */
export async function scrollThrough(
  browser: Browser,
  { url, list, more, last }: { url: string; list: string; more?: string; last: string },
): Promise<number> {
  return inNewPage(browser, async (page) => {
    await page.goto(url, { waitUntil: 'commit' });
    await page.locator(list).waitFor();
    await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' });
    await page.waitForTimeout(SETTLED_MS);
    await page.evaluate(`window.longest = 0;
      (function scroll(before) {
        requestAnimationFrame((now) => {
          if (before !== null) longest = Math.max(longest, now - before);
          const list = document.querySelector(${JSON.stringify(list)});
          const more = ${more === undefined ? 'null' : `[...list.querySelectorAll('button')].find(({ textContent }) => textContent.trim() === ${JSON.stringify(more)})`};
          if (list.scrollTop + list.clientHeight >= list.scrollHeight - 1) more?.click();
          list.scrollTop += 1350;
          scroll(now);
        });
      })(null);`);
    await page.locator(list).getByText(last, { exact: true }).waitFor({ timeout: 120_000 });
    return page.evaluate<number>('longest');
  });
}
