import type { LanguageModelMiddleware } from 'ai';

type Message = Parameters<
  NonNullable<LanguageModelMiddleware['transformParams']>
>[0]['params']['prompt'][number];
type OfUser = Extract<Message, { role: 'user' }>;

function ofUser(change: (message: OfUser) => OfUser): LanguageModelMiddleware {
  return {
    specificationVersion: 'v3',
    async transformParams({ params }) {
      const prompt = params.prompt.map((one) => (one.role === 'user' ? change(one) : one));
      return { ...params, prompt };
    },
  };
}

const joinTexts = (separator: string) =>
  ofUser((message) => {
    const texts = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    return { ...message, content: [{ type: 'text', text: texts.join(separator) }] };
  });

/** Middleware of an app that makes other messages of those of the user. */
export const COPIES: Readonly<Record<string, LanguageModelMiddleware>> = {
  'nothing stands': ofUser((message) => message),
  'messages are copied': ofUser((message) => structuredClone(message)),
  'parts are joined': joinTexts('\n'),
  'parts are joined without a break': joinTexts(''),
};
