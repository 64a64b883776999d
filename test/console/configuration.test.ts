import { describe, expect, it } from 'vitest';
import { SETTING_KEYS } from '../../core/config/settings.ts';
import { groupSettings } from '../../console/src/configuration.ts';
import { serveCore } from '../core/http/serve.ts';
import { expectNoProblems, expectUrl, jump, openConsole } from './support/console.ts';

describe('the configuration', () => {
  it('says what is set, where it comes from, and how to set what is not', async () => {
    const service = await serveCore({ limits: { maxFilesPerUser: 7 } });
    const opened = await openConsole({ service });
    const { page } = opened;
    await page.getByText('No memory yet').waitFor();
    await jump(page, 'g', ',');
    const limits = page.getByRole('region', { name: 'Limits' });
    await limits.getByText('limits.maxFilesPerUser', { exact: true }).waitFor();
    await limits.getByText('code, limits.maxFilesPerUser').waitFor();
    await limits.getByText('(default 5000)').waitFor();
    // What is not set is not in the way, and is found by what it does.
    expect(await page.getByText('sla.p95Ms', { exact: true }).count()).toBe(0);
    await page.getByLabel('Search settings').fill('latency');
    await page.getByText('sla.p95Ms', { exact: true }).waitFor();
    await expectUrl(page, 'q=latency');
    const parts = page.getByRole('region', { name: 'What works, and what is missing' });
    await parts.getByText('Set SERVICE_MODEL_PROVIDER').waitFor();
    expectNoProblems(opened);
  });

  it('has a place for each setting', () => {
    const nothing = { description: null, default: null, allowed: null, env: null, flag: null };
    const settings = SETTING_KEYS.map((key) => {
      const found = { key, value: null, source: 'default' as const, origin: null };
      return { ...found, ...nothing };
    });
    expect(groupSettings(settings).map(({ label }) => label)).not.toContain('Other');
  });
});
