import type { RouteDefinition } from '../../../core/contracts/route.ts';
import type { JsonSchema } from '../../../core/contracts/tool.ts';
import { type DreamSettings, SETTING_SCHEMAS, type SettingsReader } from '../settings.ts';

const result: JsonSchema = {
  type: 'object',
  properties: {
    ...SETTING_SCHEMAS,
    schedulerStarted: {
      type: 'boolean',
      description: 'Whether this instance looks for users at all: SERVICE_DREAM_ENABLED.',
    },
    invalidKeys: {
      type: 'array',
      items: { type: 'string', enum: Object.keys(SETTING_SCHEMAS) },
      description:
        'There when rows were spoilt by hand: settings for which the last good value holds, or a safe one. Set them anew.',
    },
  },
  required: [...Object.keys(SETTING_SCHEMAS), 'schedulerStarted'],
  additionalProperties: false,
};

/** The settings of dreaming: any of them, all or nothing, in force at the next tick. */
export function configRoutes(deps: {
  settings: SettingsReader;
  isStarted: () => boolean;
}): RouteDefinition[] {
  const { settings, isStarted } = deps;
  const toView = (held: DreamSettings) => {
    const invalidKeys = settings.invalidKeys();
    return {
      ...held,
      schedulerStarted: isStarted(),
      ...(invalidKeys.length === 0 ? {} : { invalidKeys }),
    };
  };
  const get: RouteDefinition = {
    method: 'GET',
    path: '/v1/admin/dream/config',
    auth: 'admin',
    tag: 'Dreams',
    summary: 'Read the settings of dreaming',
    resultSchema: result,
    errorCodes: [],
    handle: async () => toView(await settings.read()),
  };
  const put: RouteDefinition<unknown, Partial<DreamSettings>> = {
    method: 'PUT',
    path: '/v1/admin/dream/config',
    auth: 'admin',
    tag: 'Dreams',
    summary: 'Change settings of dreaming',
    description: 'Any of them; all or nothing. They hold from the next tick on.',
    bodySchema: {
      type: 'object',
      properties: SETTING_SCHEMAS,
      additionalProperties: false,
    },
    resultSchema: result,
    errorCodes: [],
    async handle({ body, address, traceId }) {
      return toView(await settings.write(body, { address, traceId }));
    },
  };
  return [get, put as RouteDefinition];
}
