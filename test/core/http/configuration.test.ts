import { describe, expect, it } from 'vitest';
import { SETTING_KEYS, settingOf } from '../../../core/config/settings.ts';
import { ADMIN_SECRET, API_KEY, asAdmin, serveCore } from './serve.ts';

describe('GET /v1/admin/configuration', () => {
  it('shows what code has set, the defaults, and no secret', async () => {
    const { request } = await serveCore({ limits: { maxFilesPerUser: 7 }, sharedWrites: true });
    const { status, json, text } = await request('GET', '/v1/admin/configuration', {
      headers: asAdmin,
    });
    expect(status).toBe(200);
    for (const secret of [ADMIN_SECRET, API_KEY]) expect(text).not.toContain(secret);
    const found = (key: string) =>
      (json.settings as { key: string }[]).find((one) => one.key === key);
    expect(found('limits.maxFilesPerUser')).toMatchObject({
      value: '7',
      source: 'code',
      default: '5000',
      // The service reads no environment.
      env: null,
      flag: null,
    });
    expect(found('sharedWrites')).toMatchObject({ value: 'true', source: 'code' });
    expect(found('adminSecret')).toMatchObject({ value: '********', source: 'code' });
    expect(found('rateLimit')).toMatchObject({ value: '0', source: 'default', origin: null });
    expect(found('storage')).toMatchObject({ value: 'sqlite', source: 'code', description: null });
    const own = SETTING_KEYS.filter((key) => settingOf(key).isOfCommand !== true);
    for (const key of own) expect(found(key), key).toBeDefined();
  });
});
