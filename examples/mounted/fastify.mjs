import Fastify from 'fastify';
import { resolveUserId } from './memory.mjs';

/** @param {import('memory-service').MemoryService} memory */
export async function createFastifyServer(memory) {
  // #region fastify
  const app = Fastify();
  const listener = memory.callback({ resolveUserId });
  app.register((below, _options, done) => {
    // The service reads its bodies itself, archives of an import too.
    below.removeAllContentTypeParsers();
    below.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    below.all('/memory/*', (request, reply) => {
      reply.hijack();
      listener(request.raw, reply.raw);
    });
    done();
  });
  // #endregion
  app.get('/', () => 'The app');
  await app.ready();
  return app.server;
}
