/** A name server (RFC 1035) with one address for each name, which can be changed. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

const HEADER_BYTES = 12;
const ANSWER = 0x8000;
const NO_SUCH_NAME = 3;
const IPV4 = 1;

/** @param addresses IPv4, by name; looked up again for each question */
export async function startNameServer(addresses: ReadonlyMap<string, string>) {
  const socket = createSocket('udp4');
  socket.on('message', (question, { port, address }) => {
    const { name, type, end } = asked(question);
    const known = addresses.get(name);
    const records = known !== undefined && type === IPV4 ? [record(known)] : [];
    const header = Buffer.alloc(HEADER_BYTES);
    question.copy(header, 0, 0, 2);
    header.writeUInt16BE(ANSWER | (known === undefined ? NO_SUCH_NAME : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, question.subarray(HEADER_BYTES, end), ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, close: () => void socket.close() };
}

function asked(message: Buffer) {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** Of the name in the question, for a second. */
function record(address: string): Buffer {
  const start = [0xc0, HEADER_BYTES, 0, IPV4, 0, 1, 0, 0, 0, 1, 0, 4];
  return Buffer.from([...start, ...address.split('.').map(Number)]);
}
