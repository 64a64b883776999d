import Type, { type Static } from 'typebox';
import { nullable, strictObject, text } from './shapes.ts';

const jsonSchema = Type.Unsafe<object>(
  Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema.' }),
);

/** A tool as lists show it. */
export const ListedTool = strictObject({
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  inputSchema: jsonSchema,
  outputSchema: jsonSchema,
  requiresModel: Type.Boolean(),
  readOnly: Type.Boolean(),
  destructive: Type.Boolean({ description: 'It may replace or remove what is there.' }),
  idempotent: Type.Boolean({ description: 'Repeated, it changes nothing more.' }),
  available: Type.Boolean({ description: 'It can be used with what is configured.' }),
});
export type ListedTool = Static<typeof ListedTool>;

/** Text that may be left out, or `null`. */
const optionalText = (
  description: string,
  limits: { minLength?: number; maxLength?: number } = {},
) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], ...limits, description }));

/** A space that a call may use, and whether it may write there. */
export const NamedSpace = strictObject({
  id: Type.String({ format: 'space-id', description: 'The id of the space, byte for byte.' }),
  access: Type.Enum(['read', 'write']),
});
export type NamedSpace = Static<typeof NamedSpace>;

/** The most spaces of one call. */
export const MAX_SPACES = 16;

/** Who a tool runs for: bound by the caller, never by a model. */
export const ToolContext = strictObject({
  userId: Type.String({
    format: 'user-id',
    description: 'From a trusted identity of the server: the service authenticates no end users.',
  }),
  actor: optionalText('Who reads or writes; default agent.', { minLength: 1, maxLength: 64 }),
  spaces: Type.Optional(
    nullable(Type.Array(NamedSpace, { maxItems: MAX_SPACES }), {
      description: 'The spaces that this call may use, each once. No space is open by itself.',
    }),
  ),
  toolCallId: optionalText('The framework’s own id of this call, kept beside.'),
  timeZone: optionalText('The user’s time zone, as in Europe/Berlin; default SERVICE_TIME_ZONE.'),
});
export type ToolContext = Static<typeof ToolContext>;

/** The answer of a tool call. */
export const ToolAnswer = strictObject({
  result: Type.Unknown({ description: 'As the tool’s outputSchema says.' }),
  traceId: Type.String(),
  toolCallId: text('The service’s own id of this call.'),
  durationMs: Type.Number({ minimum: 0 }),
});
export type ToolAnswer = Static<typeof ToolAnswer>;
