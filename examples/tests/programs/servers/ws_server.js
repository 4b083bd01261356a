// A server of Node's ws that does as its path says: see websockets_server.py.

const http = require('http');
const { WebSocketServer } = require('ws');

const visits = {};
const seen = new Map();

const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: true,
  handleProtocols: (offered) => ['orders.v2', 'orders.v1'].find((one) => offered.has(one)) ?? false,
});

const server = http.createServer((_, answer) => answer.writeHead(426).end());
server.on('upgrade', (request, stream, head) => {
  const visit = (visits[request.url] = (visits[request.url] ?? 0) + 1);
  const [what, ...how] = request.url.slice(1).split('/');
  if (what === 'refuse' && visit <= Number(how[1])) {
    const later = ['429', '503'].includes(how[0]) ? 'Retry-After: 1\r\n' : '';
    stream.end(`HTTP/1.1 ${how[0]} No\r\n${later}Content-Length: 0\r\nConnection: close\r\n\r\n`);
    return;
  }
  sockets.handleUpgrade(request, stream, head, (socket) => serve(socket, request, what, how, visit));
});

function serve(socket, request, what, how, visit) {
  socket.on('error', () => {});
  socket.on('message', (message, isBinary) => {
    const text = message.toString();
    seen.set(text, (seen.get(text) ?? 0) + 1);
    socket.send(message, { binary: isBinary });
  });
  if (what === 'close' && visit <= Number(how[1])) {
    if (how[0] === '1006') socket.terminate();
    else if (how[0] === '1005') socket.close();
    else socket.close(Number(how[0]), 'as you asked');
  } else if (what === 'fragments') {
    socket.send('in ', { fin: false });
    socket.send('three ', { fin: false });
    socket.send('parts', { fin: true });
    socket.send(Buffer.from([0]), { fin: false });
    socket.send(Buffer.from([1]), { fin: true });
  } else if (what === 'ping') {
    socket.on('pong', () => socket.send('it answers'));
    socket.ping('are you there?');
  } else if (what === 'handshake') {
    const offered = request.headers['sec-websocket-extensions'] ?? 'nothing';
    socket.send(`${socket.protocol} ${offered}`);
  } else if (what === 'seen') {
    let total = 0;
    for (const count of seen.values()) total += count;
    socket.send(`${seen.size} ${total}`);
  }
}

process.on('SIGTERM', () => {
  for (const socket of sockets.clients) socket.close(1012, 'restart');
  server.close(() => process.exit());
});
server.listen(Number(process.argv[1]), '127.0.0.1', 4096);
