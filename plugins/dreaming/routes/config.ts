import Type from 'typebox';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import { readAfterWrite } from '../../../core/errors.ts';
import { ifVersionOf, toVersionTag, withPrecondition } from '../../../core/http/precondition.ts';
import { adminRoute } from '../../../core/schemas/define-route.ts';
import { strict, strictObject } from '../../../core/schemas/shapes.ts';
import { type DreamSettings, SETTING_SCHEMAS, type SettingsReader } from '../settings.ts';
import { AdminDreamConfig } from './answers.ts';

/** The settings of dreaming: any of them, all or nothing, in force at the next tick. */
export function configRoutes(deps: {
  settings: SettingsReader;
  isStarted: () => boolean;
}): RouteDefinition[] {
  const { settings, isStarted } = deps;
  const toAnswer = (held: DreamSettings): AdminDreamConfig => {
    const invalidKeys = [...settings.invalidKeys()];
    return {
      ...held,
      schedulerStarted: isStarted(),
      ...(invalidKeys.length === 0 ? {} : { invalidKeys }),
    };
  };
  return [
    adminRoute('Dreams', {
      tagDescription: 'Dreaming: its settings, its users, and the runs that wait for review.',
      method: 'GET',
      path: '/v1/admin/dream/config',
      role: 'viewer',
      summary: 'Read the settings of dreaming',
      description:
        'With whether the scheduler runs in this instance. The ETag is the version of the settings.',
      resultSchema: AdminDreamConfig,
      async handle(request) {
        request.setHeader('ETag', toVersionTag(await settings.version()));
        return toAnswer(await settings.read());
      },
    }),
    adminRoute('Dreams', {
      method: 'PUT',
      path: '/v1/admin/dream/config',
      role: 'admin',
      summary: 'Change settings of dreaming',
      description:
        'Any of them; all or nothing. They hold from the next tick on. Takes If-Match: the 412 says who changed them, and when.',
      bodySchema: Type.Partial(strictObject(SETTING_SCHEMAS), strict),
      resultSchema: AdminDreamConfig,
      errorCodes: ['VERSION_CONFLICT'],
      async handle(request) {
        const { body, caller } = request;
        const ifVersion = await ifVersionOf(request, () => settings.version());
        const held = await withPrecondition(ifVersion, () =>
          settings.write(body, { caller, ifVersion }),
        );
        const version = await readAfterWrite(() => settings.version());
        request.setHeader('ETag', toVersionTag(version));
        return toAnswer(held);
      },
    }),
  ];
}
