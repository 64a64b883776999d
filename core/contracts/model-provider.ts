import type { MemoryError } from '../errors.ts';
import type { JsonSchema } from './tool.ts';

/**
 * A language model. Throws `MemoryError('MODEL_FAILED' | 'MODEL_TIMEOUT')`; Callers see
 * `details.reason`, `providerStatus`, `providerCode` and `providerMessage`, but not the message.
 */
export interface ModelProvider {
  readonly name: string;
  readonly model: string;
  /** Where the model is: results of its exam hold for this address. */
  readonly address?: string;
  /**
   * Tokens of a prompt and its reply together, where the provider knows, perhaps only after a `check`;
   * `SERVICE_MODEL_CONTEXT` comes first.
   */
  readonly contextTokens?: number | undefined;
  generate(request: GenerateRequest): Promise<GenerateResult>;
  /**
   * Whether the provider answers and lists the model, asked for without a reply of the model. `false`:
   * it can't tell so, and core asks for a reply of one token. Rejects as `generate` does. The command
   * calls it once after its start, and `memory-service doctor` does. Absent: `doctor` asks for that
   * token, and the start asks nothing.
   */
  check?(options: { signal?: AbortSignal }): Promise<boolean>;
}

/** One question to a model: no conversation, no tools. */
export interface GenerateRequest {
  system: string;
  prompt: string;
  /** Asks for JSON of this schema; the caller validates the reply all the same. */
  schema?: JsonSchema;
  /** Tokens of the reply, those of the model's reasoning included. */
  maxTokens?: number;
  /** Whether a reply that `maxTokens` cut off is returned as far as it goes; default: it fails. */
  acceptsCutOff?: boolean;
  signal?: AbortSignal;
  /**
   * Called with the error of a request that the provider repeats. If the signal fires meanwhile, the
   * call failed because of this error.
   */
  onFailure?(error: MemoryError): void;
}

/** The reply as it came, with the tokens that the provider counted. */
export interface GenerateResult {
  text: string;
  inputTokens: number;
  outputTokens: number;
  /** The reply was cut off; only where the request accepts that. */
  isCutOff?: true;
}
