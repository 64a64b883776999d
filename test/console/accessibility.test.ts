import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { serveCore } from '../core/http/serve.ts';
import { expectNoProblems, openConsole } from './support/console.ts';

type Ids = { revisionId: string; toolCallId: string };

async function filled() {
  const service = await serveCore();
  const { core } = service;
  await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: '# A\n\n[x](y) `z`\n' });
  const written = await call<{ revisionId: string }>(core, 'alice', 'memory_patch', {
    path: 'user/a.md',
    edits: [{ oldText: '# A', newText: '# B' }],
    reason: 'So it is.',
  });
  await call(core, 'alice', 'memory_read', { path: 'user/gone.md' }).catch(() => undefined);
  await call(core, 'bob', 'memory_find', { query: 'a' });
  return { service, revisionId: written.result.revisionId, toolCallId: written.toolCallId };
}

/** Each part of the console, with a text that tells that it is there. */
const PARTS: Record<string, (ids: Ids) => [path: string, shown: string][]> = {
  'the overview and the files': () => [
    ['/', 'Latest changes'],
    ['/files?path=users/alice/a.md&as=rendered', 'Nearby, last 24 hours'],
    ['/files?path=users/alice/a.md&version=1', 'Bring this version back'],
  ],
  'the revisions and the activity': ({ revisionId, toolCallId }) => [
    [`/revisions?id=${revisionId}&actor=agent`, 'Copy diff'],
    ['/activity?rows=each', 'not_found'],
    [`/activity?call=${toolCallId}`, 'Phases'],
  ],
  'the dashboard, the playground and dreams': () => [
    ['/observability', 'Most accessed files'],
    ['/playground?tool=memory_patch&user=alice', 'Patch a memory file'],
    ['/playground?show=wiring', 'Check an API key'],
    ['/dreams', 'Dream'],
  ],
};

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  it.each(Object.keys(PARTS))('no serious fault of accessibility is in %s', async (part) => {
    const { service, ...ids } = await filled();
    const opened = await openConsole({ service, context: { colorScheme } });
    for (const [path, shown] of PARTS[part]?.(ids) ?? []) {
      await opened.visit(path);
      await opened.page.getByText(shown).first().waitFor();
      expect(await seriousFaults(opened.page), path).toEqual([]);
    }
    expectNoProblems(opened);
  });

  it('none is in the lock', async () => {
    const { page } = await openConsole({ isUnlocked: false, context: { colorScheme } });
    await page.getByLabel('Admin secret').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
  });
});

async function seriousFaults(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
