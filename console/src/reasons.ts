import type { AdminEvent } from '../../core/contracts/admin.ts';
import { ERROR_CODES, type ErrorCode } from '../../core/errors.ts';

/** Why a call or a phase failed: the reason of its model or embedder, or the message of its code. */
export function reasonOf({ errorCode, attributes }: AdminEvent): string | null {
  const { reason } = attributes;
  if (typeof reason === 'string') return reason;
  if (errorCode === null || !Object.hasOwn(ERROR_CODES, errorCode)) return null;
  return ERROR_CODES[errorCode as ErrorCode].message;
}
