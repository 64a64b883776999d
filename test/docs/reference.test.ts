import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import * as option from '../../core/config/option.ts';
import * as settings from '../../core/config/settings.ts';
import * as verify from '../../core/edits/verify.ts';
import * as core from '../../core/service.ts';
import * as errors from '../../core/errors.ts';
import * as routes from '../../core/http/routes.ts';
import * as components from '../../core/http/openapi-components.ts';
import * as events from '../../core/schemas/events.ts';
import * as context from '../../core/subagents/context/prompt.ts';
import * as remember from '../../core/subagents/remember/prompt.ts';
import { renderReference } from '../../docs/generator/reference.mjs';
import * as dreaming from '../../plugins/dreaming/routes/list.ts';
import * as stores from '../../plugins/memory-stores/routes.ts';
import * as dream from '../../plugins/dreaming/prompt.ts';
import * as mcp from '../../plugins/mcp/http.ts';
import * as mysqlOptions from '../../plugins/storage-mysql/options.ts';
import * as postgresOptions from '../../plugins/storage-postgres/options.ts';
import * as sqlite from '../../plugins/storage-sqlite/index.ts';
import * as sqliteOptions from '../../plugins/storage-sqlite/options.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const made = renderReference({
  core,
  errors,
  settings,
  option,
  routes,
  components,
  events,
  remember,
  context,
  verify,
  mcp,
  dreaming,
  stores,
  dream,
  sqlite,
  sqliteOptions,
  mysqlOptions,
  postgresOptions,
});

describe('the reference', () => {
  it.each([...made.keys()])('%s says what the code says now', (path) => {
    expect(readFileSync(join(root, path), 'utf8'), 'npm run docs makes it anew').toBe(
      made.get(path),
    );
  });

  it('has no page that nothing makes', () => {
    const found = readdirSync(join(root, 'docs/reference')).map((name) => `docs/reference/${name}`);
    const pages = [...made.keys()].filter((path) => path.startsWith('docs/reference/'));
    expect(found.toSorted()).toEqual(pages.toSorted());
  });
});
