import type { JsonSchema } from './tool.ts';

/**
 * A language model. Throws `MemoryError('MODEL_FAILED' | 'MODEL_TIMEOUT')`; Callers see
 * `details.reason` and `details.providerStatus`, but not the message.
 */
export interface ModelProvider {
  readonly name: string;
  readonly model: string;
  generate(request: GenerateRequest): Promise<GenerateResult>;
}

/** One question to a model: no conversation, no tools. */
export interface GenerateRequest {
  system: string;
  prompt: string;
  /** Asks for JSON of this schema; the caller validates the reply all the same. */
  schema?: JsonSchema;
  maxTokens?: number;
  /** Takes the beginning of a reply that was cut off at `maxTokens`, which is an error otherwise. */
  acceptsCutOff?: boolean;
  signal?: AbortSignal;
}

/** The reply as it came, with the tokens that the provider counted. */
export interface GenerateResult {
  text: string;
  inputTokens: number;
  outputTokens: number;
}
