import { describe, expect, it } from 'vitest';
import { maskUrl } from '../../../core/config/option.ts';

describe('a URL that is shown', () => {
  it.each([
    ['mysql://u:canary@db:3306/m', 'mysql://u:********@db:3306/m'],
    ['mysql://u:can@ary@db/m', 'mysql://u:********@db/m'],
    ['mysql://u:can/a?r#y@db/m', 'mysql://u:********@db/m'],
    ['https://canary@host/v1', 'https://********@host/v1'],
    ['http://user:canary@proxy:3128/', 'http://user:********@proxy:3128/'],
    ['https://host/v1?key=canary', 'https://host/v1?key=********'],
    [
      'https://host/v1?api-version=2024-10-21&api-key=canary',
      'https://host/v1?api-version=2024-10-21&api-key=********',
    ],
    [
      'mysql://db/m?password=canary&ssl-mode=required',
      'mysql://db/m?password=********&ssl-mode=required',
    ],
    ['https://host/?canary', 'https://host/?********'],
    ['https://host/?a=1;token=canary', 'https://host/?a=********;token=********'],
    ['https://host/#canary', 'https://host/#********'],
    ['https://host/?key=canary#access_token=canary', 'https://host/?key=********#********'],
    // With a mistake: no scheme, one slash.
    ['u:canary@db/m', 'u:********@db/m'],
    ['mysql:/u:canary@db/m', 'mysql:********@db/m'],
    ['host/v1?token=canary', 'host/v1?token=********'],
    // Nothing to hide.
    ['sqlite:./data/memory.db', 'sqlite:./data/memory.db'],
    ['https://host:8443/v1', 'https://host:8443/v1'],
    ['127.0.0.1', '127.0.0.1'],
    ['', ''],
  ])('has no secret: %s', (text, shown) => {
    expect(maskUrl(text)).toBe(shown);
    expect(maskUrl(text)).not.toContain('canary');
  });
});
