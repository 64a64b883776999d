import { createServer } from 'node:http';
import express from 'express';
import { resolveUserId } from './memory.mjs';

/** @param {import('memory-service').MemoryService} memory */
export function createExpressServer(memory) {
  // #region express
  const app = express();
  app.use(express.json());
  app.use('/memory', memory.callback({ resolveUserId }));
  // #endregion
  app.get('/', (_request, response) => void response.send('The app'));
  return createServer(app);
}
