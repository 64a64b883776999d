import { describe, expect, it } from 'vitest';
import { dreaming } from '../../plugins/dreaming/index.ts';
import { lines, openDreams, operation } from '../plugins/dreaming/dream-service.ts';
import { expectCount, expectNoProblems, go, openConsole } from './support/console.ts';

describe('dreams', () => {
  it('propose to a person, who sees the diff, applies it, and undoes it again', async () => {
    const service = await openDreams({ settings: { dream_mode: 'review' } });
    const content = '# Preferences\n\n- Tea in the morning\n- Tea in the morning\n';
    await service.write('alice', 'user/preferences.md', content);
    service.say(() => ({
      operations: [
        operation({
          kind: 'merge',
          reason: 'It stood there twice.',
          remove: lines('user/preferences.md', content, 4),
          sources: [{ path: 'user/preferences.md', line: 3 }],
        }),
      ],
    }));
    const opened = await openConsole({ service, path: '/dreams' });
    const { page } = opened;
    await page.getByRole('row', { name: /alice/ }).getByRole('button', { name: 'Run now' }).click();
    const panel = page.getByRole('dialog', { name: 'Dream run' });
    await panel.getByText('awaiting review', { exact: true }).waitFor();
    await panel.getByText('- Tea in the morning', { exact: true }).first().waitFor();
    expect(await service.read('alice', 'user/preferences.md')).toBe(content);

    await panel.getByRole('button', { name: 'Apply' }).click();
    await panel.getByRole('button', { name: 'Revert the run' }).waitFor();
    expect(await service.read('alice', 'user/preferences.md')).toBe(
      '# Preferences\n\n- Tea in the morning\n',
    );
    await panel.getByRole('button', { name: 'Revert the run' }).click();
    await panel.getByText('reverted', { exact: true }).first().waitFor();
    expect(await service.read('alice', 'user/preferences.md')).toBe(content);
    expectNoProblems(opened);
  });

  it('that are tried, or rejected, leave memory as it is, and the activity leads to them', async () => {
    const service = await openDreams({ settings: { dream_mode: 'review' } });
    const content = '- Tea in the morning\n- Tea in the morning\n';
    await service.write('alice', 'user/preferences.md', content);
    service.say(() => ({
      operations: [
        operation({
          kind: 'merge',
          remove: lines('user/preferences.md', content, 2),
          sources: [{ path: 'user/preferences.md', line: 1 }],
        }),
      ],
    }));
    const opened = await openConsole({ service, path: '/dreams' });
    const { page } = opened;
    const row = page.getByRole('row', { name: /alice/ }).first();
    await row.getByRole('button', { name: 'Dry run' }).click();
    const panel = page.getByRole('dialog', { name: 'Dream run' });
    await panel.getByText('dry run', { exact: true }).waitFor();
    await panel.getByText('- Tea in the morning', { exact: true }).first().waitFor();
    await expectCount(panel.getByRole('button', { name: /^(?:Apply|Reject)$/ }), 0);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });

    await row.getByRole('button', { name: 'Run now' }).click();
    await panel.getByRole('button', { name: 'Reject' }).click();
    await panel.getByText('rejected', { exact: true }).first().waitFor();
    await expectCount(panel.getByRole('button', { name: 'Apply' }), 0);
    expect(await service.read('alice', 'user/preferences.md')).toBe(content);
    const { items } = await service.core.revisions.list({ actor: 'dream-agent' });
    expect(items).toEqual([]);

    await go(page, '/activity?actor=dream-agent');
    await page
      .getByRole('button', { name: /^Read preferences\.md/ })
      .first()
      .click();
    await panel.getByText('rejected', { exact: true }).first().waitFor();
    expectNoProblems(opened);
  });

  it('say that there is no model, and how to configure one', async () => {
    const opened = await openConsole({ path: '/dreams', config: { plugins: [dreaming()] } });
    await opened.page.getByText('No model is configured').waitFor();
    await opened.page.getByText(/Set SERVICE_MODEL_PROVIDER/).waitFor();
    expectNoProblems(opened);
  });

  it('say what a run did not look at, and why', async () => {
    const service = await openDreams();
    await service.write('alice', 'user/small.md', 'Likes tea.\n');
    await service.write('alice', 'user/large.md', 'A line of a long list.\n'.repeat(10_000));
    service.say(() => ({ operations: [] }));
    const opened = await openConsole({ service, path: '/dreams' });
    const { page } = opened;
    await page.getByRole('row', { name: /alice/ }).getByRole('button', { name: 'Run now' }).click();
    const panel = page.getByRole('dialog', { name: 'Dream run' });
    const part = panel.getByRole('region', { name: 'Files not read' });
    await part.getByText('users/alice/large.md').waitFor();
    expect(await part.getByRole('listitem').count()).toBe(1);
    expectNoProblems(opened);
  });

  it('are paused for one user, switched off for all, and keep to their bounds', async () => {
    const service = await openDreams();
    await service.write('alice', 'user/a.md', 'a\n');
    const opened = await openConsole({ service, path: '/dreams' });
    const { page } = opened;
    const row = page.getByRole('row', { name: /alice/ });
    await row.getByRole('button', { name: 'Pause alice' }).click();
    await row.getByRole('button', { name: 'Resume alice' }).waitFor();
    await page.getByLabel('Write budget, writes per run').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).first().waitFor();
    await page.getByRole('switch', { name: 'Dreaming enabled' }).click();
    await page.getByText('Dreaming disabled', { exact: true }).first().waitFor();
    const { json } = await service.admin('GET', 'dream/config');
    expect(json).toMatchObject({ dream_enabled: false, dream_max_writes: 7 });
    await page.getByLabel('Write budget, writes per run').fill('101');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('input:focus:invalid').waitFor();
    expect((await service.admin('GET', 'dream/config')).json.dream_max_writes).toBe(7);
    expectNoProblems(opened);
  });
});
