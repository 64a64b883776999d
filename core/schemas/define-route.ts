import type { Static, TSchema, TUnknown } from 'typebox';
import type { RouteDefinition, RouteRequest } from '../contracts/route.ts';

/** A value that is only read: lists may be `readonly`. */
type Answer<T> = T extends readonly (infer Item)[]
  ? readonly Answer<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Answer<T[Key]> }
    : T;

/** A route whose handler is typed by its schemas. */
type TypedRoute<
  Query extends TSchema,
  Body extends TSchema,
  SignedInBody extends TSchema,
  Result extends TSchema,
> = Omit<
  RouteDefinition,
  'querySchema' | 'bodySchema' | 'signedIn' | 'resultSchema' | 'errorCodes' | 'handle' | 'shows'
> & {
  querySchema?: Query;
  bodySchema?: Body;
  signedIn?: { bodySchema?: SignedInBody };
  /** `null` where the answer is not JSON: then the handler may answer anything. */
  resultSchema: Result | null;
  /** Default: none beside those of any route. */
  errorCodes?: RouteDefinition['errorCodes'];
  /** See `RouteDefinition`. */
  shows?(
    result: Answer<Static<Result>>,
    request: RouteRequest<Static<Query>, Static<Body>>,
  ): readonly string[];
  /** `null` answers without a body, as a 304 does. */
  handle(
    request: RouteRequest<Static<Query>, Static<Body> | Static<SignedInBody>>,
  ): Answer<Static<Result>> | null | Promise<Answer<Static<Result>> | null>;
};

/**
 * Types a route's handler by its schemas: what it gets as `query` and `body`, and what it answers.
 *
 * @example
 * const greet = defineRoute({
 *   method: 'GET',
 *   path: '/v1/admin/greeting',
 *   auth: 'admin',
 *   tag: 'Greeter',
 *   summary: 'Greet',
 *   querySchema: strictObject({ name: Type.String() }),
 *   resultSchema: strictObject({ text: Type.String() }),
 *   handle: ({ query }) => ({ text: `Hello, ${query.name}` }),
 * });
 */
export function defineRoute<
  Query extends TSchema = TUnknown,
  Body extends TSchema = TUnknown,
  SignedInBody extends TSchema = Body,
  Result extends TSchema = TUnknown,
>(route: TypedRoute<Query, Body, SignedInBody, Result>): RouteDefinition {
  // The service calls it with what the schemas accepted.
  return { errorCodes: [], ...route } as RouteDefinition;
}

/** {@link defineRoute} for a route of the admin API; `tag` is its heading in the docs. */
export function adminRoute<
  Query extends TSchema = TUnknown,
  Body extends TSchema = TUnknown,
  Result extends TSchema = TUnknown,
>(
  tag: string,
  route: Omit<TypedRoute<Query, Body, Body, Result>, 'auth' | 'tag' | 'signedIn'>,
): RouteDefinition {
  return { errorCodes: [], ...route, auth: 'admin', tag } as RouteDefinition;
}
