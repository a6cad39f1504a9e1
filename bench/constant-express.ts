/** The second yardstick for POST: plain Express 5 with one route that answers a constant. */
import type { AddressInfo } from 'node:net';
import express from 'express';
import { CONSTANT_RECORD } from './study.ts';

const constant = { message: 'Success', results: [CONSTANT_RECORD], status: 200 };
const app = express();
app.post('/', (_, response) => {
  response.json(constant);
});
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ address: `http://127.0.0.1:${port}`, apiKey: '' })}\n`);
});
