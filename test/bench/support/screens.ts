import type { Browser, Page } from 'playwright-core';
import { ADMIN_SECRET } from './service.ts';

/** What a browser with an empty cache measured of one view. */
export interface Screen {
  /** Milliseconds from the navigation until all that was named shows. */
  shownMs: number;
  /** The largest contentful paint, in milliseconds: web.dev/articles/lcp. */
  paintMs: number;
  /** The longest task on the page's main thread, in milliseconds; 0 where none took 50: w3.org/TR/longtasks. */
  taskMs: number;
  /** The cumulative layout shift: web.dev/articles/cls, summed up over the whole load. */
  shift: number;
  /** Bytes over the wire: the page, its files, and the answers that it shows. */
  transferred: number;
}

const VIEWPORT = { width: 1440, height: 900 };
/** How long a view is watched after its last answer. */
const SETTLED_MS = 300;

const WATCH = `sessionStorage.setItem('memory-service.admin-secret', ${JSON.stringify(ADMIN_SECRET)});
window.seen = { paint: 0, shift: 0, task: 0 };
new PerformanceObserver((list) => {
  for (const { startTime } of list.getEntries()) seen.paint = startTime;
}).observe({ type: 'largest-contentful-paint', buffered: true });
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) seen.task = Math.max(seen.task, duration);
}).observe({ type: 'longtask', buffered: true });
new PerformanceObserver((list) => {
  for (const { value } of list.getEntries()) seen.shift += value;
}).observe({ type: 'layout-shift', buffered: true });`;

/** What {@link WATCH} has seen. */
interface Seen {
  paint: number;
  shift: number;
  task: number;
}

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
    const { paint, shift, task } = await page.evaluate<Seen>('seen');
    return { shownMs, paintMs: paint, taskMs: task, shift, transferred };
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

/**
 * The longest task of a page that gets so many live events a second, in milliseconds. They come from within the page, because
 * few machines make as many calls beside a browser; the first one is the newest of the service.
 */
export async function watchEvents(
  browser: Browser,
  { url, aSecond, seconds }: { url: string; aSecond: number; seconds: number },
): Promise<number> {
  return inNewPage(browser, async (page) => {
    await page.addInitScript(`window.ask = window.fetch;
      window.fetch = async (address, options) => {
        if (!String(address).includes('/events/stream')) return ask(address, options);
        const list = String(address).replace(/\\/stream.*/, '?limit=1');
        const [event] = (await (await ask(list, { headers: options.headers })).json()).items;
        const encoder = new TextEncoder();
        let number = 0;
        const body = new ReadableStream({
          start(stream) {
            setInterval(() => {
              for (let n = 0; n < ${aSecond} / 50; n += 1) {
                number += 1;
                const data = JSON.stringify({ ...event, id: event.id + number });
                stream.enqueue(encoder.encode('id: ' + event.id + number + '\\ndata: ' + data + '\\n\\n'));
              }
            }, 20);
          },
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      };`);
    await page.goto(url, { waitUntil: 'commit' });
    const live = page.getByRole('region', { name: 'Live events', exact: true });
    await live.getByText(/came too fast to be shown/).waitFor();
    await page.waitForTimeout(1_000);
    await page.evaluate('seen.task = 0');
    await page.waitForTimeout(seconds * 1_000);
    return (await page.evaluate<Seen>('seen')).task;
  });
}
