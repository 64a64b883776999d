import { onTestFinished } from 'vitest';
import {
  type ModelRequest,
  type Script,
  type ScriptedModel,
  type Turn,
  startScriptedModel,
} from '../../../examples/scripted-model/server.mjs';
import { checkChatCompletion } from './chat-completions.ts';
import { checkMessages } from './messages.ts';
import { checkResponse } from './responses.ts';

export type { Turn };

/** A model on loopback that takes nothing but what its provider's API takes. */
export interface ModelServer extends ScriptedModel {
  /** What it refused, and why; empty when each request was as the provider documents it. */
  readonly refusals: readonly string[];
}

const CHECKS: Record<string, (request: ModelRequest) => void> = {
  '/v1/chat/completions': checkChatCompletion,
  '/v1/responses': checkResponse,
  '/v1/messages': checkMessages,
};

/** Starts a model that says its turns one after the other. It is closed when the test ends. */
export async function startModelServer(turns: readonly Script[]): Promise<ModelServer> {
  const refusals: string[] = [];
  const model = await startScriptedModel(turns, {
    check(request) {
      try {
        CHECKS[request.path]?.(request);
      } catch (error) {
        refusals.push(`${request.path}: ${(error as Error).message}`);
        throw error;
      }
    },
  });
  onTestFinished(() => model.close());
  return { ...model, refusals };
}
