// A client of Node's ws: see websockets_client.py.

const { WebSocket } = require('ws');

const socket = new WebSocket(`ws://127.0.0.1:${process.argv[1]}/`);
let expected = 0;
socket.on('open', () => socket.send('0'));
socket.on('message', (message, isBinary) => {
  if (isBinary) {
    if (message.length !== 100_000) process.exit(1);
    console.log('echoed');
    return;
  }
  if (message.toString() !== String(expected)) process.exit(1);
  expected += 1;
  socket.send(expected < 100 ? String(expected) : Buffer.alloc(100_000));
});
socket.on('close', (code, reason) => console.log(`${code} ${reason}`));
